/* Facts about the library. */
#include <stdio.h>

#include "support/contract.h"

static void the_number_and_the_string_agree(void** state) {
    (void)state;
    char text[32];
    const int32_t version = tutti_version();
    (void)snprintf(text, sizeof text, "%u.%u.%u", (unsigned)(version / 10000),
                   (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    assert_string_equal(tutti_version_string(), text);
    assert_string_equal(tutti_version_string(), TUTTI_TEST_VERSION);
}

#if TUTTI_VERSION < 100 || TUTTI_VERSION >= 1000000
#error "TUTTI_VERSION cannot be compared"
#endif

static void the_headers_and_the_library_agree(void** state) {
    (void)state;
    assert_int_equal(tutti_version(), TUTTI_VERSION);
}

static void every_dtype_has_a_size(void** state) {
    (void)state;
    const struct {
        tutti_dtype dtype;
        int64_t size;
    } wanted[] = {{TUTTI_INT8, 1},     {TUTTI_UINT8, 1},     {TUTTI_INT16, 2},
                  {TUTTI_UINT16, 2},   {TUTTI_INT32, 4},     {TUTTI_UINT32, 4},
                  {TUTTI_INT64, 8},    {TUTTI_UINT64, 8},    {TUTTI_FLOAT16, 2},
                  {TUTTI_BFLOAT16, 2}, {TUTTI_FLOAT32, 4},   {TUTTI_FLOAT64, 8},
                  {TUTTI_BOOL, 1},     {TUTTI_COMPLEX64, 8}, {TUTTI_COMPLEX128, 16}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        assert_int_equal(tutti_dtype_size(wanted[i].dtype), wanted[i].size);
    }
    assert_int_equal(tutti_dtype_size(TUTTI_BOOL + 1), 0);
    assert_int_equal(tutti_dtype_size(UINT32_MAX), 0);
}

static void backends_are_found_by_name(void** state) {
    (void)state;
    assert_int_equal(tutti_is_backend_available("loopback"), 1);
    assert_int_equal(tutti_is_backend_available("gloo"), 1);
    assert_int_equal(tutti_is_backend_available("GLOO"), 1);
    assert_int_equal(tutti_is_backend_available("telegraph"), 0);
    assert_int_equal(tutti_is_backend_available(""), 0);
    assert_int_equal(tutti_is_backend_available(NULL), 0);
    assert_int_equal(tutti_is_backend_available("gloo?colour=red"), 0);
}

static void it_says_why_a_backend_is_not_available(void** state) {
    (void)state;
    EXPECT_OK(tutti_check_backend_available("Shm", &error));
    EXPECT_ERROR(
        tutti_check_backend_available("telegraph", &error), TUTTI_ERR_UNSUPPORTED,
        "tutti_check_backend_available: backend is \"telegraph\"; this build knows: gloo, ");
    EXPECT_ERROR(tutti_check_backend_available("telegraph", &error), TUTTI_ERR_UNSUPPORTED,
                 "libtutti-telegraph.so");
    EXPECT_ERROR(tutti_check_backend_available("gloo?colour=red", &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "gloo has no setting \"colour\"");
    EXPECT_ERROR(tutti_check_backend_available("", &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "name is empty");
    EXPECT_ERROR(tutti_check_backend_available(NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "name is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_number_and_the_string_agree),
        TEST(the_headers_and_the_library_agree),
        TEST(every_dtype_has_a_size),
        TEST(backends_are_found_by_name),
        TEST(it_says_why_a_backend_is_not_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
