/* The failure of a call ends that call and later ones on all ranks, and none before it that can end
 * well: the failed rank has done its part there. The first argument is the backend. */
#include <stdlib.h>

#include "on_ranks.h"

/* Rank 0 fails in the barrier behind the call that is tested. */
#define FAILED "barrier #2"

typedef struct hearing {
    rank_context* me;
    tutti_work* work;
    const char* event;
} hearing;

static void tell(const tutti_error* result, void* user) {
    const hearing* const mine = (const hearing*)user;
    (void)result;
    rank_tell(mine->me, mine->event);
}

/* A receive of a message that nobody sends ends when this rank hears of the failure. */
static tutti_status begin_to_hear(hearing* mine, const char* event) {
    static float never[4];
    rank_context* const me = mine->me;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&never[me->rank], 1, TUTTI_FLOAT32);
    mine->event = event;
    const tutti_status status =
        tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, &mine->work, &me->error);
    if (status != TUTTI_OK) return status;
    rank_tell(me, me->rank == 1 ? "1 listens" : "2 listens");
    return tutti_work_then(mine->work, tell, mine, NULL, &me->error);
}

static void fail_in_a_barrier(rank_context* me) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 1;
    for (int32_t rank = 1; rank < me->size; ++rank) {
        rank_await(me, rank == 1 ? "1 listens" : "2 listens");
    }
    RANK_STATUS(me, tutti_barrier(me->group, &options, NULL, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_SAYS(me, FAILED);
}

static void expect_the_failure(rank_context* me) {
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 0 gave up: " FAILED);
}

/* The root is in the call when rank 0 fails, and rank 2 has not called it yet. */
static void gather_before_a_failure(rank_context* me) {
    enum { MOST = 100000 };
    static float own[3][MOST], all[3][MOST];
    const int64_t counts[] = {1, MOST};
    const int64_t count = counts[*(const int*)me->user];
    const tutti_buffer mine = TUTTI_BUFFER_INIT(own[me->rank], count, TUTTI_FLOAT32);
    tutti_buffer outputs[3];
    hearing ear = {me, NULL, NULL};
    tutti_status status = TUTTI_OK;
    for (int rank = 0; rank < 3; ++rank) {
        const tutti_buffer output = TUTTI_BUFFER_INIT(all[rank], count, TUTTI_FLOAT32);
        outputs[rank] = output;
    }
    for (int64_t at = 0; at < count; ++at) own[me->rank][at] = (float)(me->rank + 1 + at);
    if (me->rank > 0) {
        RANK_OK(me, begin_to_hear(&ear, me->rank == 1 ? "heard by 1" : "heard by 2"));
    }
    if (me->rank == 2) {
        rank_await(me, "heard by 1");
        rank_await(me, "heard by 2");
    }
    status = tutti_gather(me->group, &mine, me->rank == 1 ? outputs : NULL, me->rank == 1 ? 3 : 0,
                          1, NULL, NULL, &me->error);
    RANK_STATUS(me, status, TUTTI_OK);
    if (me->rank == 0) {
        fail_in_a_barrier(me);
        return;
    }
    for (int rank = 0; rank < 3 && me->rank == 1; ++rank) {
        RANK_EXPECT(me, all[rank][0] == (float)(rank + 1));
        RANK_EXPECT(me, all[rank][count - 1] == (float)(rank + count));
    }
    RANK_STATUS(me, tutti_work_wait(ear.work, 0, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, FAILED);
    tutti_work_release(ear.work);
    expect_the_failure(me);
}

static void a_call_under_way_before_the_failed_one_ends_well(void** state) {
    (void)state;
    for (int size = 0; size < 2; ++size) RUN_WITH(3, gather_before_a_failure, &size);
}

/* Rank 2 gives up at a message, and does not come to the call in which the root waits for it: that
 * call ends, too, and nobody but rank 0 is blamed. */
static void wait_for_a_rank_that_gives_up(rank_context* me) {
    static float own[3], all[3];
    const int waits_at_once = *(const int*)me->user;
    const tutti_buffer mine = TUTTI_BUFFER_INIT(&own[me->rank], 1, TUTTI_FLOAT32);
    tutti_buffer outputs[3];
    tutti_work* work = NULL;
    for (int rank = 0; rank < 3; ++rank) {
        const tutti_buffer output = TUTTI_BUFFER_INIT(&all[rank], 1, TUTTI_FLOAT32);
        outputs[rank] = output;
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    if (me->rank == 2) {
        tutti_status ended = tutti_recv(me->group, &mine, 1, 0, NULL, NULL,
                                        waits_at_once ? NULL : &work, &me->error);
        if (ended == TUTTI_OK) ended = tutti_work_wait(work, 0, &me->error);
        tutti_work_release(work);
        RANK_STATUS(me, ended, TUTTI_ERR_ABORTED);
        RANK_SAYS(me, "rank 0 gave up: barrier #3");
        rank_await(me, "told 1");
        return;
    }
    const tutti_status status = tutti_gather(me->group, &mine, me->rank == 1 ? outputs : NULL,
                                             me->rank == 1 ? 3 : 0, 1, NULL, NULL, &me->error);
    if (me->rank == 0) {
        tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
        options.timeout_ms = 1;
        RANK_STATUS(me, status, TUTTI_OK);
        RANK_STATUS(me, tutti_barrier(me->group, &options, NULL, &me->error), TUTTI_ERR_TIMEOUT);
        rank_await(me, "told 1");
        return;
    }
    RANK_STATUS(me, status, TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 0 gave up: barrier #3");
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 0 gave up: barrier #3");
    rank_tell(me, "told 1");
}

static void a_rank_that_gives_up_at_a_message_is_not_waited_for(void** state) {
    (void)state;
    for (int at_once = 0; at_once < 2; ++at_once) {
        RUN_WITH(3, wait_for_a_rank_that_gives_up, &at_once);
    }
}

/* Rank 0 needs nobody for its part. The others call it when they have heard of the failure. */
static void broadcast_before_a_failure(rank_context* me) {
    static float data[4][3];
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data[me->rank], 3, TUTTI_FLOAT32);
    hearing ear = {me, NULL, NULL};
    for (int at = 0; at < 3; ++at) data[me->rank][at] = (float)(me->rank == 0 ? at + 1 : 0);
    if (me->rank > 0) {
        RANK_OK(me, begin_to_hear(&ear, me->rank == 1 ? "heard by 1" : "heard by 2"));
        rank_await(me, me->rank == 1 ? "heard by 1" : "heard by 2");
    }
    RANK_OK(me, tutti_broadcast(me->group, &buffer, 0, NULL, NULL, &me->error));
    for (int at = 0; at < 3; ++at) RANK_EXPECT(me, data[me->rank][at] == (float)(at + 1));
    if (me->rank == 0) {
        fail_in_a_barrier(me);
        return;
    }
    tutti_work_release(ear.work);
    expect_the_failure(me);
}

static void a_call_that_the_failed_rank_has_ended_ends_well(void** state) {
    (void)state;
    /* There a message ends on both sides together. */
    if (strcmp(backend, "loopback") == 0 || strcmp(backend, "gloo") == 0) skip();
    for (int32_t size = 2; size <= 3; ++size) RUN(size, broadcast_before_a_failure);
}

/* Ranks 1 and 2 alone make it, when they have heard of the failure. */
static void make_a_group_without_the_failed_rank(rank_context* me) {
    const int32_t ranks[] = {1, 2};
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* pair = NULL;
    hearing ear = {me, NULL, NULL};
    options.use_local_synchronization = 1;
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    if (me->rank == 0) {
        fail_in_a_barrier(me);
        return;
    }
    RANK_OK(me, begin_to_hear(&ear, me->rank == 1 ? "heard by 1" : "heard by 2"));
    rank_await(me, me->rank == 1 ? "heard by 1" : "heard by 2");
    RANK_OK(me, tutti_new_group(me->group, ranks, 2, NULL, NULL, &options, &pair, &me->error));
    RANK_EXPECT(me, rank_sum(me, pair, me->rank) == 3);
    tutti_group_release(pair);
    tutti_work_release(ear.work);
    expect_the_failure(me);
}

static void a_group_without_the_failed_rank_is_made(void** state) {
    (void)state;
    RUN(3, make_a_group_without_the_failed_rank);
}

/* All ranks have the memory, or the group, before one fails there. */
enum { MEMORY, NEW_GROUP, SPLIT_GROUP, MESH, MADE };

static void make_before_a_failure(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2, 3};
    const int64_t sizes[] = {4}, shape[] = {4};
    const int what = *(const int*)me->user;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_group* made = NULL;
    tutti_mesh* mesh = NULL;
    void* memory = NULL;
    tutti_status status = TUTTI_OK;
    if (what == MEMORY) {
        status = tutti_memory_alloc(me->group, 1 << 20, NULL, &memory, &me->error);
    } else if (what == NEW_GROUP) {
        status = tutti_new_group(me->group, ranks, 4, NULL, NULL, NULL, &made, &me->error);
    } else if (what == SPLIT_GROUP) {
        status = tutti_split_group(me->group, ranks, 4, sizes, 1, NULL, NULL, &made, &me->error);
    } else {
        status = tutti_mesh_create(me->group, ranks, 4, shape, 1, NULL, TUTTI_CPU, NULL, &mesh,
                                   &me->error);
        if (status == TUTTI_OK) status = tutti_mesh_get_group(mesh, 0, &made, &me->error);
    }
    RANK_STATUS(me, status, TUTTI_OK);
    options.timeout_ms = me->rank == 0 ? 1 : 0;
    /* The others may end it before rank 0 gives up. */
    status = tutti_barrier(made == NULL ? me->group : made, &options, NULL, &me->error);
    if (status != TUTTI_OK && (status != TUTTI_ERR_TIMEOUT || me->rank != 0))
        RANK_STATUS(me, status, TUTTI_ERR_ABORTED);
    tutti_memory_release(memory);
    tutti_group_release(made);
    tutti_mesh_release(mesh);
}

static void what_has_been_made_is_there_on_all_ranks(void** state) {
    (void)state;
    for (int what = MEMORY; what < MADE; ++what) {
        for (int i = 0; i < 3; ++i) RUN_WITH(4, make_before_a_failure, &what);
    }
}

/* A pass fails on rank 0 while others are still making the reducer. */
static void finish_without_a_gradient(rank_context* me) {
    enum { PARAMETERS = 3, COUNT = 100000 };
    static float values[4][PARAMETERS][COUNT];
    tutti_buffer all[PARAMETERS];
    tutti_reducer* reducer = NULL;
    for (int i = 0; i < PARAMETERS; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(values[me->rank][i], COUNT, TUTTI_FLOAT32);
        all[i] = one;
    }
    RANK_OK(me, tutti_reducer_create(me->group, all, NULL, NULL, PARAMETERS, NULL, &reducer,
                                     &me->error));
    tutti_status status = tutti_reducer_begin(reducer, 1, &me->error);
    for (int i = 0; i < PARAMETERS && me->rank > 0 && status == TUTTI_OK; ++i) {
        status = tutti_reducer_mark_ready(reducer, i, NULL, &me->error);
    }
    if (status == TUTTI_OK) status = tutti_reducer_finish(reducer, NULL, &me->error);
    tutti_reducer_release(reducer);
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "parameters which did not receive grad for rank 0");
}

static void a_reducer_is_made_before_its_first_pass_fails(void** state) {
    (void)state;
    for (int i = 0; i < 8; ++i) RUN(4, finish_without_a_gradient);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_call_under_way_before_the_failed_one_ends_well),
        TEST(a_call_that_the_failed_rank_has_ended_ends_well),
        TEST(a_rank_that_gives_up_at_a_message_is_not_waited_for),
        TEST(a_group_without_the_failed_rank_is_made),
        TEST(what_has_been_made_is_there_on_all_ranks),
        TEST(a_reducer_is_made_before_its_first_pass_fails),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
