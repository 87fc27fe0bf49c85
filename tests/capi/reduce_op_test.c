/* Reduce ops that callers make. The first argument is the backend. */
#include <stdlib.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "on_ranks.h"
#include "support/held_port.h"
#include "support/reference.h"

enum { MOST = 20000, FEW = 7, MOST_RANKS = 5 };

static tutti_buffer of(void* data, int64_t count, tutti_dtype dtype) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, dtype);
    return buffer;
}

/* A map x -> a x + b of numbers that wrap, packed into 64 bits. To apply one after the other is
 * associative, not commutative. */
static uint64_t after(uint64_t first, uint64_t second) {
    const uint32_t a1 = (uint32_t)(first >> 32), b1 = (uint32_t)first;
    const uint32_t a2 = (uint32_t)(second >> 32), b2 = (uint32_t)second;
    return (uint64_t)(a1 * a2) << 32 | (uint32_t)(a2 * b1 + b2);
}

static tutti_status compose(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                            void* user, tutti_error* told) {
    (void)told;
    const uint64_t* first = (const uint64_t*)in;
    uint64_t* second = (uint64_t*)inout;
    if (dtype != TUTTI_UINT64) return TUTTI_ERR_UNSUPPORTED;
    for (int64_t i = 0; i < count; ++i) second[i] = after(first[i], second[i]);
    if (user != NULL) *(int64_t*)user += count;
    return TUTTI_OK;
}

static uint64_t map_of(int32_t rank, int64_t index) {
    return (uint64_t)(2 * rank + 3) << 32 | (uint32_t)(rank * 1000 + index);
}

static void compose_maps(rank_context* me, int64_t count, int with_work) {
    static uint64_t maps[MOST_RANKS][MOST];
    uint64_t* mine = maps[me->rank];
    const tutti_buffer buffer = of(mine, count, TUTTI_UINT64);
    tutti_reduce_op_options options = TUTTI_REDUCE_OP_OPTIONS_INIT;
    tutti_reduce_op op = 0;
    tutti_work* work = NULL;
    int64_t calls = 0;
    options.non_commutative = 1;
    for (int64_t i = 0; i < count; ++i) mine[i] = map_of(me->rank, i);
    RANK_OK(me, tutti_reduce_op_create_user("compose", compose, &calls, NULL, &options, &op,
                                            &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, with_work ? &work : NULL,
                                 &me->error));
    tutti_reduce_op_release(op); /* the operation keeps it */
    if (with_work) RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    for (int64_t i = 0; i < count; ++i) {
        uint64_t expected = map_of(0, i);
        for (int32_t rank = 1; rank < me->size; ++rank) expected = after(expected, map_of(rank, i));
        RANK_EXPECT(me, mine[i] == expected);
    }
    RANK_EXPECT(me, me->size == 1 || me->rank != 0 || count == 0 || calls > 0);
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_EXPECT(me, strstr(me->error.message, "a reduce op that was released") != NULL);
}

static void compose_all(rank_context* me) {
    const int64_t counts[] = {0, 1, FEW, MOST};
    for (int i = 0; i < 8 && !me->failed; ++i) compose_maps(me, counts[i / 2], i % 2);
}

static void a_function_that_does_not_commute_is_applied_in_rank_order(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, compose_all);
}

static int are_composed(const uint64_t* got, int32_t size, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        uint64_t expected = map_of(0, begin + i);
        for (int32_t rank = 1; rank < size; ++rank) {
            expected = after(expected, map_of(rank, begin + i));
        }
        if (got[i] != expected) return 0;
    }
    return 1;
}

/* To every root, and in parts to all, apart and in place. */
static void compose_to_some(rank_context* me) {
    enum { PART = MOST / MOST_RANKS };
    static uint64_t maps[MOST_RANKS][MOST], results[MOST_RANKS][MOST];
    uint64_t *mine = maps[me->rank], *result = results[me->rank];
    tutti_reduce_op_options options = TUTTI_REDUCE_OP_OPTIONS_INIT;
    tutti_reduce_op op = 0;
    options.non_commutative = 1;
    RANK_OK(me,
            tutti_reduce_op_create_user("compose", compose, NULL, NULL, &options, &op, &me->error));
    for (int32_t root = 0; root < me->size; ++root) {
        const tutti_buffer input = of(mine, MOST, TUTTI_UINT64);
        const tutti_buffer output = of(result, MOST, TUTTI_UINT64);
        for (int64_t i = 0; i < MOST; ++i) mine[i] = map_of(me->rank, i);
        memset(result, 0, sizeof results[0]);
        RANK_OK(me, tutti_reduce(me->group, &input, &output, op, root, NULL, NULL, &me->error));
        RANK_EXPECT(me, me->rank == root ? are_composed(result, me->size, 0, MOST)
                                         : result[0] == 0 && result[MOST - 1] == 0);
        RANK_OK(me, tutti_reduce(me->group, NULL, &input, op, root, NULL, NULL, &me->error));
        RANK_EXPECT(me, me->rank != root || are_composed(mine, me->size, 0, MOST));
    }
    for (int in_place = 0; in_place < 2; ++in_place) {
        const int64_t begin = (int64_t)PART * me->rank;
        uint64_t* part = in_place ? mine + begin : result;
        const tutti_buffer input = of(mine, (int64_t)PART * me->size, TUTTI_UINT64);
        const tutti_buffer output = of(part, PART, TUTTI_UINT64);
        for (int64_t i = 0; i < PART * me->size; ++i) mine[i] = map_of(me->rank, i);
        RANK_OK(me, tutti_reduce_scatter_tensor(me->group, &input, &output, op, NULL, NULL,
                                                &me->error));
        RANK_EXPECT(me, are_composed(part, me->size, begin, PART));
    }
    tutti_reduce_op_release(op);
}

static void reduce_and_reduce_scatter_keep_the_order_too(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, compose_to_some);
}

/* The greater of the absolute values. */
static tutti_status greatest(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                             void* user, tutti_error* told) {
    (void)told;
    (void)user;
    for (int64_t i = 0; i < count; ++i) {
        const double a = get_element(dtype, in, i).real, b = get_element(dtype, inout, i).real;
        const double x = a < 0 ? -a : a, y = b < 0 ? -b : b;
        put_element(dtype, inout, i, real_number(x > y ? x : y));
    }
    return TUTTI_OK;
}

static void reduce_with_function(rank_context* me) {
    const int64_t counts[] = {FEW, MOST};
    tutti_reduce_op op = 0;
    RANK_OK(me,
            tutti_reduce_op_create_user("greatest", greatest, NULL, NULL, NULL, &op, &me->error));
    for (tutti_dtype dtype = TUTTI_INT8; dtype < DTYPES; ++dtype) {
        for (int size = 0; size < 2; ++size) {
            const int64_t count = counts[size];
            void* data = calloc((size_t)count, 16);
            const tutti_buffer buffer = of(data, count, dtype);
            const int sign = is_unsigned(dtype) || me->rank % 2 == 0 ? 1 : -1;
            const double most = dtype == TUTTI_BOOL ? 1 : me->size - 1;
            for (int64_t i = 0; i < count; ++i)
                put_element(dtype, data, i, real_number(sign * me->rank));
            const tutti_status status =
                tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error);
            int wrong = 0;
            for (int64_t i = 0; i < count; ++i) {
                const double got = get_element(dtype, data, i).real;
                wrong += me->size > 1 && got != most;
            }
            free(data);
            RANK_STATUS(me, status, TUTTI_OK);
            RANK_EXPECT(me, wrong == 0);
        }
    }
    tutti_reduce_op_release(op);
}

static void a_function_reduces_every_dtype(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, reduce_with_function);
}

static void use_functions_of_other_names(rank_context* me) {
    uint64_t value = 1;
    tutti_reduce_op op = 0;
    const tutti_buffer buffer = of(&value, 1, TUTTI_UINT64);
    const char* name = me->rank == 0 ? "compose" : "greatest";
    RANK_OK(me, tutti_reduce_op_create_user(name, compose, NULL, NULL, NULL, &op, &me->error));
    const tutti_status status =
        tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error);
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, strstr(me->error.message, "\"compose\"") != NULL);
    RANK_EXPECT(me, strstr(me->error.message, "\"greatest\"") != NULL);
    rank_tell(me, me->rank == 0 ? "told 0" : "told 1");
    rank_await(me, me->rank == 0 ? "told 1" : "told 0"); /* the names are known while both live */
    tutti_reduce_op_release(op);
}

static void functions_of_other_names_are_a_mismatch_that_shows_both(void** state) {
    (void)state;
    RUN(2, use_functions_of_other_names);
}

static void use_a_function_that_refuses(rank_context* me) {
    float value = 1;
    tutti_reduce_op op = 0;
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT32);
    RANK_OK(me, tutti_reduce_op_create_user("compose", compose, NULL, NULL, NULL, &op, &me->error));
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error),
                TUTTI_ERR_BACKEND);
    RANK_EXPECT(me, strstr(me->error.message, "all_reduce #1") != NULL);
    RANK_EXPECT(me,
                strstr(me->error.message, "the reduce function \"compose\" returned 3") != NULL);
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_BACKEND);
    tutti_reduce_op_release(op);
}

static void a_function_that_returns_a_failure_fails_the_call_and_the_group(void** state) {
    (void)state;
    RUN(2, use_a_function_that_refuses);
}

static void arguments_that_are_wrong_are_named(void** state) {
    (void)state;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    tutti_reduce_op op = 77;
    uint8_t yes = 1;
    double half = 0.5;
    char long_name[66];
    tutti_reduce_op_options options = TUTTI_REDUCE_OP_OPTIONS_INIT;
    const tutti_buffer boolean = of(&yes, 1, TUTTI_BOOL), factor = of(&half, 1, TUTTI_FLOAT64);
    memset(long_name, 'x', sizeof long_name);
    long_name[65] = '\0';
    EXPECT_ERROR(tutti_reduce_op_create_premul_sum(NULL, &op, &error), bad, "factor is NULL");
    EXPECT_ERROR(tutti_reduce_op_create_premul_sum(&boolean, &op, &error), bad,
                 "tutti_reduce_op_create_premul_sum: factor is a bool");
    EXPECT_ERROR(tutti_reduce_op_create_premul_sum(&factor, NULL, &error), bad, "out_op is NULL");
    EXPECT_ERROR(tutti_reduce_op_create_user(NULL, compose, NULL, NULL, NULL, &op, &error), bad,
                 "name is NULL");
    EXPECT_ERROR(tutti_reduce_op_create_user("", compose, NULL, NULL, NULL, &op, &error), bad,
                 "name has 0 bytes");
    EXPECT_ERROR(tutti_reduce_op_create_user(long_name, compose, NULL, NULL, NULL, &op, &error),
                 bad, "name has 65 bytes; it must have 1 to 64");
    EXPECT_ERROR(tutti_reduce_op_create_user("name", NULL, NULL, NULL, NULL, &op, &error), bad,
                 "function is NULL");
    EXPECT_ERROR(tutti_reduce_op_create_user("name", compose, NULL, NULL, NULL, NULL, &error), bad,
                 "out_op is NULL");
    options.non_commutative = 2;
    EXPECT_ERROR(tutti_reduce_op_create_user("name", compose, NULL, NULL, &options, &op, &error),
                 bad, "options.non_commutative is 2");
    options.struct_size = 3;
    EXPECT_ERROR(tutti_reduce_op_create_user("name", compose, NULL, NULL, &options, &op, &error),
                 bad, "options.struct_size is 3");
    assert_int_equal(op, 77);
    tutti_reduce_op_release(op); /* was never made */
    tutti_reduce_op_release(TUTTI_SUM);
    tutti_reduce_op_options_init(&options, sizeof options);
    assert_int_equal(options.struct_size, sizeof options);
    assert_int_equal(options.non_commutative, 0);
}

/* A function's text becomes part of the error, and its `user` ends when the op and its last
 * operation have ended. */
typedef struct {
    int calls;
    int releases;
} life;

static tutti_status sum_or_fail(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                void* user, tutti_error* told) {
    ++((life*)user)->calls;
    if (dtype != TUTTI_INT32) {
        (void)snprintf(told->message, sizeof told->message, "only int32 is understood");
        return TUTTI_ERR_UNSUPPORTED;
    }
    for (int64_t i = 0; i < count; ++i) ((int32_t*)inout)[i] += ((const int32_t*)in)[i];
    return TUTTI_OK;
}

static void end_life(void* user) {
    ++((life*)user)->releases;
}

static void end_of_life(rank_context* me) {
    life used = {0, 0}, refused = {0, 0};
    tutti_reduce_op op = 0, none = 0;
    int32_t value = me->rank + 1;
    double real = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    const tutti_buffer other = TUTTI_BUFFER_INIT(&real, 1, TUTTI_FLOAT64);
    RANK_REFUSES(
        me,
        tutti_reduce_op_create_user("", sum_or_fail, &refused, end_life, NULL, &none, &me->error),
        "name has 0 bytes");
    RANK_EXPECT(me, refused.releases == 0);
    RANK_OK(me, tutti_reduce_op_create_user("sum or fail", sum_or_fail, &used, end_life, NULL, &op,
                                            &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, value == 3 && used.releases == 0);
    /* On every rank: also on one that left the reducing to the other. */
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &other, op, NULL, NULL, &me->error),
                TUTTI_ERR_BACKEND);
    RANK_SAYS(me, "the reduce function \"sum or fail\" returned 3");
    RANK_SAYS(me, "only int32 is understood");
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_BACKEND);
    RANK_SAYS(me, "only int32 is understood");
    tutti_reduce_op_release(op);
    RANK_EXPECT(me, used.releases == 1);
    tutti_reduce_op_release(op);
    RANK_EXPECT(me, used.releases == 1);
}

static void a_function_has_words_and_an_end_of_life(void** state) {
    (void)state;
    RUN(2, end_of_life);
}

/* A function that asks the group whose call it is in to wait. */
typedef struct asking {
    rank_context* me;
    tutti_work* pending; /* a receive of a message that nobody sends */
    int times;
    int refused;
    int wrong;
    tutti_error last;
} asking;

static void count_refusal(asking* mine, tutti_status status) {
    const int names_it = strstr(mine->last.message, "reduce function") != NULL;
    if (status == TUTTI_ERR_INVALID_ARGUMENT && names_it) {
        ++mine->refused;
        return;
    }
    print_error("status %d: %s\n", (int)status, mine->last.message);
    ++mine->wrong;
}

static tutti_status add_and_ask(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                void* user, tutti_error* told) {
    asking* const mine = (asking*)user;
    tutti_group* const group = mine->me->group;
    tutti_error* const why = &mine->last;
    float value = 0;
    int64_t index = 0;
    int32_t completed = 1;
    tutti_group* made = NULL;
    const int32_t next = (mine->me->rank + 1) % mine->me->size;
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT32);
    const tutti_p2p_op op = TUTTI_P2P_OP_INIT(TUTTI_ISEND, &value, 1, TUTTI_FLOAT32, next, 5);
    (void)told;
    for (int64_t i = 0; i < count && dtype == TUTTI_FLOAT32; ++i) {
        ((float*)inout)[i] += ((const float*)in)[i];
    }
    if (mine->times++ > 0) return TUTTI_OK;
    count_refusal(mine, tutti_work_wait(mine->pending, 0, why));
    count_refusal(mine, tutti_work_wait(mine->pending, 1, why));
    count_refusal(mine, tutti_work_wait_all(&mine->pending, 1, 0, why));
    count_refusal(mine, tutti_work_wait_any(&mine->pending, 1, 0, &index, why));
    count_refusal(mine, tutti_work_synchronize(mine->pending, NULL, why));
    count_refusal(mine, tutti_barrier(group, NULL, NULL, why));
    count_refusal(mine, tutti_send(group, &buffer, next, 5, NULL, NULL, why));
    count_refusal(mine, tutti_recv(group, &buffer, next, 5, NULL, NULL, NULL, why));
    count_refusal(mine, tutti_batch_isend_irecv(group, &op, 1, NULL, NULL, why));
    count_refusal(mine, tutti_new_group(group, NULL, 0, NULL, NULL, NULL, &made, why));
    count_refusal(mine, tutti_destroy_process_group(group, NULL, why));
    /* A call that does not wait may be made. */
    if (tutti_work_is_completed(mine->pending, &completed, why) != TUTTI_OK || completed) {
        ++mine->wrong;
    }
    return TUTTI_OK;
}

static void ask_in_a_function(rank_context* me) {
    static float values[MOST_RANKS][MOST];
    asking mine = {me, NULL, 0, 0, 0, TUTTI_ERROR_INIT};
    float never = 0;
    int32_t cancelled = 0;
    tutti_reduce_op op = 0;
    const tutti_buffer nothing = of(&never, 1, TUTTI_FLOAT32);
    RANK_OK(me,
            tutti_reduce_op_create_user("ask", add_and_ask, &mine, NULL, NULL, &op, &me->error));
    RANK_OK(me, tutti_recv(me->group, &nothing, -1, 9, NULL, NULL, &mine.pending, &me->error));
    for (int i = 0; i < 4; ++i) {
        const int64_t count = i % 2 == 0 ? FEW : MOST;
        const tutti_buffer buffer = of(values[me->rank], count, TUTTI_FLOAT32);
        tutti_work* work = NULL;
        mine.times = 0;
        mine.refused = 0;
        for (int64_t at = 0; at < count; ++at) values[me->rank][at] = (float)(me->rank + at);
        RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, i < 2 ? NULL : &work,
                                     &me->error));
        if (work != NULL) RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        tutti_work_release(work);
        RANK_EXPECT(me, mine.wrong == 0 && mine.refused == (mine.times > 0 ? 11 : 0));
        for (int64_t at = 0; at < count; ++at) {
            const int64_t sum = me->size * (me->size - 1) / 2 + at * me->size;
            RANK_EXPECT(me, values[me->rank][at] == (float)sum);
        }
        RANK_EXPECT(me, rank_sum(me, me->group, mine.times > 0) > 0);
    }
    RANK_OK(me, tutti_work_cancel(mine.pending, &cancelled, &me->error));
    tutti_work_release(mine.pending);
    tutti_reduce_op_release(op);
}

static void a_function_that_would_wait_for_its_own_call_is_refused(void** state) {
    (void)state;
    RUN(2, ask_in_a_function);
    RUN(3, ask_in_a_function);
}

typedef struct ending {
    int refused, wrong;
} ending;

static tutti_status add_and_end(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                void* user, tutti_error* told) {
    ending* const mine = (ending*)user;
    tutti_error why = TUTTI_ERROR_INIT;
    (void)told;
    for (int64_t i = 0; i < count && dtype == TUTTI_FLOAT32; ++i) {
        ((float*)inout)[i] += ((const float*)in)[i];
    }
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &why) == TUTTI_ERR_INVALID_ARGUMENT) {
        ++mine->refused;
    } else {
        print_error("%s\n", why.message);
        ++mine->wrong;
    }
    return TUTTI_OK;
}

static int end_the_default_group_in_a_function(const char* url, int32_t rank) {
    ending mine = {0, 0};
    tutti_reduce_op op = 0;
    float value = (float)(rank + 1);
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT32);
    if (tutti_init_process_group(backend, url, NULL, rank, 2, NULL, &error)) return 1;
    if (tutti_reduce_op_create_user("end", add_and_end, &mine, NULL, NULL, &op, &error)) return 2;
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, op, NULL, NULL, &error)) return 3;
    if (value != 3 || mine.wrong > 0) return 4;
    /* The function runs on one rank at least, and the group is there on both. */
    value = (float)mine.refused;
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) return 5;
    if (value < 1) return 6;
    tutti_reduce_op_release(op);
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error) == TUTTI_OK ? 0 : 7;
}

/* This process and one that executes this program again are the ranks. */
static void the_default_group_is_there_after_its_end_was_refused(void** state) {
    (void)state;
    if (strcmp(backend, "loopback") == 0) skip(); /* its ranks are in one process */
    const held_port port = hold_port();
    char url[64];
    int ended = -1;
    (void)snprintf(url, sizeof url, "tcp://127.0.0.1:%d", (int)port.number);
    const pid_t other = fork();
    if (other == 0) {
        (void)execl("/proc/self/exe", "rank", backend, url, (char*)NULL);
        _exit(127);
    }
    assert_int_equal(end_the_default_group_in_a_function(url, 0), 0);
    assert_int_equal(waitpid(other, &ended, 0), other);
    assert_int_equal(ended, 0);
    (void)close(port.holder);
}

/* Another group's calls do not wait for this one. */
static tutti_status add_by_another_group(const void* in, void* inout, int64_t count,
                                         tutti_dtype dtype, void* user, tutti_error* told) {
    float one = 1;
    const tutti_buffer buffer = of(&one, 1, TUTTI_FLOAT32);
    for (int64_t i = 0; i < count && dtype == TUTTI_FLOAT32; ++i) {
        ((float*)inout)[i] += ((const float*)in)[i];
    }
    return tutti_all_reduce((tutti_group*)user, NULL, &buffer, TUTTI_SUM, NULL, NULL, told);
}

static void call_another_group_in_a_function(rank_context* me) {
    const int32_t own[] = {me->rank};
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* alone = NULL;
    tutti_reduce_op op = 0;
    float value = 1;
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT32);
    options.use_local_synchronization = 1;
    RANK_OK(me, tutti_new_group(me->group, own, 1, NULL, NULL, &options, &alone, &me->error));
    RANK_OK(me, tutti_reduce_op_create_user("other", add_by_another_group, alone, NULL, NULL, &op,
                                            &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, value == (float)me->size);
    tutti_reduce_op_release(op);
    tutti_group_release(alone);
}

static void a_function_may_call_another_group(void** state) {
    (void)state;
    RUN(3, call_another_group_in_a_function);
}

static tutti_status give_what_is_refused(const void* in, void* inout, int64_t count,
                                         tutti_dtype dtype, void* user, tutti_error* told) {
    (void)in;
    (void)inout;
    (void)count;
    (void)dtype;
    return tutti_barrier((tutti_group*)user, NULL, NULL, told);
}

/* The ranks that call the function tell all others. */
static void pass_a_refusal_on(rank_context* me) {
    float value = 1;
    tutti_reduce_op op = 0;
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT32);
    RANK_OK(me, tutti_reduce_op_create_user("wait", give_what_is_refused, me->group, NULL, NULL,
                                            &op, &me->error));
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error),
                TUTTI_ERR_BACKEND);
    RANK_EXPECT(me, strstr(me->error.message, "barrier on group") != NULL);
    tutti_reduce_op_release(op);
}

static void a_refusal_in_a_function_ends_the_call_on_all_ranks(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, pass_a_refusal_on);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_function_has_words_and_an_end_of_life),
        TEST(a_function_that_does_not_commute_is_applied_in_rank_order),
        TEST(reduce_and_reduce_scatter_keep_the_order_too),
        TEST(a_function_reduces_every_dtype),
        TEST(functions_of_other_names_are_a_mismatch_that_shows_both),
        TEST(a_function_that_returns_a_failure_fails_the_call_and_the_group),
        TEST(arguments_that_are_wrong_are_named),
        TEST(a_function_that_would_wait_for_its_own_call_is_refused),
        TEST(the_default_group_is_there_after_its_end_was_refused),
        TEST(a_function_may_call_another_group),
        TEST(a_refusal_in_a_function_ends_the_call_on_all_ranks),
    };
    if (argc > 1) backend = argv[1];
    if (argc > 2) return end_the_default_group_in_a_function(argv[2], 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
