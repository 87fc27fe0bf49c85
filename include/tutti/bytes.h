/* tutti/bytes.h: bytes that the library returns, read in place and released once. */
#ifndef TUTTI_BYTES_H
#define TUTTI_BYTES_H

#include <tutti/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the bytes are.
 *  @param bytes  borrowed
 *  @return the first of tutti_bytes_size() bytes, valid until the release (a NUL follows the last
 *          one, which is not counted); NULL for an invalid handle
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: an invalid handle gives NULL
 *  @since 0.1 */
TUTTI_API const void* tutti_bytes_data(const tutti_bytes* bytes);

/** How many bytes there are; 0 for an invalid handle.
 *  @param bytes  borrowed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: an invalid handle gives 0
 *  @since 0.1 */
TUTTI_API size_t tutti_bytes_size(const tutti_bytes* bytes);

/** Gives the bytes back.
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
