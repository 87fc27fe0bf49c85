/* tutti/memory.h: memory that the ranks of one host can read in place. Every call works with any
 * memory. Between ranks of one host, ordinary buffers cost one extra copy; buffers from
 * tutti_memory_alloc do not. */
#ifndef TUTTI_MEMORY_H
#define TUTTI_MEMORY_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of tutti_memory_alloc; zero is every field's default. */
typedef struct tutti_memory_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    tutti_device_type device_type; /**< the device of the memory */
    int32_t device_index;          /**< 0 for the CPU */
    uint32_t reserved;             /**< must be 0 */
    int64_t timeout_ms;            /**< 0: the group's */
} tutti_memory_options;

/** Options with every field at its default. */
#define TUTTI_MEMORY_OPTIONS_INIT \
    { sizeof(tutti_memory_options), TUTTI_CPU, 0, 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. An older
 *                  caller's is smaller than this library's, a newer one's larger. If it is below
 *                  8 or above 256, only struct_size is written, as 0, and calls refuse the
 *                  options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_memory_options_init(tutti_memory_options* options, size_t size);

/** Allocates memory on every rank of the group that the other ranks of its host can read. If all
 *  ranks pass such memory to a collective or a message of this group, the ranks read it in place
 *  instead of copying it first. Sums are computed directly from the inputs of all ranks. A call may
 *  use parts of the memory, and memory of several allocations. If a rank passes other memory, or
 *  the ranks are on several hosts, the call works as with any memory. Calls of other groups do too.
 *  All ranks of the group call it, in the same order as its collectives. If it fails, no rank
 *  receives memory, and the group stays usable unless the error says otherwise. The memory is
 *  zeroed, backed by pages at once and aligned to 4096 bytes. It stays valid until
 *  tutti_memory_release, also after the group has ended. A child of fork does not have it.
 *
 *  With a device in the options it is memory of that device, aligned to 256 bytes, and other ranks
 *  do not see it. If the backend for the device is "nccl?symmetric=1", and all ranks ask for as
 *  many bytes, 1 or more, NCCL registers the memory on all of them, which may make calls faster;
 *  this binds the group to the device as its first call there does. Then a sum or a gather of this
 *  group has the same place of the same allocation on all ranks, or such memory on none: not a part
 *  of it that begins elsewhere, and not other memory on some ranks. What the program has released
 *  is freed when all ranks have released it and allocate other memory, or when the group ends.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param bytes       bytes, 0 or more; ranks may differ
 *  @param options     NULL: defaults
 *  @param out_memory  receives owned memory, never NULL; ends with tutti_memory_release
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE; UNSUPPORTED (no such type of device here);
 *           OUT_OF_MEMORY (names a rank that cannot allocate, or the largest request if together
 *           they exceed the memory of the host or of the control group); MISMATCH, PEER_LOST,
 *           TIMEOUT, ABORTED
 *  @since 0.1 */
TUTTI_API tutti_status tutti_memory_alloc(tutti_group* group, int64_t bytes,
                                          const tutti_memory_options* options, void** out_memory,
                                          tutti_error* error);

/** Releases memory of tutti_memory_alloc. Other ranks need not call it. The pages are freed at
 *  once, or when the last operation of this process that uses the memory is done; memory that NCCL
 *  has registered is freed later: see tutti_memory_alloc.
 *  @param memory  owned until now; NULL and any other address are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_memory_release(void* memory);

#ifdef __cplusplus
}
#endif

#endif
