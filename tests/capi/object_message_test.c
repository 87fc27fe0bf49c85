/* Values as messages and back, through the C functions: compression, options, the environment, and
 * messages that are none. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/contract.h"

static int32_t equal(tutti_object* a, int64_t node_a, tutti_object* b, int64_t node_b) {
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
    options.compression_level = 3;
    EXPECT_OK(tutti_object_encode(object, &options, &bytes, &error));
    assert_true(tutti_bytes_size(bytes) < sizeof zeros / 10);
    tutti_bytes_release(bytes);
    options.compression_level = 0;
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

/* Each limit as an option and as a variable, on a message that is just beyond it and one that is
 * not. */
static void every_limit_holds_as_an_option_and_as_a_variable(void** state) {
    static char zeros[9000];
    tutti_object_options unlimited = TUTTI_OBJECT_OPTIONS_INIT, given[4];
    tutti_object* object = NULL;
    tutti_bytes* compressed = NULL;
    size_t i;
    (void)state;
    unlimited.compress = TUTTI_OBJECT_COMPRESS_IF_IT_PAYS;
    for (i = 0; i < 4; ++i) tutti_object_options_init(&given[i], sizeof given[i]);
    given[0].max_bytes = 5;
    given[1].max_values = 5;
    given[2].max_depth = 5;
    given[3].max_decompressed_bytes = 9002;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_bytes(object, zeros, sizeof zeros, 0, &error));
    EXPECT_OK(tutti_object_encode(object, &unlimited, &compressed, &error));
    tutti_object_release(object);
    {
        const struct {
            const char *variable, *value, *message;
            size_t size;
            const char* why;
        } cases[] = {
            {"TUTTI_OBJECT_MAX_BYTES", "5", "\xc4\x04wxyz", 6,
             "the message has 6 bytes, and the limit is 5"},
            {"TUTTI_OBJECT_MAX_VALUES", "5", "\x95\1\2\3\4\5", 6, "more than 5 values"},
            {"TUTTI_OBJECT_MAX_DEPTH", "5", "\x91\x91\x91\x91\x91\x90", 6, "are more than 5"},
            {"TUTTI_OBJECT_MAX_DECOMPRESSED_BYTES", "9002",
             (const char*)tutti_bytes_data(compressed), tutti_bytes_size(compressed),
             "should hold 9003 bytes, and the limit is 9002"},
        };
        for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
            EXPECT_OK(tutti_object_decode(cases[i].message, cases[i].size, NULL, &object, &error));
            tutti_object_release(object);
            object = NULL;
            expect_refused_message(cases[i].message, cases[i].size, &given[i], cases[i].why);
            assert_int_equal(setenv(cases[i].variable, cases[i].value, 1), 0);
            expect_refused_message(cases[i].message, cases[i].size, NULL, cases[i].why);
            assert_int_equal(setenv(cases[i].variable, "many", 1), 0);
            expect_refused_message(cases[i].message, cases[i].size, NULL, cases[i].variable);
            assert_int_equal(unsetenv(cases[i].variable), 0);
        }
    }
    tutti_bytes_release(compressed);
}

static void the_threshold_is_an_option_and_a_variable(void** state) {
    static char zeros[9000];
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_object* object = NULL;
    int i;
    (void)state;
    options.compress = TUTTI_OBJECT_COMPRESS_IF_IT_PAYS;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_bytes(object, zeros, sizeof zeros, 0, &error));
    for (i = 0; i < 4; ++i) {
        const int too_short = i % 2; /* the value takes 9003 bytes */
        tutti_bytes* bytes = NULL;
        options.compression_threshold = i < 2 ? 9003 + too_short : 0;
        if (i >= 2) {
            assert_int_equal(
                setenv("TUTTI_OBJECT_COMPRESSION_THRESHOLD", too_short ? "9004" : "9003", 1), 0);
        }
        EXPECT_OK(tutti_object_encode(object, &options, &bytes, &error));
        assert_int_equal(tutti_bytes_size(bytes) == 9003, too_short);
        tutti_bytes_release(bytes);
    }
    assert_int_equal(unsetenv("TUTTI_OBJECT_COMPRESSION_THRESHOLD"), 0);
    tutti_object_release(object);
}

/* Counts are 32 bits in MessagePack. The memory is never touched. */
static void single_values_above_4_gib_are_refused(void** state) {
    static const size_t size = (size_t)1 << 32;
    const int64_t shape = (int64_t)size;
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_object* object = NULL;
    tutti_bytes* bytes = NULL;
    const int zeros = open("/dev/zero", O_RDONLY);
    void* memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, zeros, 0);
    (void)state;
    assert_true(zeros >= 0 && memory != MAP_FAILED);
    options.max_bytes = (int64_t)1 << 40;
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_bytes(object, memory, size, TUTTI_OBJECT_BORROW, &error));
    EXPECT_ERROR(tutti_object_encode(object, &options, &bytes, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "bytes of 4294967296 is more than MessagePack can carry (4294967295)");
    tutti_object_release(object);
    EXPECT_OK(tutti_object_create(&object, &error));
    EXPECT_OK(tutti_object_add_array(object, memory, TUTTI_UINT8, &shape, 1, TUTTI_OBJECT_BORROW,
                                     &error));
    EXPECT_ERROR(tutti_object_encode(object, &options, &bytes, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "an array of 4294967");
    tutti_object_release(object);
    assert_int_equal(munmap(memory, size), 0);
    assert_int_equal(close(zeros), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_message_comes_back),
        TEST(messages_and_options_that_are_wrong_are_refused),
        TEST(the_environment_sets_what_options_leave_open),
        TEST(every_limit_holds_as_an_option_and_as_a_variable),
        TEST(the_threshold_is_an_option_and_a_variable),
        TEST(single_values_above_4_gib_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
