/* Backends from outside (tutti/ext.h): those with a fault get a clear error and harm nothing else;
 * that of the examples does what ours do. */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/ext.h>

#include "support/contract.h"
#include "support/ranks.h"

static tutti_status create(const char* backend, tutti_group** out_group) {
    tutti_store* store = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    tutti_error_init(&error, sizeof error);
    const tutti_status status =
        tutti_group_create(backend, store, NULL, 0, 1, NULL, out_group, &error);
    tutti_store_release(store);
    return status;
}

static void a_library_with_a_fault_says_which(void** state) {
    static const struct {
        const char* name;
        tutti_status status;
        const char* says;
    } faults[] = {
        {"bad_version", TUTTI_ERR_UNSUPPORTED,
         "libtutti-bad_version.so: the module belongs to another version of tutti: its interface "
         "is 7, this library's is 1"},
        {"bad_size", TUTTI_ERR_UNSUPPORTED,
         "libtutti-bad_size.so: the backend table has a struct_size of 20, which no version has: a "
         "tutti_backend_table has 96, 104, "},
        {"bad_module_size", TUTTI_ERR_UNSUPPORTED,
         "libtutti-bad_module_size.so: the module has a struct_size of 28, which no version has: "
         "a tutti_module has 24 or 32 bytes, or more in a newer version"},
        {"bad_symbol", TUTTI_ERR_UNSUPPORTED,
         "libtutti-bad_symbol.so is no module of tutti's: it has no tutti_module_get"},
        {"bad_nameless", TUTTI_ERR_INVALID_ARGUMENT, "libtutti-bad_nameless.so: name is NULL"},
        {"bad_entry", TUTTI_ERR_INVALID_ARGUMENT, "libtutti-bad_entry.so: post is NULL"},
        {"bad_crossed", TUTTI_ERR_UNSUPPORTED,
         "libtutti-bad_crossed.so: its name is \"another\", not \"bad_crossed\""},
        {"bad_completion", TUTTI_ERR_UNSUPPORTED,
         "backend \"bad_completion\" is of no use: its completion is 77"},
        {"folder", TUTTI_ERR_UNSUPPORTED, "libtutti-folder.so: there is no backend in it"},
        {"pigeon", TUTTI_ERR_UNSUPPORTED, "and there is no library: "},
        {"../x", TUTTI_ERR_UNSUPPORTED, "backend is \"../x\"; this build knows: gloo, "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
        tutti_group* group = NULL;
        EXPECT_ERROR(create(faults[i].name, &group), faults[i].status, faults[i].says);
        assert_null(group);
        assert_int_equal(tutti_is_backend_available(faults[i].name), 0);
        EXPECT_ERROR(tutti_check_backend_available(faults[i].name, &error), faults[i].status,
                     faults[i].says);
    }
    assert_int_equal(tutti_is_backend_available("mailbox"), 1);
    EXPECT_OK(tutti_check_backend_available("mailbox", &error));
    EXPECT_ERROR(tutti_check_backend_available("mailbox?speed=9", &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "mailbox has no settings");
}

static void expect_config(tutti_group* group, const char* wanted) {
    tutti_bytes* config = NULL;
    EXPECT_OK(tutti_get_backend_config(group, &config, &error));
    assert_string_equal((const char*)tutti_bytes_data(config), wanted);
    assert_int_equal(tutti_bytes_size(config), strlen(wanted));
    tutti_bytes_release(config);
}

static void a_group_tells_its_backends_by_device(void** state) {
    tutti_group *group = NULL, *again = NULL;
    tutti_bytes* config = NULL;
    (void)state;
    EXPECT_OK(create("GLOO", &group));
    assert_string_equal(tutti_get_backend_for_device(group, TUTTI_CPU), "gloo");
    assert_string_equal(tutti_get_backend_for_device(group, TUTTI_CUDA), "gloo");
    assert_null(tutti_get_backend_for_device(group, TUTTI_XPU));
    assert_null(tutti_get_backend_for_device(group, 77));
    expect_config(group, "cpu:gloo,cuda:gloo");
    EXPECT_OK(create("cpu:gloo,cuda:gloo", &again)); /* that text makes the same backends */
    expect_config(again, "cpu:gloo,cuda:gloo");
    EXPECT_ERROR(tutti_get_backend_config(group, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "tutti_get_backend_config: out_config is NULL");
    tutti_group_release(group);
    tutti_group_release(again);
    assert_null(tutti_get_backend_for_device(group, TUTTI_CPU));
    EXPECT_ERROR(tutti_get_backend_config(group, &config, &error), TUTTI_ERR_INVALID_HANDLE,
                 "tutti_get_backend_config: ");
}

static void a_map_names_a_backend_for_each_device(void** state) {
    tutti_group* group = NULL;
    (void)state;
    EXPECT_OK(create("cpu:Mailbox", &group));
    assert_string_equal(tutti_get_backend(group), "mailbox");
    assert_string_equal(tutti_get_backend_for_device(group, TUTTI_CPU), "mailbox");
    assert_null(tutti_get_backend_for_device(group, TUTTI_CUDA));
    expect_config(group, "cpu:mailbox");
    EXPECT_OK(tutti_barrier(group, NULL, NULL, &error));
    tutti_group_release(group);
    group = NULL;
    EXPECT_ERROR(create("cpu:gloo,cuda:mailbox", &group), TUTTI_ERR_UNSUPPORTED,
                 "backend \"mailbox\" does not serve devices of type cuda");
    EXPECT_ERROR(create("cpu:mailbox?speed=9", &group), TUTTI_ERR_INVALID_ARGUMENT,
                 "backend is \"mailbox?speed=9\"; mailbox has no settings");
    EXPECT_ERROR(create("cpu:gloo,moon:gloo", &group), TUTTI_ERR_INVALID_ARGUMENT,
                 "there is no type of device \"moon\", only cpu, cuda and xpu");
    assert_null(group);
}

static void a_variable_names_the_file(void** state) {
    tutti_group* group = NULL;
    (void)state;
    assert_int_equal(setenv("TUTTI_OWL_POST_MODULE", "libtutti-mailbox.so", 1), 0);
    EXPECT_ERROR(create("owl-post", &group), TUTTI_ERR_INVALID_ARGUMENT,
                 "TUTTI_OWL_POST_MODULE is \"libtutti-mailbox.so\", which is no absolute path");
    assert_int_equal(setenv("TUTTI_OWL_POST_MODULE", "/nowhere/x.so", 1), 0);
    EXPECT_ERROR(create("owl-post", &group), TUTTI_ERR_UNSUPPORTED, "/nowhere/x.so: cannot open");
    assert_int_equal(setenv("TUTTI_OWL_POST_MODULE", "/proc/self/comm", 1), 0);
    EXPECT_ERROR(tutti_check_backend_available("owl-post", &error), TUTTI_ERR_UNSUPPORTED,
                 "/proc/self/comm cannot be loaded: ");
}

/* The others learn of it, and other groups of theirs go on. */
static void fail_to_open(rank_context* me) {
    tutti_group* group = NULL;
    const tutti_status status = tutti_group_create("bad_open", me->store, "team", me->rank,
                                                   me->size, NULL, &group, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_NETWORK);
    RANK_SAYS(me, "opening backend \"bad_open\": ");
    RANK_SAYS(me, "there is no wire");
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == 2);
}

static void a_backend_that_fails_to_open_fails_for_all(void** state) {
    (void)state;
    assert_int_equal(run_ranks("loopback", 2, fail_to_open, NULL), 0);
}

/* ---- A backend of this program ---- */

static const tutti_backend_host* host;

static tutti_status describe(void* user, const char* settings, tutti_backend_capabilities* out,
                             tutti_error* failure) {
    (void)user, (void)settings, (void)failure;
    out->completion = TUTTI_COMPLETION_CALLBACK;
    out->devices = TUTTI_BIT(TUTTI_CPU);
    out->kinds = TUTTI_BIT(TUTTI_CALL_BARRIER) | TUTTI_BIT(TUTTI_CALL_ALL_REDUCE);
    out->dtypes = TUTTI_ALL_BITS;
    out->ops[TUTTI_INT32] = TUTTI_BIT(TUTTI_SUM) | TUTTI_BIT(TUTTI_MAX);
    out->ops[TUTTI_INT64] = TUTTI_BIT(TUTTI_SUM);
    return TUTTI_OK;
}

static tutti_status open_it(void* user, const tutti_backend_place* place, void** out_backend,
                            tutti_error* failure) {
    (void)failure;
    host = place->host;
    *out_backend = user;
    return TUTTI_OK;
}

static void close_it(void* backend) {
    if (backend != NULL) *(int*)backend = -1; /* it must not be, with calls that it has */
}

static tutti_status never_ends(void* backend, tutti_backend_call* call, tutti_error* failure) {
    static tutti_backend_call* kept;
    (void)backend, (void)failure;
    kept = call;
    kept->backend_data = &kept;
    return TUTTI_OK;
}

static tutti_status ends_twice(void* backend, tutti_backend_call* call, tutti_error* failure) {
    (void)backend, (void)failure;
    host->finish(call, TUTTI_OK, -1, NULL);
    host->finish(call, TUTTI_ERR_BACKEND, -1, NULL);
    return TUTTI_OK;
}

static void abort_it(void* backend, tutti_status status, const char* why) {
    (void)backend, (void)status, (void)why;
}

static tutti_status alloc_memory(void* backend, tutti_device_type device_type, int32_t device_index,
                                 int64_t bytes, void** out_memory, tutti_error* failure) {
    (void)backend, (void)device_type, (void)device_index, (void)bytes, (void)failure;
    *out_memory = NULL;
    return TUTTI_OK;
}

static tutti_backend_table table_of(const char* name, void* user) {
    tutti_backend_table table;
    memset(&table, 0, sizeof table);
    table.struct_size = sizeof table;
    table.version = TUTTI_EXT_VERSION;
    table.name = name;
    table.user = user;
    table.describe = describe;
    table.open = open_it;
    table.close = close_it;
    table.post = ends_twice;
    table.abort = abort_it;
    return table;
}

static void a_table_is_checked_when_it_is_registered(void** state) {
    tutti_backend_table table = table_of("mine", NULL);
    (void)state;
    EXPECT_ERROR(tutti_backend_register(NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "tutti_backend_register: the backend table is NULL");
    table.version = 2;
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_UNSUPPORTED,
                 "its interface is 2, this library's is 1");
    table = table_of("mine", NULL);
    table.struct_size = 1u << 20;
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_UNSUPPORTED,
                 "has a struct_size of 1048576");
    table = table_of("Mine!", NULL);
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "name is \"Mine!\", not 1 to 32 of ");
    table = table_of("mine", NULL);
    table.describe = NULL;
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "describe is NULL");
    table = table_of("mine", NULL);
    table.alloc_memory = alloc_memory;
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "free_memory is NULL");
    table = table_of("gloo", NULL);
    EXPECT_ERROR(tutti_backend_register(&table, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "there is a backend \"gloo\" already");
}

static void what_a_backend_does_not_say_is_refused(void** state) {
    const tutti_backend_table table = table_of("few", NULL);
    int16_t small = 1;
    int64_t large = 1;
    tutti_group* group = NULL;
    (void)state;
    EXPECT_OK(tutti_backend_register(&table, &error));
    EXPECT_OK(create("few", &group));
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&large, 1, TUTTI_INT64);
    EXPECT_OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
    EXPECT_ERROR(tutti_all_reduce(group, NULL, &buffer, TUTTI_MAX, NULL, NULL, &error),
                 TUTTI_ERR_UNSUPPORTED, "\"few\" does not support all_reduce of int64 with MAX");
    buffer.data = &small;
    buffer.dtype = TUTTI_INT16;
    EXPECT_ERROR(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error),
                 TUTTI_ERR_UNSUPPORTED, "\"few\" does not support all_reduce of int16 with SUM");
    EXPECT_ERROR(tutti_broadcast(group, &buffer, 0, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "\"few\" does not support broadcast");
    EXPECT_ERROR(tutti_send(group, &buffer, 0, 0, NULL, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "group_dst is 0, this rank itself");
    tutti_group_release(group);
}

static void a_backend_that_never_ends_a_call_is_given_up(void** state) {
    static int was_closed;
    tutti_backend_table table = table_of("stuck", &was_closed);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_group *group = NULL, *other = NULL;
    (void)state;
    table.post = never_ends;
    EXPECT_OK(tutti_backend_register(&table, &error));
    EXPECT_OK(create("stuck", &group));
    EXPECT_OK(create("loopback", &other));
    options.timeout_ms = 10;
    EXPECT_ERROR(tutti_barrier(group, &options, NULL, &error), TUTTI_ERR_TIMEOUT,
                 "barrier #1 on group \"unnamed\" (rank 0 of 1): timed out after 10 ms");
    EXPECT_OK(tutti_barrier(other, NULL, NULL, &error));
    EXPECT_OK(tutti_destroy_process_group(group, NULL, &error));
    EXPECT_OK(tutti_destroy_process_group(other, NULL, &error));
    tutti_group_release(group);
    tutti_group_release(other);
    assert_int_equal(was_closed, 0);
}

/* ---- The examples ---- */

static void exchange_messages(rank_context* me) {
    tutti_call_options soon = TUTTI_CALL_OPTIONS_INIT;
    int32_t mine = me->rank, theirs = -1, source = -1, cancelled = 0;
    const tutti_buffer out = TUTTI_BUFFER_INIT(&mine, 1, TUTTI_INT32);
    const tutti_buffer in = TUTTI_BUFFER_INIT(&theirs, 1, TUTTI_INT32);
    tutti_work* work = NULL;
    soon.timeout_ms = 20;
    if (me->rank == 1) {
        RANK_STATUS(me, tutti_recv(me->group, &in, 0, 7, &soon, &source, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "recv from rank 0 (tag 7) on group");
        RANK_SAYS(me, "timed out waiting for a message of rank 0");
        RANK_OK(me, tutti_recv(me->group, &in, 0, 7, NULL, NULL, &work, &me->error));
        RANK_OK(me, tutti_work_cancel(work, &cancelled, &me->error));
        RANK_EXPECT(me, cancelled == 1);
        RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
        RANK_SAYS(me, "it was cancelled");
        tutti_work_release(work);
        RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        RANK_OK(me, tutti_recv(me->group, &in, -1, 7, NULL, &source, NULL, &me->error));
        RANK_EXPECT(me, theirs == 0 && source == 0);
    } else {
        RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        RANK_OK(me, tutti_send(me->group, &out, 1, 7, NULL, NULL, &me->error));
    }
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == 2);
}

static void messages_of_a_backend_from_outside_end_in_time_or_are_cancelled(void** state) {
    (void)state;
    assert_int_equal(run_ranks("mailbox", 2, exchange_messages, NULL), 0);
}

static void wait_for_a_rank_that_leaves(rank_context* me) {
    if (me->rank == 1) return;
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, me->error.rank == 1);
}

static void a_rank_that_leaves_is_named(void** state) {
    (void)state;
    assert_int_equal(run_ranks("mailbox", 2, wait_for_a_rank_that_leaves, NULL), 0);
}

static void call_differently(rank_context* me) {
    int32_t number = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT32);
    const tutti_status status = me->rank == 0 ? tutti_barrier(me->group, NULL, NULL, &me->error)
                                              : tutti_all_reduce(me->group, NULL, &buffer,
                                                                 TUTTI_SUM, NULL, NULL, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "barrier #1");
    RANK_SAYS(me, "all_reduce #1 (int32");
}

static void calls_that_differ_are_shown(void** state) {
    (void)state;
    assert_int_equal(run_ranks("mailbox", 2, call_differently, NULL), 0);
}

/* ---- What no table has: by a backend of the library's beside the one from outside ---- */

static void expect_text(rank_context* me, tutti_bytes* bytes, const char* wanted) {
    const int is_right = bytes != NULL && tutti_bytes_size(bytes) == strlen(wanted) &&
                         memcmp(tutti_bytes_data(bytes), wanted, strlen(wanted)) == 0;
    tutti_bytes_release(bytes);
    RANK_EXPECT(me, is_right);
}

static void move_bytes_and_memory(rank_context* me) {
    char mine[] = "rank 0";
    tutti_bytes *all[3] = {NULL, NULL, NULL}, *told = NULL;
    tutti_work *receiving = NULL, *reducing = NULL;
    int32_t source = -1;
    void* shared = NULL;
    mine[5] = (char)('0' + me->rank);
    RANK_OK(me, tutti_memory_alloc(me->group, 800, NULL, &shared, &me->error));
    int64_t* const sums = (int64_t*)shared;
    for (int i = 0; i < 100; ++i) sums[i] = i + me->rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(sums, 100, TUTTI_INT64);
    /* The backend has a call, and both kinds of messages are under way, while bytes move. */
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, &reducing, &me->error));
    if (me->rank == 2) {
        RANK_OK(me,
                tutti_recv_bytes(me->group, -1, 5, 0, NULL, NULL, NULL, &receiving, &me->error));
    }
    RANK_OK(me, tutti_all_gather_bytes(me->group, mine, 6, 0, NULL, all, 3, NULL, &me->error));
    expect_text(me, all[0], "rank 0");
    expect_text(me, all[1], "rank 1");
    expect_text(me, all[2], "rank 2");
    if (me->rank == 1) {
        RANK_OK(me, tutti_send_bytes(me->group, mine, 6, 2, 5, NULL, NULL, &me->error));
        RANK_OK(me, tutti_recv_bytes(me->group, 0, 0, 0, NULL, &told, &source, NULL, &me->error));
        expect_text(me, told, "rank 0");
    }
    if (me->rank == 0) {
        RANK_OK(me, tutti_send_bytes(me->group, mine, 6, 1, 0, NULL, NULL, &me->error));
    }
    if (receiving != NULL) {
        RANK_OK(me, tutti_work_wait(receiving, 0, &me->error));
        RANK_OK(me, tutti_work_source_rank(receiving, &source, &me->error));
        RANK_EXPECT(me, source == 1);
        RANK_OK(me, tutti_work_take_bytes(receiving, &told, 1, &me->error));
        expect_text(me, told, "rank 1");
        tutti_work_release(receiving);
    }
    RANK_OK(me, tutti_work_wait(reducing, 0, &me->error));
    tutti_work_release(reducing);
    for (int i = 0; i < 100; ++i) RANK_EXPECT(me, sums[i] == 3 * i + 3);
    tutti_memory_release(shared);
}

static void bytes_and_memory_go_beside_a_backend_from_outside(void** state) {
    (void)state;
    assert_int_equal(run_ranks("mailbox", 3, move_bytes_and_memory, NULL), 0);
}

static void die_in_bytes(rank_context* me) {
    tutti_bytes* told = NULL;
    if (me->rank == 1) return;
    RANK_STATUS(me, tutti_recv_bytes(me->group, 1, 0, 0, NULL, &told, NULL, NULL, &me->error),
                TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, me->error.rank == 1);
}

static void a_rank_that_leaves_is_named_to_who_waits_for_bytes(void** state) {
    (void)state;
    assert_int_equal(run_ranks("mailbox", 2, die_in_bytes, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_library_with_a_fault_says_which),
        TEST(a_group_tells_its_backends_by_device),
        TEST(a_map_names_a_backend_for_each_device),
        TEST(a_variable_names_the_file),
        TEST(a_backend_that_fails_to_open_fails_for_all),
        TEST(a_table_is_checked_when_it_is_registered),
        TEST(what_a_backend_does_not_say_is_refused),
        TEST(a_backend_that_never_ends_a_call_is_given_up),
        TEST(messages_of_a_backend_from_outside_end_in_time_or_are_cancelled),
        TEST(a_rank_that_leaves_is_named),
        TEST(calls_that_differ_are_shown),
        TEST(bytes_and_memory_go_beside_a_backend_from_outside),
        TEST(a_rank_that_leaves_is_named_to_who_waits_for_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
