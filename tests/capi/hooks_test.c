/* Hooks around every operation: which are called, in which order, with what, and how long. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "support/contract.h"
#include "support/ranks.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;

enum { MOST = 64 };

typedef struct event {
    char what; /* b, a, x */
    int hooks;
    uint64_t id;
    int32_t rank, peer, tag, world_size;
    int64_t sequence_number, input_count, output_count, count;
    uint32_t dtype, op, is_async;
    char name[32], group[32], tag_name[32], error[496];
    tutti_status status;
} event;

/* Written under its lock by threads of all ranks. */
typedef struct journal {
    pthread_mutex_t lock;
    int count;
    event events[MOST];
} journal;

/* Their number, where they write, and how often they were released. */
typedef struct heard {
    int hooks;
    journal* all;
    int released;
} heard;

static void copy(char* to, const char* from, size_t room) {
    const size_t length = strlen(from) < room ? strlen(from) : room - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static void note(const tutti_operation* operation, heard* to, char what, const tutti_error* why) {
    pthread_mutex_lock(&to->all->lock);
    if (to->all->count < MOST) {
        event* one = &to->all->events[to->all->count++];
        memset(one, 0, sizeof *one);
        one->what = what;
        one->hooks = to->hooks;
        one->id = operation->id;
        one->rank = operation->rank;
        one->peer = operation->peer;
        one->tag = operation->tag;
        one->world_size = operation->world_size;
        one->sequence_number = operation->sequence_number;
        one->input_count = operation->input_count;
        one->output_count = operation->output_count;
        one->op = operation->op;
        one->is_async = operation->is_async;
        if (operation->input_count > 0) {
            one->count = operation->inputs[0].count;
            one->dtype = operation->inputs[0].dtype;
        }
        copy(one->name, operation->name, sizeof one->name);
        copy(one->group, operation->group_name, sizeof one->group);
        copy(one->tag_name, operation->tag_name, sizeof one->tag_name);
        if (why != NULL) {
            one->status = why->status;
            copy(one->error, why->message, sizeof one->error);
        }
    }
    pthread_mutex_unlock(&to->all->lock);
}

static void before(const tutti_operation* operation, void* user) {
    note(operation, (heard*)user, 'b', NULL);
}
static void after(const tutti_operation* operation, void* user) {
    note(operation, (heard*)user, 'a', NULL);
}
static void aborted(const tutti_operation* operation, const tutti_error* why, void* user) {
    note(operation, (heard*)user, 'x', why);
}
static void release(void* user) {
    ++((heard*)user)->released;
}

static uint64_t add_hooks(heard* to) {
    tutti_hooks hooks = TUTTI_HOOKS_INIT;
    uint64_t id = 0;
    hooks.before = before;
    hooks.after = after;
    hooks.aborted = aborted;
    hooks.user = to;
    hooks.release_user = release;
    EXPECT_OK(tutti_hooks_add(&hooks, &id, &error));
    assert_true(id > 0);
    return id;
}

static void add(rank_context* me) {
    float in[3] = {1, 2, 3};
    float out[3];
    tutti_buffer input = TUTTI_BUFFER_INIT(in, 3, TUTTI_FLOAT32);
    tutti_buffer output = TUTTI_BUFFER_INIT(out, 3, TUTTI_FLOAT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_work* work = NULL;
    options.tag_name = "loss";
    RANK_OK(me,
            tutti_all_reduce(me->group, &input, &output, TUTTI_MAX, &options, NULL, &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, &input, &output, TUTTI_SUM, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_wait(work, TUTTI_NO_TIMEOUT, &me->error));
    tutti_work_release(work);
}

static void send_one(rank_context* me) {
    int32_t value = 5;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    if (me->rank == 0) {
        RANK_OK(me, tutti_send(me->group, &buffer, 1, 9, NULL, NULL, &me->error));
    } else {
        RANK_OK(me, tutti_recv(me->group, &buffer, -1, 9, NULL, NULL, NULL, &me->error));
    }
}

static const event* find(const journal* all, int from, char what, int32_t rank) {
    for (int i = from; i < all->count; ++i) {
        if (all->events[i].what == what && all->events[i].rank == rank) return &all->events[i];
    }
    fail_msg("there is no event %c of rank %d", what, rank);
    return NULL;
}

static void every_operation_has_a_hook_before_and_one_after(void** state) {
    (void)state;
    static journal all; /* zero is an open lock */
    heard to = {1, &all, 0};
    const uint64_t id = add_hooks(&to);
    assert_int_equal(run_ranks("loopback", 2, add, NULL), 0);
    EXPECT_OK(tutti_hooks_remove(id, &error));
    assert_int_equal(to.released, 1);
    assert_int_equal(all.count, 8);
    for (int32_t rank = 0; rank < 2; ++rank) {
        const event* one = find(&all, 0, 'b', rank);
        assert_string_equal(one->name, "all_reduce");
        assert_string_equal(one->tag_name, "loss");
        assert_int_equal(one->world_size, 2);
        assert_int_equal(one->sequence_number, 1);
        assert_int_equal(one->input_count, 1);
        assert_int_equal(one->output_count, 1);
        assert_int_equal(one->count, 3);
        assert_int_equal(one->dtype, TUTTI_FLOAT32);
        assert_int_equal(one->op, TUTTI_MAX);
        assert_int_equal(one->is_async, 0);
        assert_int_equal(one->peer, -1);
        const event* end = find(&all, 0, 'a', rank);
        assert_true(end->id == one->id);
        const event* second = find(&all, (int)(one - all.events) + 1, 'b', rank);
        assert_true(second->id != one->id);
        assert_int_equal(second->sequence_number, 2);
        assert_int_equal(second->is_async, 1);
        assert_string_equal(second->tag_name, "");
    }
    /* Nothing is heard any more. */
    assert_int_equal(run_ranks("loopback", 2, add, NULL), 0);
    assert_int_equal(all.count, 8);
}

static void messages_have_their_peers_and_tags(void** state) {
    (void)state;
    static journal all; /* zero is an open lock */
    heard to = {1, &all, 0};
    const uint64_t id = add_hooks(&to);
    assert_int_equal(run_ranks("loopback", 2, send_one, NULL), 0);
    EXPECT_OK(tutti_hooks_remove(id, &error));
    assert_int_equal(all.count, 4);
    const event* sent = find(&all, 0, 'a', 0);
    assert_string_equal(sent->name, "send");
    assert_int_equal(sent->peer, 1);
    assert_int_equal(sent->tag, 9);
    assert_int_equal(sent->input_count, 1);
    assert_int_equal(sent->output_count, 0);
    const event* received = find(&all, 0, 'b', 1);
    assert_string_equal(received->name, "recv");
    assert_int_equal(received->peer, -1);
    assert_int_equal(received->input_count, 0);
    assert_int_equal(received->output_count, 1);
}

static void disagree(rank_context* me) {
    float data[3] = {0};
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 2 + me->rank, TUTTI_FLOAT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.tag_name = "halo";
    RANK_STATUS(me,
                tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, &options, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "all_reduce #1");
    RANK_SAYS(me, "\"halo\"");
}

static void a_failure_is_told_with_its_reason_and_the_tag(void** state) {
    (void)state;
    static journal all; /* zero is an open lock */
    heard to = {1, &all, 0};
    const uint64_t id = add_hooks(&to);
    assert_int_equal(run_ranks("loopback", 2, disagree, NULL), 0);
    EXPECT_OK(tutti_hooks_remove(id, &error));
    assert_int_equal(all.count, 4);
    for (int32_t rank = 0; rank < 2; ++rank) {
        const event* end = find(&all, 0, 'x', rank);
        assert_int_equal(end->status, TUTTI_ERR_MISMATCH);
        assert_non_null(strstr(end->error, "all_reduce #1 (float32"));
        assert_non_null(strstr(end->error, "\"halo\""));
        assert_true(find(&all, 0, 'b', rank)->id == end->id);
    }
}

static tutti_group* group_of_one(void) {
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_group_create("loopback", store, NULL, 0, 1, NULL, &group, &error));
    tutti_store_release(store);
    return group;
}

static void later_hooks_are_the_inner_ones(void** state) {
    (void)state;
    static journal all; /* zero is an open lock */
    heard outer = {1, &all, 0};
    heard inner = {2, &all, 0};
    const uint64_t one = add_hooks(&outer);
    const uint64_t two = add_hooks(&inner);
    tutti_group* group = group_of_one();
    EXPECT_OK(tutti_barrier(group, NULL, NULL, &error));
    EXPECT_OK(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    EXPECT_OK(tutti_hooks_remove(one, &error));
    EXPECT_OK(tutti_hooks_remove(two, &error));
    assert_int_equal(all.count, 4);
    const char what[] = "bbaa";
    const int hooks[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(all.events[i].what, what[i]);
        assert_int_equal(all.events[i].hooks, hooks[i]);
    }
}

typedef struct recursion {
    tutti_group *own, *other;
    uint64_t id;
    tutti_status of_own, of_other, of_removal;
    char message[496];
    int calls;
} recursion;

static void call_again(const tutti_operation* operation, void* user) {
    recursion* what = (recursion*)user;
    tutti_error why = TUTTI_ERROR_INIT;
    (void)operation;
    ++what->calls;
    what->of_own = tutti_barrier(what->own, NULL, NULL, &why);
    copy(what->message, why.message, sizeof what->message);
    what->of_other = tutti_barrier(what->other, NULL, NULL, NULL);
    what->of_removal = tutti_hooks_remove(what->id, NULL);
}

static void a_hook_may_call_tutti_and_remove_itself_and_not_wait_for_its_group(void** state) {
    (void)state;
    recursion what = {NULL, NULL, 0, 0, 0, 0, "", 0};
    tutti_hooks hooks = TUTTI_HOOKS_INIT;
    what.own = group_of_one();
    what.other = group_of_one();
    hooks.before = call_again;
    hooks.user = &what;
    EXPECT_OK(tutti_hooks_add(&hooks, &what.id, &error));
    EXPECT_OK(tutti_barrier(what.own, NULL, NULL, &error));
    EXPECT_OK(tutti_barrier(what.own, NULL, NULL, &error));
    assert_int_equal(what.calls, 1);
    assert_int_equal(what.of_own, bad);
    assert_non_null(strstr(what.message, "hook"));
    assert_int_equal(what.of_other, TUTTI_OK);
    assert_int_equal(what.of_removal, TUTTI_OK);
    EXPECT_OK(tutti_destroy_process_group(what.own, NULL, &error));
    EXPECT_OK(tutti_destroy_process_group(what.other, NULL, &error));
    tutti_group_release(what.own);
    tutti_group_release(what.other);
}

static void wrong_arguments_are_named(void** state) {
    (void)state;
    tutti_hooks hooks = TUTTI_HOOKS_INIT;
    uint64_t id = 77;
    EXPECT_ERROR(tutti_hooks_add(NULL, &id, &error), bad, "hooks is NULL");
    EXPECT_ERROR(tutti_hooks_add(&hooks, &id, &error), bad, "neither before nor after");
    hooks.before = before;
    EXPECT_ERROR(tutti_hooks_add(&hooks, NULL, &error), bad, "out_id is NULL");
    hooks.reserved = 1;
    EXPECT_ERROR(tutti_hooks_add(&hooks, &id, &error), bad, "hooks.reserved must be 0");
    hooks.struct_size = 3;
    EXPECT_ERROR(tutti_hooks_add(&hooks, &id, &error), bad, "hooks.struct_size is 3");
    EXPECT_ERROR(tutti_hooks_remove(123456, &error), bad, "there are no hooks with the id 123456");
    assert_true(id == 77);
    tutti_hooks_init(NULL, sizeof hooks);
    tutti_hooks_init(&hooks, sizeof hooks);
    assert_int_equal(hooks.struct_size, sizeof hooks);
    assert_true(hooks.before == NULL);
}

static void a_nan_fails_the_call_and_names_its_place(rank_context* me) {
    double data[5] = {0, 1, 2, 3, 4};
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 5, TUTTI_FLOAT64);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error));
    if (me->rank == 1) data[3] = (double)NAN;
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
                bad);
    RANK_SAYS(me, "the input of rank 1 is NaN at element 3 (float64)");
}

static void the_nan_check_ends_the_call_on_all_ranks(void** state) {
    (void)state;
    assert_int_equal(run_ranks("loopback", 3, a_nan_fails_the_call_and_names_its_place, NULL), 0);
}

static void an_unknown_hook_of_the_environment_is_named(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    setenv("TUTTI_HOOKS", "signatures,nan", 1);
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 0, 1, NULL, &group, &error), bad,
                 "TUTTI_HOOKS is \"signatures,nan\"");
    tutti_store_release(store);
    setenv("TUTTI_HOOKS", "signatures,nan_check", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_hook_of_the_environment_is_named), /* the first: it is read once */
        TEST(the_nan_check_ends_the_call_on_all_ranks),
        TEST(every_operation_has_a_hook_before_and_one_after),
        TEST(messages_have_their_peers_and_tags),
        TEST(a_failure_is_told_with_its_reason_and_the_tag),
        TEST(later_hooks_are_the_inner_ones),
        TEST(a_hook_may_call_tutti_and_remove_itself_and_not_wait_for_its_group),
        TEST(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
