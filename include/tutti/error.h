/* tutti/error.h: errors, which failed calls fill in. */
#ifndef TUTTI_ERROR_H
#define TUTTI_ERROR_H

#include <tutti/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A failure, in memory of the caller. It is the last parameter of every function that can fail;
 *  NULL means that the status is enough. Only a call that fails writes it. 512 bytes. */
typedef struct tutti_error {
    uint32_t struct_size; /**< sizeof(tutti_error), set by TUTTI_ERROR_INIT or tutti_error_init; 0,
                             in an error that is all zero: the 512 bytes of version 0.1 */
    tutti_status status;  /**< the status that the call returned */
    int32_t rank;         /**< group rank at fault, the first that was found if there are several;
                             or -1 */
    int32_t system_errno; /**< errno of the failed system call, or 0 */
    char message[496]; /**< one UTF-8 sentence: operation, group, rank, cause; NUL-terminated, cut
                          if longer. At PEER_LOST it names all lost ranks that are known by then;
                          of ranks that die together, one may become known milliseconds later, and
                          tutti_get_failed_ranks lists it then */
} tutti_error;

/** An empty error. */
#define TUTTI_ERROR_INIT                        \
    {                                           \
        sizeof(tutti_error), TUTTI_OK, -1, 0, { \
            0                                   \
        }                                       \
    }

/** Prepares an error, as TUTTI_ERROR_INIT does, for callers that have no C macros.
 *  @param error  memory of the caller; NULL does nothing
 *  @param size   bytes of that memory: the caller's sizeof(tutti_error); less than 16 does
 *                nothing, more than 512 counts as 512
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_error_init(tutti_error* error, size_t size);

/** The name of a status code, for instance "TUTTI_ERR_TIMEOUT"; "TUTTI_ERR_UNKNOWN" for a code that
 *  this version does not know.
 *  @param status  any number
 *  @return a static string
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API const char* tutti_status_name(tutti_status status);

#ifdef __cplusplus
}
#endif

#endif
