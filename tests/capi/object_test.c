/* Typed values through the C functions: building, reading, what is refused, and who owns what. */
#include "support/contract.h"

/* {"name": "worker-1", "loss": 0.25, "dims": [1, 2, 3], 7: nil} */
static tutti_object* make_sample(void) {
    static const int32_t dims[] = {1, 2, 3};
    tutti_object* object = NULL;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_begin_map(object, &error));
    EXPECT_OK(tutti_object_add_key(object, "name", &error));
    EXPECT_OK(tutti_object_add_string(object, "worker-1", TUTTI_NUL_TERMINATED, &error));
    EXPECT_OK(tutti_object_add_key(object, "loss", &error));
    EXPECT_OK(tutti_object_add_float64(object, 0.25, &error));
    EXPECT_OK(tutti_object_add_key(object, "dims", &error));
    EXPECT_OK(tutti_object_begin_list(object, &error));
    EXPECT_OK(tutti_object_add_elements(object, dims, 3, TUTTI_INT32, &error));
    EXPECT_OK(tutti_object_end(object, &error));
    EXPECT_OK(tutti_object_add_int64(object, 7, &error));
    EXPECT_OK(tutti_object_add_nil(object, &error));
    EXPECT_OK(tutti_object_end(object, &error));
    return object;
}

static void expect_json(tutti_object* object, const char* wanted) {
    tutti_bytes* json = NULL;
    EXPECT_OK(tutti_object_to_json(object, 0, 0, 0, &json, &error));
    assert_string_equal((const char*)tutti_bytes_data(json), wanted);
    tutti_bytes_release(json);
}

static int32_t equal(tutti_object* a, int64_t node_a, tutti_object* b, int64_t node_b) {
    int32_t same = -1;
    EXPECT_OK(tutti_object_equal(a, node_a, b, node_b, &same, &error));
    return same;
}

static void what_is_built_is_read(void** state) {
    tutti_object* object = make_sample();
    tutti_object_item seven;
    int64_t node = -5, number = 0;
    double loss = 0;
    const char* name = NULL;
    int64_t size = 0;
    (void)state;
    EXPECT_OK(tutti_object_find(object, 0, "name", &node, &error));
    EXPECT_OK(tutti_object_get_string(object, node, &name, &size, &error));
    assert_string_equal(name, "worker-1");
    assert_int_equal(size, 8);
    EXPECT_OK(tutti_object_find(object, 0, "loss", &node, &error));
    EXPECT_OK(tutti_object_get_float64(object, node, &loss, &error));
    assert_true(loss == 0.25);
    EXPECT_OK(tutti_object_find(object, 0, "dims", &node, &error));
    EXPECT_OK(tutti_object_at(object, node, 2, &node, &error));
    EXPECT_OK(tutti_object_get_int64(object, node, &number, &error));
    assert_int_equal(number, 3);
    EXPECT_OK(tutti_object_find(object, 0, "nothing", &node, &error));
    assert_int_equal(node, -1);
    memset(&seven, 0, sizeof seven);
    seven.kind = TUTTI_OBJECT_INT64;
    seven.integer = 7;
    EXPECT_OK(tutti_object_find_item(object, 0, &seven, &node, &error));
    assert_int_equal(node, 11);
    expect_json(object,
                "{\"name\": \"worker-1\", \"loss\": 0.25, \"dims\": [1, 2, 3], \"7\": null}");
    tutti_object_release(object);
}

static void every_kind_has_its_functions(void** state) {
    static const float data[] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[] = {2, 3};
    tutti_object* object = NULL;
    int32_t truth = -1, nanoseconds = -1, dimensions = -1;
    uint64_t large = 0;
    int64_t seconds = 0;
    const void *bytes = NULL, *elements = NULL;
    const int64_t* extents = NULL;
    size_t size = 0;
    tutti_dtype dtype = 99;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_begin_list(object, &error));
    EXPECT_OK(tutti_object_add_bool(object, 1, &error));
    EXPECT_OK(tutti_object_add_uint64(object, UINT64_MAX, &error));
    EXPECT_OK(tutti_object_add_bytes(object, "ab\0c", 4, 0, &error));
    EXPECT_OK(tutti_object_add_timestamp(object, -3, 999999999, &error));
    EXPECT_OK(tutti_object_add_array(object, data, TUTTI_FLOAT32, shape, 2, 0, &error));
    EXPECT_OK(tutti_object_end(object, &error));
    EXPECT_OK(tutti_object_get_bool(object, 1, &truth, &error));
    assert_int_equal(truth, 1);
    EXPECT_OK(tutti_object_get_uint64(object, 2, &large, &error));
    assert_true(large == UINT64_MAX);
    EXPECT_OK(tutti_object_get_bytes(object, 3, &bytes, &size, &error));
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "ab\0c", 4);
    EXPECT_OK(tutti_object_get_timestamp(object, 4, &seconds, &nanoseconds, &error));
    assert_int_equal(seconds, -3);
    assert_int_equal(nanoseconds, 999999999);
    EXPECT_OK(tutti_object_get_array(object, 5, &elements, &dtype, &extents, &dimensions, &error));
    assert_int_equal(dtype, TUTTI_FLOAT32);
    assert_int_equal(dimensions, 2);
    assert_int_equal(extents[0] * 10 + extents[1], 23);
    assert_memory_equal(elements, data, sizeof data);
    assert_true(elements != (const void*)data);
    tutti_object_release(object);
}

static void wrong_kinds_and_nodes_are_named(void** state) {
    tutti_object* object = make_sample();
    int64_t node = -5;
    int32_t truth;
    uint64_t large;
    const char* text;
    double real;
    (void)state;
    EXPECT_ERROR(tutti_object_get_bool(object, 0, &truth, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "tutti_object_get_bool: node is 0, which is a map, not a bool");
    EXPECT_ERROR(tutti_object_get_uint64(object, 2, &large, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "node is 2, which is a string, not an integer");
    EXPECT_ERROR(tutti_object_get_float64(object, 1, &real, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "not a number");
    EXPECT_ERROR(tutti_object_get_string(object, 12, &text, NULL, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "node is 12, and the object has nodes 0 to 11");
    EXPECT_ERROR(tutti_object_get_string(object, -1, &text, NULL, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "node is -1");
    EXPECT_ERROR(tutti_object_at(object, 6, 3, &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "index is 3, and the list has 3 values");
    EXPECT_ERROR(tutti_object_at(object, 6, -1, &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "index is -1");
    EXPECT_ERROR(tutti_object_find(object, 6, "x", &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "node is 6, which is a list, not a map");
    EXPECT_ERROR(tutti_object_find(object, 0, NULL, &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "key is NULL");
    assert_int_equal(node, -5);
    tutti_object_release(object);
}

/* Fills `object` up to the step that must fail; every later one must fail with the same reason. */
#define EXPECT_SPOILED(call, fragment)                                                            \
    do {                                                                                          \
        tutti_object* copy_ = NULL;                                                               \
        EXPECT_ERROR(call, TUTTI_ERR_INVALID_ARGUMENT, fragment);                                 \
        EXPECT_ERROR(tutti_object_add_nil(object, &error), TUTTI_ERR_INVALID_ARGUMENT, fragment); \
        EXPECT_ERROR(tutti_object_copy(object, 0, &copy_, &error), TUTTI_ERR_INVALID_ARGUMENT,    \
                     "object was spoiled by an earlier failure");                                 \
        tutti_object_release(object);                                                             \
        EXPECT_OK(tutti_object_create(&object, &error));                                          \
    } while (0)

static void a_failed_step_spoils_the_object(void** state) {
    static const int64_t bad_shape[] = {2, -1};
    tutti_object_item items[2];
    tutti_object* object = NULL;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_SPOILED(tutti_object_add_bool(object, 2, &error), "value is 2");
    EXPECT_SPOILED(tutti_object_add_string(object, NULL, 1, &error), "text is NULL");
    EXPECT_SPOILED(tutti_object_add_string(object, "\xff", 1, &error),
                   "text is not UTF-8 at byte 0");
    EXPECT_SPOILED(tutti_object_add_key(object, "x", &error), "no key is due here");
    EXPECT_SPOILED(tutti_object_add_bytes(object, NULL, 1, 0, &error), "data is NULL");
    EXPECT_SPOILED(tutti_object_add_bytes(object, "", 1, 2, &error), "flags is 2");
    EXPECT_SPOILED(tutti_object_add_timestamp(object, 0, -1, &error), "nanoseconds is -1");
    EXPECT_SPOILED(tutti_object_add_array(object, "", TUTTI_INT8, NULL, 1, 0, &error),
                   "shape is NULL");
    EXPECT_SPOILED(tutti_object_add_array(object, "", TUTTI_INT8, bad_shape, 2, 0, &error),
                   "shape[1] is -1");
    EXPECT_SPOILED(tutti_object_add_array(object, "", 77, NULL, 0, 0, &error), "dtype is 77");
    EXPECT_SPOILED(tutti_object_add_array(object, "", TUTTI_INT8, NULL, -1, 0, &error),
                   "dimensions is -1");
    EXPECT_SPOILED(tutti_object_add_array(object, NULL, TUTTI_INT8, NULL, 0, 0, &error),
                   "data is NULL");
    EXPECT_SPOILED(tutti_object_end(object, &error), "no list or map is open");
    EXPECT_SPOILED(tutti_object_add_elements(object, "", 1, TUTTI_INT8, &error), "no list is open");
    memset(items, 0, sizeof items);
    items[0].kind = TUTTI_OBJECT_LIST;
    items[0].size = 1;
    items[1].kind = 11;
    EXPECT_SPOILED(tutti_object_add_items(object, items, 2, 0, &error), "items[1]: kind is 11");
    EXPECT_OK(tutti_object_begin_list(object, &error));
    EXPECT_SPOILED(tutti_object_add_elements(object, "", -1, TUTTI_INT8, &error), "count is -1");
    EXPECT_OK(tutti_object_begin_list(object, &error));
    EXPECT_SPOILED(tutti_object_add_elements(object, "", 0, TUTTI_COMPLEX64, &error),
                   "dtype is complex64, which a list cannot hold");
    tutti_object_release(object);
}

static void an_object_is_read_when_it_is_finished_and_built_until_then(void** state) {
    tutti_object *object = NULL, *other = make_sample();
    int64_t node = -5;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_ERROR(tutti_object_find(object, 0, "x", &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "object is not finished: it has no value yet");
    EXPECT_OK(tutti_object_begin_map(object, &error));
    EXPECT_ERROR(tutti_object_find(object, 0, "x", &node, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "object is not finished: 1 of its lists and maps are open");
    EXPECT_OK(tutti_object_add_key(object, "inside", &error));
    EXPECT_OK(tutti_object_add_object(object, other, 0, &error));
    EXPECT_OK(tutti_object_end(object, &error));
    EXPECT_ERROR(tutti_object_add_nil(object, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "object is finished");
    EXPECT_OK(tutti_object_find(object, 0, "inside", &node, &error));
    assert_int_equal(equal(object, node, other, 0), 1);
    assert_int_equal(equal(object, 0, other, 0), 0);
    tutti_object_release(object);
    tutti_object_release(other);
}

static void items_carry_many_values_at_once(void** state) {
    tutti_object *object = make_sample(), *again = NULL;
    tutti_object_item items[16];
    int64_t count = 0, at;
    (void)state;
    EXPECT_OK(tutti_object_read(object, 0, items, 16, &count, &error));
    assert_int_equal(count, 12);
    assert_int_equal(items[0].kind, TUTTI_OBJECT_MAP);
    assert_int_equal(items[0].size, 4);
    assert_int_equal(items[0].end, 12);
    assert_int_equal(items[6].end, 10);
    assert_string_equal((const char*)items[2].data, "worker-1");
    /* In portions of every size, with what they point to borrowed from `object`. */
    for (at = 1; at <= 12; ++at) {
        int64_t from;
        EXPECT_OK(tutti_object_create(&again, &error));
        for (from = 0; from < 12; from += at) {
            int64_t got = 0;
            EXPECT_OK(tutti_object_read(object, from, items, at, &got, &error));
            EXPECT_OK(tutti_object_add_items(again, items, got, TUTTI_OBJECT_BORROW, &error));
        }
        assert_int_equal(equal(object, 0, again, 0), 1);
        tutti_object_release(again);
    }
    EXPECT_OK(tutti_object_read(object, 12, items, 16, &count, &error));
    assert_int_equal(count, 0);
    EXPECT_ERROR(tutti_object_read(object, 13, items, 16, &count, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "first is 13");
    EXPECT_ERROR(tutti_object_read(object, 0, NULL, 1, &count, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_items is NULL");
    tutti_object_release(object);
}

static void many_numbers_are_read_at_once(void** state) {
    enum { many = 100000 };
    static int64_t written[many], read[many];
    tutti_object* object = NULL;
    float few[2];
    int64_t i;
    (void)state;
    for (i = 0; i < many; ++i) written[i] = i * i - 5;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_begin_list(object, &error));
    EXPECT_OK(tutti_object_add_elements(object, written, many, TUTTI_INT64, &error));
    EXPECT_OK(tutti_object_end(object, &error));
    EXPECT_OK(tutti_object_get_elements(object, 0, read, many, TUTTI_INT64, 0, &error));
    assert_memory_equal(read, written, sizeof read);
    EXPECT_OK(tutti_object_get_elements(object, 0, few, 2, TUTTI_FLOAT32, many - 2, &error));
    assert_true(few[1] == (float)written[many - 1]);
    EXPECT_OK(tutti_object_get_elements(object, 0, NULL, 0, TUTTI_INT64, many, &error));
    EXPECT_ERROR(tutti_object_get_elements(object, 0, read, many, TUTTI_INT32, 0, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "the value at index 46341 of the list");
    EXPECT_ERROR(tutti_object_get_elements(object, 0, read, 2, TUTTI_INT64, many - 1, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "count is 2, and the list has 1 values from first on");
    EXPECT_ERROR(tutti_object_get_elements(object, 0, read, 2, TUTTI_INT64, -1, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "first is -1");
    tutti_object_release(object);
}

static void borrowed_memory_is_not_copied(void** state) {
    static double data[1000];
    static const int64_t shape[] = {1000};
    tutti_object *object = NULL, *copy = NULL;
    const void* place = NULL;
    tutti_dtype dtype;
    const int64_t* extents;
    int32_t dimensions;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(
        tutti_object_add_array(object, data, TUTTI_FLOAT64, shape, 1, TUTTI_OBJECT_BORROW, &error));
    EXPECT_OK(tutti_object_get_array(object, 0, &place, &dtype, &extents, &dimensions, &error));
    assert_ptr_equal(place, data);
    EXPECT_OK(tutti_object_copy(object, 0, &copy, &error));
    EXPECT_OK(tutti_object_get_array(copy, 0, &place, &dtype, &extents, &dimensions, &error));
    assert_ptr_not_equal(place, data);
    data[3] = 5;
    assert_int_equal(equal(object, 0, copy, 0), 0);
    data[3] = 0;
    assert_int_equal(equal(object, 0, copy, 0), 1);
    tutti_object_release(object);
    tutti_object_release(copy);
}

static void outputs_and_json_are_checked(void** state) {
    tutti_object* object = make_sample();
    tutti_bytes* json = NULL;
    (void)state;
    EXPECT_ERROR(tutti_object_create(NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_object is NULL");
    EXPECT_ERROR(tutti_object_to_json(object, 0, 9, 0, &json, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "indent is 9");
    EXPECT_ERROR(tutti_object_to_json(object, 0, 0, 0, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_json is NULL");
    EXPECT_ERROR(tutti_object_encode(object, NULL, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_bytes is NULL");
    EXPECT_OK(tutti_object_to_json(object, 6, 0, 0, &json, &error));
    assert_string_equal((const char*)tutti_bytes_data(json), "[1, 2, 3]");
    tutti_bytes_release(json);
    tutti_object_release(object);
    tutti_object_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_built_is_read),
        TEST(every_kind_has_its_functions),
        TEST(wrong_kinds_and_nodes_are_named),
        TEST(a_failed_step_spoils_the_object),
        TEST(an_object_is_read_when_it_is_finished_and_built_until_then),
        TEST(items_carry_many_values_at_once),
        TEST(many_numbers_are_read_at_once),
        TEST(borrowed_memory_is_not_copied),
        TEST(outputs_and_json_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
