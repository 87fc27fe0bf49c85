/* tutti/version.h: the version of the headers and of the loaded library, and what it has. */
#ifndef TUTTI_VERSION_H
#define TUTTI_VERSION_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_VERSION_MAJOR 0 /**< of these headers; 1 in 1.2.3 */
#define TUTTI_VERSION_MINOR 1 /**< 2 in 1.2.3 */
#define TUTTI_VERSION_PATCH 0 /**< 3 in 1.2.3 */
/** The version of these headers, for the preprocessor: "TUTTI_VERSION >= 10200" is 1.2.0 or
 *  later. tutti_version gives that of the library that is loaded. */
#define TUTTI_VERSION \
    (TUTTI_VERSION_MAJOR * 10000 + TUTTI_VERSION_MINOR * 100 + TUTTI_VERSION_PATCH)

/** The version of the loaded library as one number: major * 10000 + minor * 100 + patch.
 *  @return the TUTTI_VERSION of its headers
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API int32_t tutti_version(void);

/** The version of the loaded library, for instance "0.1.0".
 *  @return a static string
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API const char* tutti_version_string(void);

/** The size of one element.
 *  @param dtype  an element type
 *  @return bytes; 0 for an unknown dtype
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API int64_t tutti_dtype_size(tutti_dtype dtype);

/** Whether a group can be made with a backend. tutti_check_backend_available says why not.
 *  @param name  "gloo", "shm", "hierarchy", "loopback", a name that was registered or that of a
 *               library (tutti/ext.h), in upper or lower case; may have settings ("name?a=b");
 *               NUL-terminated; NULL gives 0
 *  @return 1 or 0
 *  Blocks:  while a library is loaded
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_backend_available
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_backend_available(const char* name);

/** Succeeds if a group can be made with a backend, else says why not.
 *  @param name   as in tutti_is_backend_available
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  while a library is loaded
 *  Threads: any
 *  Fails:   UNSUPPORTED (the name is not known and no such library is installed; a library is
 *           installed but cannot be loaded, is of another version, or has no backend);
 *           INVALID_ARGUMENT (NULL, empty, a table with an entry that is missing, a setting that
 *           the backend does not have)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_check_backend_available(const char* name, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
