/* Ranks as threads: runs a function once for each rank of a fresh group. Public headers only; C99
 * and C++.
 * A rank's function runs on a thread of its own, where cmocka cannot assert: it says what went
 * wrong with the macros below, which return from it. */
#ifndef TUTTI_TESTS_RANKS_H
#define TUTTI_TESTS_RANKS_H

#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rank_context {
    tutti_group* group;
    tutti_store* store; /* shared by the ranks, apart from the group's own keys */
    int32_t rank;
    int32_t size;
    void* user;        /* what run_ranks was given, the same for all */
    tutti_error error; /* for the calls of this rank */
    int failed;
} rank_context;

typedef void (*rank_function)(rank_context* me);

/* Where they meet: "NAME:ADDRESS" of a store in a library (tutti/ext.h); NULL: a hash store. */
extern const char* run_ranks_store;

/* Returns how many ranks failed; what they said is on stderr. Each rank destroys its group in the
 * end, unless it set me->group to NULL. */
int run_ranks(const char* backend, int32_t size, rank_function function, void* user);

/* Marks the rank as failed and prints why. */
void rank_failed(rank_context* me, const char* file, int line, const char* what,
                 tutti_status status);

/* Whether what the call before failed with contains the fragment. */
int rank_says(const rank_context* me, const char* fragment);

/* Tells the ranks that wait for `event`, which is used once. */
void rank_tell(rank_context* me, const char* event);
void rank_await(rank_context* me, const char* event);

/* The sum of what the ranks of this group give; a failure marks the rank. */
int64_t rank_sum(rank_context* me, tutti_group* group, int64_t value);

#ifdef __cplusplus
}
#endif

#define RANK_EXPECT(me, condition)                                     \
    do {                                                               \
        if (!(condition)) {                                            \
            rank_failed(me, __FILE__, __LINE__, #condition, TUTTI_OK); \
            return;                                                    \
        }                                                              \
    } while (0)

/* The call gets `&me->error`. */
#define RANK_STATUS(me, call, wanted)                            \
    do {                                                         \
        const tutti_status status_ = (call);                     \
        if (status_ != (wanted)) {                               \
            rank_failed(me, __FILE__, __LINE__, #call, status_); \
            return;                                              \
        }                                                        \
    } while (0)
#define RANK_OK(me, call) RANK_STATUS(me, call, TUTTI_OK)

/* rank_says, or shows what is said instead. */
#define RANK_SAYS(me, fragment)                                                 \
    do {                                                                        \
        if (!rank_says(me, fragment)) {                                         \
            rank_failed(me, __FILE__, __LINE__, (me)->error.message, TUTTI_OK); \
            return;                                                             \
        }                                                                       \
    } while (0)

/* The call must name a fault of its arguments, in these words. */
#define RANK_REFUSES(me, call, fragment)                   \
    do {                                                   \
        RANK_STATUS(me, call, TUTTI_ERR_INVALID_ARGUMENT); \
        RANK_SAYS(me, fragment);                           \
    } while (0)

#endif
