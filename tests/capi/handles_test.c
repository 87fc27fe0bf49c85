/* Every function, with every kind of handle that it must refuse. The table of calls is made from
 * the headers by handle_calls.awk. */
#include <stdio.h>

#include "support/contract.h"

/* The other arguments of the calls of the table. */
static struct { void *store, *group, *work, *bytes, *object, *mesh, *reducer; } living, stale;
typedef struct outputs {
    int32_t int32;
    int64_t int64;
    uint64_t uint64;
    tutti_reduce_op op;
    size_t size;
    tutti_store* store;
    tutti_group* group;
    tutti_work* work;
    tutti_bytes* bytes;
    tutti_object* object;
    tutti_buffer buffer;
    tutti_object_item item;
    double real;
    const char* text;
    tutti_mesh* mesh;
    tutti_reducer* reducer;
    tutti_bucket bucket;
} outputs;
static outputs out, untouched;
static unsigned char byte;
static tutti_buffer buffer = TUTTI_BUFFER_INIT(&byte, 1, TUTTI_UINT8);
static tutti_p2p_op p2p = TUTTI_P2P_OP_INIT(TUTTI_ISEND, &byte, 1, TUTTI_UINT8, 0, 0);
static const char* text = "text";
static const size_t one = 1;
static const int64_t extent = 1;
static tutti_object_item item;
static const int32_t number = 0;

typedef struct handle_call {
    const char* function;
    const char* argument;
    const char* noun;
    int (*refuses)(void* bad);
} handle_call;

static void prepare(void) {
    memset(&out, 0x5a, sizeof out);
    memset(&untouched, 0x5a, sizeof untouched);
    tutti_error_init(&error, sizeof error);
}

/* The status, its error, and outputs as they were. */
static int refused(tutti_status status) {
    return status == TUTTI_ERR_INVALID_HANDLE && error.status == status &&
           error.message[0] != '\0' && memcmp(&out, &untouched, sizeof out) == 0;
}

#include "handle_calls.h"

enum { calls = sizeof handle_calls / sizeof *handle_calls };

/* A hash store, a group of one, a finished work of that group, bytes, an object, and a mesh of one.
 */
static void make_all(void** store, void** group, void** work, void** bytes, void** object,
                     void** mesh, void** reducer) {
    const int64_t length = 1;
    float value = 0;
    const tutti_buffer parameter = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT32);
    tutti_mesh* new_mesh = NULL;
    tutti_reducer* new_reducer = NULL;
    tutti_store* new_store = NULL;
    tutti_group* new_group = NULL;
    tutti_work* new_work = NULL;
    tutti_bytes* new_bytes = NULL;
    tutti_object* new_object = NULL;
    EXPECT_OK(tutti_hash_store_create(&new_store, &error));
    EXPECT_OK(tutti_store_set(new_store, "key", "value", 5, &error));
    EXPECT_OK(tutti_store_get(new_store, "key", NULL, &new_bytes, &error));
    EXPECT_OK(tutti_group_create("loopback", new_store, NULL, 0, 1, NULL, &new_group, &error));
    EXPECT_OK(tutti_barrier(new_group, NULL, &new_work, &error));
    EXPECT_OK(tutti_work_wait(new_work, 0, &error));
    EXPECT_OK(tutti_object_create(&new_object, &error));
    EXPECT_OK(tutti_object_add_nil(new_object, &error));
    EXPECT_OK(
        tutti_init_device_mesh(new_group, &length, 1, NULL, TUTTI_CPU, NULL, &new_mesh, &error));
    EXPECT_OK(
        tutti_reducer_create(new_group, &parameter, NULL, NULL, 1, NULL, &new_reducer, &error));
    *store = new_store;
    *group = new_group;
    *work = new_work;
    *bytes = new_bytes;
    *object = new_object;
    *mesh = new_mesh;
    *reducer = new_reducer;
}

static int set_up(void** state) {
    (void)state;
    make_all(&stale.store, &stale.group, &stale.work, &stale.bytes, &stale.object, &stale.mesh,
             &stale.reducer);
    tutti_reducer_release((tutti_reducer*)stale.reducer);
    tutti_mesh_release((tutti_mesh*)stale.mesh);
    tutti_object_release((tutti_object*)stale.object);
    tutti_work_release((tutti_work*)stale.work);
    tutti_bytes_release((tutti_bytes*)stale.bytes);
    tutti_group_release((tutti_group*)stale.group);
    tutti_store_release((tutti_store*)stale.store);
    make_all(&living.store, &living.group, &living.work, &living.bytes, &living.object,
             &living.mesh, &living.reducer);
    return 0;
}

/* Whatever the tests did, the living handles must still be alive. */
static int tear_down(void** state) {
    int32_t equal = 0;
    (void)state;
    EXPECT_OK(tutti_object_equal((tutti_object*)living.object, 0, (tutti_object*)living.object, 0,
                                 &equal, &error));
    tutti_object_release((tutti_object*)living.object);
    assert_int_equal(tutti_bytes_size((tutti_bytes*)living.bytes), 5);
    assert_int_equal(tutti_get_rank((tutti_group*)living.group), 0);
    EXPECT_OK(tutti_work_wait((tutti_work*)living.work, 0, &error));
    EXPECT_OK(tutti_store_set((tutti_store*)living.store, "key", "", 0, &error));
    assert_int_equal(tutti_mesh_get_rank((tutti_mesh*)living.mesh), 0);
    assert_int_equal(tutti_reducer_generation((tutti_reducer*)living.reducer), 0);
    tutti_reducer_release((tutti_reducer*)living.reducer);
    tutti_mesh_release((tutti_mesh*)living.mesh);
    tutti_work_release((tutti_work*)living.work);
    tutti_bytes_release((tutti_bytes*)living.bytes);
    tutti_group_release((tutti_group*)living.group);
    tutti_store_release((tutti_store*)living.store);
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
        expect_refusal(&handle_calls[i], TUTTI_GROUP_WORLD, "TUTTI_GROUP_WORLD");
    }
}

static void a_group_that_this_rank_is_not_in_is_refused(void** state) {
    (void)state;
    for (int i = 0; i < calls; ++i) {
        /* There is nothing to destroy, and it is its own second handle. */
        if (strcmp(handle_calls[i].function, "tutti_destroy_process_group") == 0) continue;
        if (strcmp(handle_calls[i].function, "tutti_group_retain") == 0) continue;
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
