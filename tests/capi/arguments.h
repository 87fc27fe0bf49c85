/* The other arguments of the calls that handle_calls.awk makes: handles that are alive,
 * memory for each kind of pointer, and outputs that show whether a call wrote them. C99 and C++. */
#ifndef TUTTI_TESTS_ARGUMENTS_H
#define TUTTI_TESTS_ARGUMENTS_H

#include "support/contract.h"

/* The arguments that are not under test. */
typedef struct handles {
    void *store, *group, *work, *bytes, *object, *mesh, *reducer;
} handles;
static handles living;
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
static const int32_t number = 0;

static inline void prepare(void) {
    memset(&out, 0x5a, sizeof out);
    memset(&untouched, 0x5a, sizeof untouched);
    tutti_error_init(&error, sizeof error);
}

/* A hash store, a group of one, a finished work of that group, bytes, an object, and a mesh of one.
 */
static inline handles make_all(void) {
    handles made;
    const int64_t length = 1;
    static float value = 0;
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
    made.store = new_store;
    made.group = new_group;
    made.work = new_work;
    made.bytes = new_bytes;
    made.object = new_object;
    made.mesh = new_mesh;
    made.reducer = new_reducer;
    return made;
}

static inline void release_all(handles of) {
    tutti_reducer_release((tutti_reducer*)of.reducer);
    tutti_mesh_release((tutti_mesh*)of.mesh);
    tutti_object_release((tutti_object*)of.object);
    tutti_work_release((tutti_work*)of.work);
    tutti_bytes_release((tutti_bytes*)of.bytes);
    tutti_group_release((tutti_group*)of.group);
    tutti_store_release((tutti_store*)of.store);
}

/* Whatever the calls did. */
static inline void expect_all_alive(void) {
    int32_t equal = 0;
    EXPECT_OK(tutti_object_equal((tutti_object*)living.object, 0, (tutti_object*)living.object, 0,
                                 &equal, &error));
    assert_int_equal(tutti_bytes_size((tutti_bytes*)living.bytes), 5);
    assert_int_equal(tutti_get_rank((tutti_group*)living.group), 0);
    EXPECT_OK(tutti_barrier((tutti_group*)living.group, NULL, NULL, &error));
    EXPECT_OK(tutti_work_wait((tutti_work*)living.work, 0, &error));
    EXPECT_OK(tutti_store_set((tutti_store*)living.store, "key", "", 0, &error));
    assert_int_equal(tutti_mesh_get_rank((tutti_mesh*)living.mesh), 0);
    assert_int_equal(tutti_reducer_generation((tutti_reducer*)living.reducer), 0);
}

#endif
