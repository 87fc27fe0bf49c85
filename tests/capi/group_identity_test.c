/* The identity of a group: its name, its timeout, its handles; and the names of backends. The
 * first argument is the backend. */
#include <stdio.h>

#include "on_ranks.h"

static int is_called(tutti_group* group, const char* wanted) {
    tutti_bytes* name = NULL;
    tutti_error failure = TUTTI_ERROR_INIT;
    if (tutti_group_get_name(group, &name, &failure) != TUTTI_OK) return 0;
    const int same = strcmp((const char*)tutti_bytes_data(name), wanted) == 0;
    tutti_bytes_release(name);
    return same;
}

static void describe_groups(rank_context* me) {
    tutti_group *described = NULL, *unnamed = NULL, *again = NULL;
    tutti_store* stores[2] = {NULL, NULL};
    int64_t timeout_ms = 0;
    RANK_OK(me, tutti_prefix_store_create(me->store, "a", &stores[0], &me->error));
    RANK_OK(me, tutti_prefix_store_create(me->store, "b", &stores[1], &me->error));
    RANK_OK(me, tutti_group_create(backend, stores[0], "the solver", me->rank, me->size, NULL,
                                   &described, &me->error));
    RANK_OK(me, tutti_group_create(backend, stores[1], NULL, me->rank, me->size, NULL, &unnamed,
                                   &me->error));
    RANK_EXPECT(me, is_called(described, "the solver") && is_called(unnamed, "unnamed"));
    RANK_REFUSES(me, tutti_broadcast(described, NULL, 0, NULL, NULL, &me->error), "buffer is NULL");
    RANK_OK(me, tutti_group_get_timeout(described, &timeout_ms, &me->error));
    RANK_EXPECT(me, timeout_ms == 1800000);
    RANK_OK(me, tutti_group_set_timeout(described, TUTTI_NO_TIMEOUT, &me->error));
    RANK_OK(me, tutti_group_get_timeout(described, &timeout_ms, &me->error));
    RANK_EXPECT(me, timeout_ms == TUTTI_NO_TIMEOUT);
    RANK_REFUSES(me, tutti_group_set_timeout(described, 0, &me->error), "timeout_ms is 0");
    /* A second handle of the same group outlives the first. */
    RANK_OK(me, tutti_group_retain(described, &again, &me->error));
    tutti_group_release(described);
    RANK_EXPECT(me, tutti_get_rank(described) == -1 && tutti_get_rank(again) == me->rank);
    RANK_OK(me, tutti_barrier(again, NULL, NULL, &me->error));
    RANK_OK(me, tutti_destroy_process_group(again, NULL, &me->error));
    RANK_STATUS(me, tutti_barrier(again, NULL, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
    RANK_SAYS(me, "group \"the solver\"");
    tutti_group_release(again);
    again = NULL;
    RANK_OK(me, tutti_group_retain(TUTTI_GROUP_NON_MEMBER, &again, &me->error));
    RANK_EXPECT(me, again == TUTTI_GROUP_NON_MEMBER);
    RANK_OK(me, tutti_barrier(unnamed, NULL, NULL, &me->error));
    tutti_group_release(unnamed);
    for (int i = 0; i < 2; ++i) tutti_store_release(stores[i]);
}

static void groups_have_names_timeouts_and_handles(void** state) {
    (void)state;
    RUN(1, describe_groups);
    RUN(2, describe_groups);
}

static void name_backends(rank_context* me) {
    char name[64];
    tutti_store* inner = NULL;
    tutti_group* group = NULL;
    tutti_destroy_options options = TUTTI_DESTROY_OPTIONS_INIT;
    RANK_OK(me, tutti_prefix_store_create(me->store, "n", &inner, &me->error));
    (void)snprintf(name, sizeof name, "%s?speed=7&x", backend);
    RANK_REFUSES(
        me, tutti_group_create(name, inner, NULL, me->rank, me->size, NULL, &group, &me->error),
        "has no setting \"speed\"");
    (void)snprintf(name, sizeof name, "%s?", backend);
    RANK_EXPECT(me, tutti_is_backend_available(name) == 1);
    RANK_OK(me,
            tutti_group_create(name, inner, NULL, me->rank, me->size, NULL, &group, &me->error));
    RANK_EXPECT(me, strcmp(tutti_get_backend(group), backend) == 0);
    RANK_OK(me, tutti_barrier(group, NULL, NULL, &me->error));
    options.timeout_ms = -2;
    RANK_REFUSES(me, tutti_destroy_process_group(group, &options, &me->error),
                 "options.timeout_ms is -2");
    options.timeout_ms = 10000;
    RANK_OK(me, tutti_destroy_process_group(group, &options, &me->error));
    tutti_group_release(group);
    tutti_store_release(inner);
}

static void backends_are_named_with_settings(void** state) {
    (void)state;
    RUN(1, name_backends);
    RUN(2, name_backends);
}

static void nobody_has_failed(rank_context* me) {
    int32_t ranks[2] = {7, 7};
    int64_t count = -1;
    RANK_OK(me, tutti_get_failed_ranks(me->group, ranks, 2, &count, &me->error));
    RANK_EXPECT(me, count == 0 && ranks[0] == 7);
    RANK_OK(me, tutti_get_failed_ranks(me->group, NULL, 0, &count, &me->error));
    RANK_REFUSES(me, tutti_get_failed_ranks(me->group, NULL, 1, &count, &me->error),
                 "out_ranks is NULL but capacity is 1");
    RANK_REFUSES(me, tutti_get_failed_ranks(me->group, ranks, -1, &count, &me->error),
                 "capacity is -1");
    RANK_REFUSES(me, tutti_get_failed_ranks(me->group, ranks, 2, NULL, &me->error),
                 "out_count is NULL");
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void a_whole_group_has_no_failed_ranks(void** state) {
    (void)state;
    RUN(2, nobody_has_failed);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(groups_have_names_timeouts_and_handles),
        TEST(backends_are_named_with_settings),
        TEST(a_whole_group_has_no_failed_ranks),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
