/* Values as messages and back, through the C functions: compression, options, the environment, and
 * messages that are none. */
#include <stdlib.h>

#include "support/contract.h"

static int32_t equal(const tutti_object* a, int64_t node_a, const tutti_object* b, int64_t node_b) {
    int32_t same = -1;
    EXPECT_OK(tutti_object_equal(a, node_a, b, node_b, &same, &error));
    return same;
}

static void a_message_comes_back(void** state) {
    static double data[5000];
    static const int64_t shape[] = {5000};
    tutti_object *object = NULL, *back = NULL;
    tutti_bytes *plain = NULL, *compressed = NULL;
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    const void* place = NULL;
    tutti_dtype dtype;
    const int64_t* extents;
    int32_t dimensions;
    ptrdiff_t offset;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_array(object, data, TUTTI_FLOAT64, shape, 1, 0, &error));
    EXPECT_OK(tutti_object_encode(object, NULL, &plain, &error));
    options.compress = TUTTI_OBJECT_COMPRESS_IF_IT_PAYS;
    EXPECT_OK(tutti_object_encode(object, &options, &compressed, &error));
    assert_true(tutti_bytes_size(plain) > sizeof data);
    assert_true(tutti_bytes_size(compressed) < 1000);
    assert_memory_equal(tutti_bytes_data(compressed), "\x28\xb5\x2f\xfd", 4);
    EXPECT_OK(tutti_object_decode(tutti_bytes_data(compressed), tutti_bytes_size(compressed), NULL,
                                  &back, &error));
    assert_int_equal(equal(object, 0, back, 0), 1);
    tutti_object_release(back);
    options.flags = TUTTI_OBJECT_BORROW;
    EXPECT_OK(tutti_object_decode(tutti_bytes_data(plain), tutti_bytes_size(plain), &options, &back,
                                  &error));
    EXPECT_OK(tutti_object_get_array(back, 0, &place, &dtype, &extents, &dimensions, &error));
    offset = (const char*)place - (const char*)tutti_bytes_data(plain);
    assert_true(offset > 0 && offset < 64);
    assert_int_equal(equal(object, 0, back, 0), 1);
    tutti_object_release(back);
    tutti_bytes_release(plain);
    tutti_bytes_release(compressed);
    tutti_object_release(object);
}

static void expect_refused_message(const char* message, size_t size,
                                   const tutti_object_options* options, const char* why) {
    tutti_object* object = NULL;
    EXPECT_ERROR(tutti_object_decode(message, size, options, &object, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, why);
    assert_null(object);
}

static void messages_and_options_that_are_wrong_are_refused(void** state) {
    tutti_object_options options;
    (void)state;
    expect_refused_message(NULL, 1, NULL, "data is NULL");
    expect_refused_message(NULL, 0, NULL, "at byte 0, it ends too early");
    expect_refused_message("\x92\x01\xc1", 3, NULL, "tutti_object_decode: the message is no value");
    tutti_object_options_init(&options, sizeof options);
    assert_int_equal(options.struct_size, sizeof options);
    options.max_values = 2;
    expect_refused_message("\x92\x01\x02", 3, &options, "more than 2 values");
    options.max_values = -1;
    expect_refused_message("\xc0", 1, &options, "options.max_values is -1");
    options.max_values = (int64_t)1 << 32;
    expect_refused_message("\xc0", 1, &options, "options.max_values is 4294967296");
    options.max_values = 0;
    options.max_depth = -1;
    expect_refused_message("\xc0", 1, &options, "options.max_depth is -1");
    options.max_depth = 0;
    options.compression_level = 20;
    expect_refused_message("\xc0", 1, &options, "options.compression_level is 20");
    options.compression_level = 0;
    options.compress = 3;
    expect_refused_message("\xc0", 1, &options, "options.compress is 3");
    options.compress = 0;
    options.flags = 4;
    expect_refused_message("\xc0", 1, &options, "options.flags is 4");
    options.flags = 0;
    options.reserved = 1;
    expect_refused_message("\xc0", 1, &options, "options.reserved must be 0");
    options.reserved = 0;
    options.struct_size = 0;
    expect_refused_message("\xc0", 1, &options, "options.struct_size is 0");
}

static void the_environment_sets_what_options_leave_open(void** state) {
    static char zeros[9000];
    tutti_object* object = NULL;
    tutti_bytes* bytes = NULL;
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    (void)state;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_bytes(object, zeros, sizeof zeros, 0, &error));
    options.compress = TUTTI_OBJECT_COMPRESS_IF_IT_PAYS;
    assert_int_equal(setenv("TUTTI_OBJECT_COMPRESSION_LEVEL", "0", 1), 0);
    EXPECT_OK(tutti_object_encode(object, &options, &bytes, &error));
    assert_int_equal(tutti_bytes_size(bytes), sizeof zeros + 3);
    tutti_bytes_release(bytes);
    assert_int_equal(setenv("TUTTI_OBJECT_COMPRESSION_LEVEL", "20", 1), 0);
    EXPECT_ERROR(tutti_object_encode(object, &options, &bytes, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "environment variable TUTTI_OBJECT_COMPRESSION_LEVEL is \"20\"");
    assert_int_equal(unsetenv("TUTTI_OBJECT_COMPRESSION_LEVEL"), 0);
    assert_int_equal(setenv("TUTTI_OBJECT_MAX_BYTES", "9002", 1), 0);
    EXPECT_ERROR(tutti_object_encode(object, NULL, &bytes, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "the value takes 9003 bytes, and the limit is 9002");
    options.max_bytes = 9003;
    EXPECT_OK(tutti_object_encode(object, &options, &bytes, &error));
    tutti_bytes_release(bytes);
    assert_int_equal(unsetenv("TUTTI_OBJECT_MAX_BYTES"), 0);
    tutti_object_release(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_message_comes_back),
        TEST(messages_and_options_that_are_wrong_are_refused),
        TEST(the_environment_sets_what_options_leave_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
