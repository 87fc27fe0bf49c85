/* tutti/mesh.h: device meshes. The ranks of a group form an n-dimensional array, with a group along
 * each dimension. */
#ifndef TUTTI_MESH_H
#define TUTTI_MESH_H

#include <tutti/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a mesh of the first ranks of a group in row-major order (the last dimension varies
 *  fastest), and the groups along its dimensions: one for each row, column, ... Every rank of
 *  `group` calls it, also ranks outside the mesh, with the same arguments but options.device_index.
 *  If others differ, all ranks get MISMATCH. If one rank's argument is refused, the others get
 *  MISMATCH. If `group` is TUTTI_GROUP_WORLD and does not exist yet, it is made first, with
 *  "env://" and the backend that tutti_init_process_group chooses.
 *  @param group        the group of the ranks
 *  @param shape        `ndim` lengths, 1 or more each; their product is at most the size of `group`
 *  @param ndim         1 to 64
 *  @param dim_names    `ndim` names, each different and not empty, copied; NULL: no names
 *  @param device_type  the device type of the groups' data
 *  @param options      NULL: defaults. timeout_ms is for making the groups, and their default; 0:
 *                      that of `group`. reproducible 1: the groups are so; 0: as `group`.
 *                      device_type and device_index: this rank's device, to which they are bound;
 *                      TUTTI_CPU: as `group`
 *  @param out_mesh     receives an owned mesh
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called and the groups are made, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED (no such type of device here); MISMATCH,
 *           and otherwise as tutti_new_group
 *  Source:  torch.distributed.device_mesh.init_device_mesh
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_device_mesh(tutti_group* group, const int64_t* shape,
                                              int32_t ndim, const char* const* dim_names,
                                              tutti_device_type device_type,
                                              const tutti_group_options* options,
                                              tutti_mesh** out_mesh, tutti_error* error);

/** Makes a mesh of any ranks of a group in any order, and the groups along its dimensions. Every
 *  rank of `group` calls it, also ranks outside the mesh, with the same arguments but
 *  options.device_index. Different arguments, and a default group that does not exist yet, are
 *  handled as in tutti_init_device_mesh. The ranks of each group along a dimension are in the order
 *  of the mesh, so a rank's coordinate is its rank in that group.
 *  @param group        the group that the ranks belong to
 *  @param ranks        `rank_count` ranks of `group`, row by row, each once
 *  @param rank_count   the product of the lengths in `shape`
 *  @param shape        `ndim` lengths, 1 or more each
 *  @param ndim         1 to 64
 *  @param dim_names    as in tutti_init_device_mesh
 *  @param device_type  as in tutti_init_device_mesh
 *  @param options      as in tutti_init_device_mesh
 *  @param out_mesh     receives an owned mesh
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called and the groups are made, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   as tutti_init_device_mesh
 *  Source:  torch.distributed.device_mesh.DeviceMesh
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_create(tutti_group* group, const int32_t* ranks,
                                         int64_t rank_count, const int64_t* shape, int32_t ndim,
                                         const char* const* dim_names,
                                         tutti_device_type device_type,
                                         const tutti_group_options* options, tutti_mesh** out_mesh,
                                         tutti_error* error);

/** Makes a mesh from existing groups. Nothing is sent to other ranks.
 *  @param groups       one group for each dimension, in their order: the ranks that differ from
 *                      this one only in that dimension, in the order of the mesh; borrowed, kept
 *                      alive by the mesh
 *  @param ranks        the global ranks of the mesh, row by row, as many as the product of the
 *                      lengths in `shape`; NULL if there is one dimension: the ranks of its group
 *  @param shape        `ndim` lengths; NULL if `ranks` is
 *  @param ndim         1 to 64
 *  @param dim_names    as in tutti_init_device_mesh
 *  @param device_type  as in tutti_init_device_mesh
 *  @param options      NULL: defaults; tutti_mesh_flatten uses them for the groups that it makes
 *  @param out_mesh     receives an owned mesh
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (for instance a group that has other ranks than the mesh along its
 *           dimension), INVALID_HANDLE, UNSUPPORTED
 *  Source:  torch.distributed.device_mesh.DeviceMesh.from_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_from_group(tutti_group* const* groups, const int32_t* ranks,
                                             const int64_t* shape, int32_t ndim,
                                             const char* const* dim_names,
                                             tutti_device_type device_type,
                                             const tutti_group_options* options,
                                             tutti_mesh** out_mesh, tutti_error* error);

/** The number of a dimension, by its name. Dimensions that tutti_mesh_flatten made have the numbers
 *  from tutti_mesh_ndim(mesh) on, in the order in which they were made. A rank outside the mesh has
 *  none of them.
 *  @param mesh     borrowed
 *  @param name     NUL-terminated
 *  @param out_dim  receives the number
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no dimension has that name), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_find_dim(tutti_mesh* mesh, const char* name, int32_t* out_dim,
                                           tutti_error* error);

/** The group along one dimension of the mesh: the ranks that differ from this one only in that
 *  dimension. Each call returns the same group.
 *  @param mesh       borrowed
 *  @param dim        number of the dimension, as tutti_mesh_find_dim gives it; -1: the only one
 *  @param out_group  receives an owned group; TUTTI_GROUP_NON_MEMBER on a rank that is not in the
 *                    mesh
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no such dimension; -1, and there are several), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_group(tutti_mesh* mesh, int32_t dim, tutti_group** out_group,
                                            tutti_error* error);

/** The groups along all dimensions.
 *  @param mesh        borrowed
 *  @param out_groups  receives tutti_mesh_ndim(mesh) owned groups, as tutti_mesh_get_group gives
 *                     them, in the order of the dimensions; untouched on failure
 *  @param count       room in `out_groups`
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_all_groups
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_all_groups(tutti_mesh* mesh, tutti_group** out_groups,
                                                 int64_t count, tutti_error* error);

/** This rank's coordinate along one dimension, which is its rank in that dimension's group.
 *  @param mesh      borrowed
 *  @param dim       as in tutti_mesh_get_group
 *  @param out_rank  receives 0 to length - 1; -1 on a rank that is not in the mesh
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_local_rank
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_local_rank(tutti_mesh* mesh, int32_t dim, int32_t* out_rank,
                                                 tutti_error* error);

/** This rank's coordinates in the mesh.
 *  @param mesh            borrowed
 *  @param out_coordinate  receives tutti_mesh_ndim(mesh) numbers; -1 each on a rank that is not in
 *                         the mesh (where torch gives None)
 *  @param count           room in `out_coordinate`
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_coordinate
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_get_coordinate(tutti_mesh* mesh, int32_t* out_coordinate,
                                                 int64_t count, tutti_error* error);

/** The global rank of this process, inside or outside the mesh.
 *  @param mesh  borrowed
 *  @return 0 or more; -1 if the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.get_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_mesh_get_rank(tutti_mesh* mesh);

/** The length of one dimension, or the number of ranks of the mesh.
 *  @param mesh  borrowed
 *  @param dim   number of the dimension, as tutti_mesh_find_dim gives it; -1: the whole mesh
 *  @return 1 or more; -1 if there is no such dimension or the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.size
 *  @since 0.1 */
TUTTI_API int64_t tutti_mesh_size(tutti_mesh* mesh, int32_t dim);

/** The number of dimensions of the mesh.
 *  @param mesh  borrowed
 *  @return 1 or more; -1 if the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.ndim
 *  @since 0.1 */
TUTTI_API int32_t tutti_mesh_ndim(tutti_mesh* mesh);

/** The device type that the mesh was made with.
 *  @param mesh  borrowed
 *  @return TUTTI_CPU, TUTTI_CUDA or TUTTI_XPU; -1 if the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.device_mesh.DeviceMesh.device_type
 *  @since 0.1 */
TUTTI_API tutti_device_type tutti_mesh_device_type(tutti_mesh* mesh);

/** The length of every dimension.
 *  @param mesh       borrowed
 *  @param out_shape  receives tutti_mesh_ndim(mesh) numbers
 *  @param count      room in `out_shape`
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.shape
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_shape(tutti_mesh* mesh, int64_t* out_shape, int64_t count,
                                        tutti_error* error);

/** The global ranks of the mesh, row by row.
 *  @param mesh       borrowed
 *  @param out_ranks  receives tutti_mesh_size(mesh, -1) numbers
 *  @param count      room in `out_ranks`
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.mesh
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_ranks(tutti_mesh* mesh, int32_t* out_ranks, int64_t count,
                                        tutti_error* error);

/** The name of a dimension.
 *  @param mesh  borrowed
 *  @param dim   number of the dimension, from 0, as tutti_mesh_find_dim gives it
 *  @return its name, valid until the mesh is released; NULL if it has none, there is no such
 *          dimension, or the mesh is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.device_mesh.DeviceMesh.mesh_dim_names
 *  @since 0.1 */
TUTTI_API const char* tutti_mesh_dim_name(tutti_mesh* mesh, int32_t dim);

/** The part of a mesh along some of its dimensions: the ranks that differ from this one only in
 *  those dimensions. Its groups are those of the mesh. Nothing is sent to other ranks. On a rank
 *  outside the mesh, it is the part of the mesh's first rank.
 *  @param mesh       borrowed
 *  @param dim_names  `count` names of dimensions of the mesh, in its order, each once; or one name
 *                    of a flattened dimension
 *  @param count      1 or more
 *  @param out_mesh   receives an owned mesh, which may outlive this one
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no such name, or out of order), INVALID_HANDLE
 *  Source:  torch.distributed.device_mesh.DeviceMesh.__getitem__
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_slice(tutti_mesh* mesh, const char* const* dim_names,
                                        int64_t count, tutti_mesh** out_mesh, tutti_error* error);

/** Flattens the mesh to one dimension, with a group of all its ranks in its order. All ranks of the
 *  mesh, or of the one it is a slice of, make the call with the same arguments. Then the whole
 *  mesh and its slices have the new dimension by its name (tutti_mesh_find_dim). A second call for
 *  the same dimension returns it at once.
 *  @param mesh      borrowed
 *  @param dim_name  name of the new dimension, different from the others; copied. NULL: the names
 *                   of the dimensions, joined by "_"
 *  @param options   NULL: defaults. timeout_ms is for making the group, and its default.
 *                   reproducible 1: the group is reproducible; 0: as in the options of the mesh
 *  @param out_mesh  receives an owned mesh
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called and the group is made, up to the timeout
 *  Threads: any, one at a time for each mesh and its slices
 *  Fails:   INVALID_ARGUMENT (the name is taken; no name, and the dimensions have none; this rank
 *           is outside the mesh), INVALID_HANDLE; otherwise as tutti_new_group
 *  Source:  torch.distributed.device_mesh.DeviceMesh._flatten
 *  @since 0.1 */
TUTTI_API tutti_status tutti_mesh_flatten(tutti_mesh* mesh, const char* dim_name,
                                          const tutti_group_options* options, tutti_mesh** out_mesh,
                                          tutti_error* error);

/** Releases the mesh. Its groups end in the background when nothing else holds them.
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
