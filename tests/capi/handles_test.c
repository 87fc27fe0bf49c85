/* Every function, with every kind of handle that it must refuse. The table of calls is made from
 * the headers by handle_calls.awk. */
#include <stdio.h>

#include "arguments.h"

static handles stale;
static tutti_object_item item;

typedef struct handle_call {
    const char* function;
    const char* argument;
    const char* noun;
    int (*refuses)(void* bad);
} handle_call;

/* The status, its error, and outputs as they were. */
static int refused(tutti_status status) {
    return status == TUTTI_ERR_INVALID_HANDLE && error.status == status &&
           error.message[0] != '\0' && memcmp(&out, &untouched, sizeof out) == 0;
}

#include "handle_calls.h"

enum { calls = sizeof handle_calls / sizeof *handle_calls };

static int set_up(void** state) {
    (void)state;
    stale = make_all();
    release_all(stale);
    living = make_all();
    return 0;
}

static int tear_down(void** state) {
    (void)state;
    expect_all_alive();
    release_all(living);
    return 0;
}

static void expect_refusal(const handle_call* call, void* bad, const char* what) {
    if (call->refuses(bad)) return;
    print_error("%s does not refuse %s as its `%s`: %s\n", call->function, what, call->argument,
                error.message);
    fail();
}

static void null_is_refused(void** state) {
    (void)state;
    for (int i = 0; i < calls; ++i) {
        /* A list of works may have gaps. */
        if (strcmp(handle_calls[i].argument, "works") == 0) continue;
        expect_refusal(&handle_calls[i], NULL, "NULL");
    }
}

static void released_handles_are_refused(void** state) {
    (void)state;
    void* bad[] = {stale.store,  stale.group, stale.work,   stale.bytes,
                   stale.object, stale.mesh,  stale.reducer};
    enum { bads = sizeof bad / sizeof *bad };
    for (int i = 0; i < calls; ++i) {
        for (int kind = 0; kind < bads; ++kind) {
            expect_refusal(&handle_calls[i], bad[kind], "a released handle");
        }
    }
}

static void handles_of_another_kind_are_refused(void** state) {
    (void)state;
    const struct {
        const char* noun;
        void* handle;
    } others[] = {{"tutti_store", living.store},    {"tutti_group", living.group},
                  {"tutti_work", living.work},      {"tutti_bytes", living.bytes},
                  {"tutti_object", living.object},  {"tutti_mesh", living.mesh},
                  {"tutti_reducer", living.reducer}};
    enum { kinds = sizeof others / sizeof *others };
    for (int i = 0; i < calls; ++i) {
        for (int kind = 0; kind < kinds; ++kind) {
            if (strcmp(others[kind].noun, handle_calls[i].noun) == 0) continue;
            expect_refusal(&handle_calls[i], others[kind].handle, others[kind].noun);
        }
    }
}

static void addresses_and_numbers_are_refused(void** state) {
    (void)state;
    for (int i = 0; i < calls; ++i) {
        expect_refusal(&handle_calls[i], &byte, "an address");
        expect_refusal(&handle_calls[i], (void*)(uintptr_t)3, "3");
        expect_refusal(&handle_calls[i], (void*)UINTPTR_MAX, "the highest address");
        /* A handle with another generation, slot or kind. */
        for (int bit = 0; bit < 64; ++bit) {
            const uintptr_t flipped = (uintptr_t)living.bytes ^ (uintptr_t)1 << bit;
            expect_refusal(&handle_calls[i], (void*)flipped, "a handle with a wrong bit");
        }
    }
}

static void the_default_group_is_refused_while_there_is_none(void** state) {
    (void)state;
    for (int i = 0; i < calls; ++i) {
        /* They make the default group. */
        if (strcmp(handle_calls[i].function, "tutti_init_device_mesh") == 0) continue;
        if (strcmp(handle_calls[i].function, "tutti_mesh_create") == 0) continue;
        if (strcmp(handle_calls[i].function, "tutti_group_reconfigure") == 0) continue;
        expect_refusal(&handle_calls[i], TUTTI_GROUP_WORLD, "TUTTI_GROUP_WORLD");
    }
}

static void a_group_that_this_rank_is_not_in_is_refused(void** state) {
    (void)state;
    for (int i = 0; i < calls; ++i) {
        /* There is nothing to destroy or to replace, and it is its own second handle. */
        if (strcmp(handle_calls[i].function, "tutti_destroy_process_group") == 0) continue;
        if (strcmp(handle_calls[i].function, "tutti_group_retain") == 0) continue;
        if (strcmp(handle_calls[i].function, "tutti_group_reconfigure") == 0) continue;
        expect_refusal(&handle_calls[i], TUTTI_GROUP_NON_MEMBER, "TUTTI_GROUP_NON_MEMBER");
    }
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_NON_MEMBER, NULL, &error));
    EXPECT_ERROR(tutti_barrier(TUTTI_GROUP_NON_MEMBER, NULL, NULL, &error),
                 TUTTI_ERR_INVALID_HANDLE, "this rank is not in that group");
}

static void the_argument_and_what_is_wrong_with_it_are_named(void** state) {
    (void)state;
    tutti_work* works[2];
    int64_t index = 0;
    EXPECT_ERROR(tutti_barrier((tutti_group*)living.store, NULL, NULL, &error),
                 TUTTI_ERR_INVALID_HANDLE,
                 "tutti_barrier: group is a handle of kind store, not group");
    EXPECT_ERROR(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error), TUTTI_ERR_INVALID_HANDLE,
                 "tutti_init_process_group");
    works[0] = (tutti_work*)living.work;
    works[1] = NULL;
    EXPECT_OK(tutti_work_wait_any(works, 2, 0, &index, &error)); /* NULL is skipped in a list */
    works[1] = (tutti_work*)stale.work;
    EXPECT_ERROR(tutti_work_wait_all(works, 2, 0, &error), TUTTI_ERR_INVALID_HANDLE, "works[1]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(null_is_refused),
        TEST(released_handles_are_refused),
        TEST(handles_of_another_kind_are_refused),
        TEST(addresses_and_numbers_are_refused),
        TEST(the_default_group_is_refused_while_there_is_none),
        TEST(a_group_that_this_rank_is_not_in_is_refused),
        TEST(the_argument_and_what_is_wrong_with_it_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
