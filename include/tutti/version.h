/* tutti/version.h: facts about the library that is loaded. */
#ifndef TUTTI_VERSION_H
#define TUTTI_VERSION_H

#include <tutti/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the loaded library as one number: major * 10000 + minor * 100 + patch.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API uint32_t tutti_version(void);

/** The version of the loaded library, for instance "0.1.0".
 *  @return a static string
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API const char* tutti_version_string(void);

/** Bytes of one element; 0 for a dtype that is not known.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API size_t tutti_dtype_size(tutti_dtype dtype);

/** 1 if a group can be made with the backend of this name ("gloo", "shm", "hierarchy",
 *  "loopback"; case is ignored), else 0.
 *  @param name  NUL-terminated; NULL gives 0
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_backend_available
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_backend_available(const char* name);

#ifdef __cplusplus
}
#endif

#endif
