/* tutti/mesh.h: device meshes: the ranks of a group in rows and columns of any number of
 * dimensions, with a group along each of them. */
#ifndef TUTTI_MESH_H
#define TUTTI_MESH_H

#include <tutti/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lays the first ranks of a group out as a mesh, row by row (the last dimension varies fastest),
 *  and makes the groups along its dimensions: one for each row, column, ... Every rank of `group`
 *  calls it with the same arguments, also those that the mesh has no place for; different arguments
 *  are MISMATCH on all ranks. If `group` is TUTTI_GROUP_WORLD and there is none yet, it is made, by
 *  "env://" and the device's default backend.
 *  @param group        the group to lay out
 *  @param device_type  "cpu"; without an index
 *  @param shape        `ndim` lengths, 1 or more each; together at most the size of `group`
 *  @param ndim         1 to 64
 *  @param dim_names    `ndim` names, each different and not empty, copied; NULL: no names
 *  @param options      NULL: defaults; timeout_ms is of making the groups and their own, 0: that
 *                      of `group`; reproducible 1 is of the groups, 0: as `group`
 *  @param out_mesh     receives an owned mesh
 *  Blocks:  until all ranks have called and the groups have met, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED (no such device in this build); MISMATCH,
 *           and all else as tutti_new_group
 *  Source:  torch.distributed.device_mesh.init_device_mesh
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_device_mesh(tutti_group* group, const char* device_type,
                                              const int32_t* shape, size_t ndim,
                                              const char* const* dim_names,
                                              const tutti_group_options* options,
                                              tutti_mesh** out_mesh, tutti_error* error);

/** Makes a mesh of groups that are there already; nothing is sent to other ranks.
 *  @param groups       one group for each dimension, in their order: the ranks that differ from
 *                      this one in that dimension alone; borrowed, kept alive by the mesh
 *  @param device_type  "cpu"; without an index
 *  @param ranks        the global ranks of the mesh, row by row, as many as the lengths in `shape`
 *                      multiplied; NULL if there is one dimension: the ranks of its group
 *  @param shape        `ndim` lengths; NULL if `ranks` is
 *  @param ndim         1 to 64
 *  @param dim_names    as in tutti_init_device_mesh
 *  @param out_mesh     receives an owned mesh
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (among others, a group that has other ranks than the mesh along its
 *           dimension), INVALID_HANDLE, UNSUPPORTED
 *  Source:  torch.distributed.device_mesh.DeviceMesh.from_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_from_group(tutti_group* const* groups, const char* device_type,
                                             const int32_t* ranks, const int32_t* shape,
                                             size_t ndim, const char* const* dim_names,
                                             tutti_mesh** out_mesh, tutti_error* error);

/** The group along one dimension of the mesh: the ranks that differ from this one in that dimension
 *  alone. The same group each time, so it has one order of calls.
 *  @param dim        number of the dimension, from 0; -1: the only one, or by name
 *  @param dim_name   name of the dimension, or one that tutti_mesh_flatten gave; NULL: by number
 *  @param out_group  receives an owned group; TUTTI_GROUP_NON_MEMBER on a rank that is not in the
 *                    mesh
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no such dimension; -1 without a name and several dimensions; both a
 *           number and a name), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_group(tutti_mesh* mesh, int32_t dim, const char* dim_name,
                                            tutti_group** out_group, tutti_error* error);

/** The groups along all dimensions.
 *  @param out_groups  receives tutti_mesh_ndim(mesh) owned groups, as tutti_mesh_get_group gives
 *                     them, in the order of the dimensions; untouched on failure
 *  @param count       how many `out_groups` has room for
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_all_groups
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_all_groups(tutti_mesh* mesh, tutti_group** out_groups,
                                                 size_t count, tutti_error* error);

/** This rank's place along one dimension, which is its rank in that dimension's group.
 *  @param dim       as in tutti_mesh_get_group
 *  @param dim_name  as in tutti_mesh_get_group
 *  @param out_rank  receives 0 to length - 1; -1 on a rank that is not in the mesh
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_local_rank
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_local_rank(tutti_mesh* mesh, int32_t dim,
                                                 const char* dim_name, int32_t* out_rank,
                                                 tutti_error* error);

/** This rank's place in the mesh, along all dimensions.
 *  @param out_coordinate  receives tutti_mesh_ndim(mesh) numbers; -1 each on a rank that is not in
 *                         the mesh (where torch gives None)
 *  @param count           how many `out_coordinate` has room for
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_coordinate
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_coordinate(tutti_mesh* mesh, int32_t* out_coordinate,
                                                 size_t count, tutti_error* error);

/** The global rank of this process, in the mesh or not; -1 if the mesh is not valid.
 *  @param mesh  borrowed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_mesh_get_rank(tutti_mesh* mesh);

/** The length of one dimension, or how many ranks the mesh has.
 *  @param mesh  borrowed
 *  @param dim   number of the dimension; -1: all of them, multiplied
 *  @return 1 or more; -1 if there is no such dimension or the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.size
 *  @since 0.1 */
TUTTI_API int32_t tutti_mesh_size(tutti_mesh* mesh, int32_t dim);

/** How many dimensions the mesh has; -1 if it is not valid.
 *  @param mesh  borrowed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.ndim
 *  @since 0.1 */
TUTTI_API int32_t tutti_mesh_ndim(tutti_mesh* mesh);

/** The length of every dimension.
 *  @param out_shape  receives tutti_mesh_ndim(mesh) numbers
 *  @param count      how many `out_shape` has room for
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.shape
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_shape(tutti_mesh* mesh, int32_t* out_shape, size_t count,
                                        tutti_error* error);

/** The global ranks of the mesh, row by row.
 *  @param out_ranks  receives tutti_mesh_size(mesh, -1) numbers
 *  @param count      how many `out_ranks` has room for
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.mesh
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_ranks(tutti_mesh* mesh, int32_t* out_ranks, size_t count,
                                        tutti_error* error);

/** The name of a dimension.
 *  @param mesh  borrowed
 *  @param dim   number of the dimension, from 0
 *  @return its name, valid until the mesh is released; NULL if it has none, there is no such
 *          dimension, or the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.device_mesh.DeviceMesh.mesh_dim_names
 *  @since 0.1 */
TUTTI_API const char* tutti_mesh_dim_name(tutti_mesh* mesh, int32_t dim);

/** The part of a mesh that this rank sees along some of its dimensions: the ranks that differ from
 *  it in those alone. The groups are those of the mesh; nothing is sent to other ranks. On a rank
 *  that is not in the mesh, the part that the mesh's first rank sees.
 *  @param dim_names  `count` names of dimensions of the mesh, in their order there, none twice; or
 *                    one name that tutti_mesh_flatten gave
 *  @param count      1 or more
 *  @param out_mesh   receives an owned mesh, which outlives this one if need be
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no such name, or out of order), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.__getitem__
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_slice(tutti_mesh* mesh, const char* const* dim_names,
                                        size_t count, tutti_mesh** out_mesh, tutti_error* error);

/** The mesh in one dimension, with a group of all its ranks, in its order. All ranks of the mesh
 *  from tutti_init_device_mesh that this one is, or is a slice of, call it with the same arguments.
 *  Afterwards that mesh knows the new dimension by its name; asked again for the same, it gives
 *  what it gave before.
 *  @param dim_name  the name of the one dimension, of no other dimension of the mesh; copied. NULL:
 *                   the names of the dimensions, joined by "_"
 *  @param options   NULL: defaults; timeout_ms is of making the group and its own, 0: that of
 *                   the group that the mesh was laid out from; reproducible 1 is of the group,
 *                   0: as the one that the mesh was laid out from
 *  @param out_mesh  receives an owned mesh
 *  Blocks:  until all ranks have called and the group has met, up to the timeout
 *  Threads: any, one at a time for each mesh
 *  Fails:   INVALID_ARGUMENT (the name is taken; no name where the dimensions have none; this
 *           rank is not in the mesh), INVALID_HANDLE; and all else as tutti_new_group
 *  Source:  torch.distributed.device_mesh.DeviceMesh._flatten
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_flatten(tutti_mesh* mesh, const char* dim_name,
                                          const tutti_group_options* options, tutti_mesh** out_mesh,
                                          tutti_error* error);

/** Gives the mesh back; its groups end in the background once nothing else holds them.
 *  @param mesh  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_mesh_release(tutti_mesh* mesh);

#ifdef __cplusplus
}
#endif

#endif
