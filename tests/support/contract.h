/* The header of every test of the C functions: cmocka, in the order of headers it needs, tutti's
 * public headers, and assertions that show the error's message. C99 and C++. Only the thread that
 * runs the test may assert. */
#ifndef TUTTI_TESTS_CONTRACT_H
#define TUTTI_TESTS_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tutti/tutti.h>

/* cmocka of Debian 12 has no extern "C" of its own. */
#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

/* The error of the last call. */
__attribute__((unused)) static tutti_error error = TUTTI_ERROR_INIT;

#define TEST(function) \
    { #function, function, NULL, NULL, NULL }

/* The call, which gets `&error`, must succeed. */
#define EXPECT_OK(call)                                                                    \
    do {                                                                                   \
        const tutti_status status_ = (call);                                               \
        if (status_ != TUTTI_OK) {                                                         \
            print_error("%s: %s: %s\n", #call, tutti_status_name(status_), error.message); \
            _fail(__FILE__, __LINE__);                                                     \
        }                                                                                  \
    } while (0)

/* The call, which gets `&error`, must fail with this status and a message that contains the
 * fragment. */
#define EXPECT_ERROR(call, wanted, fragment)                                             \
    do {                                                                                 \
        tutti_error_init(&error, sizeof error);                                          \
        const tutti_status status_ = (call);                                             \
        if (status_ != (wanted) || error.status != status_ ||                            \
            strstr(error.message, fragment) == NULL) {                                   \
            print_error("%s\n  wanted %s and \"%s\"\n  got    %s and \"%s\"\n", #call,   \
                        tutti_status_name(wanted), fragment, tutti_status_name(status_), \
                        error.message);                                                  \
            _fail(__FILE__, __LINE__);                                                   \
        }                                                                                \
    } while (0)

#endif
