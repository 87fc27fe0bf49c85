/* tutti/bytes.h: byte strings that the library returns. Read them in place, and release them
 * once. */
#ifndef TUTTI_BYTES_H
#define TUTTI_BYTES_H

#include <tutti/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The address of the bytes.
 *  @param bytes  borrowed
 *  @return the first of tutti_bytes_size() bytes, valid until the release (a NUL follows the last
 *          one, which is not counted); NULL for an invalid handle
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: an invalid handle gives NULL
 *  @since 0.1 */
TUTTI_API const void* tutti_bytes_data(tutti_bytes* bytes);

/** The number of bytes; 0 for an invalid handle.
 *  @param bytes  borrowed
 *  @return bytes, 0 or more
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: an invalid handle gives 0
 *  @since 0.1 */
TUTTI_API size_t tutti_bytes_size(tutti_bytes* bytes);

/** Releases the bytes.
 *  @param bytes  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_bytes_release(tutti_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif
