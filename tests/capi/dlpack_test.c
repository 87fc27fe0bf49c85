/* Tensors of DLPack as buffers: what is taken and as what, and what is refused in which words. */
#include <stdio.h>
#include <stdlib.h>

#include "dlpack_structs.h"
#include "on_ranks.h"

static float memory[24];
static int deletions;
static void delete_managed(managed* self) {
    (void)self;
    ++deletions;
}
static void delete_versioned(versioned* self) {
    (void)self;
    ++deletions;
}

static tensor tensor_of(int32_t ndim, int64_t* shape, int64_t* strides) {
    const tensor made = {memory, CPU, 0, ndim, FLOAT, 32, 1, shape, strides, 0};
    return made;
}

static managed managed_of(const tensor* inner) {
    const managed made = {*inner, NULL, delete_managed};
    return made;
}

static versioned versioned_of(const tensor* inner, uint64_t flags) {
    const versioned made = {1, 1, NULL, delete_versioned, flags, *inner};
    return made;
}

/* The result of both functions, which is the same. */
static tutti_buffer imported(const tensor* inner) {
    const managed given = managed_of(inner);
    const versioned given_too = versioned_of(inner, 0);
    tutti_buffer buffer, same;
    memset(&buffer, 0x5a, sizeof buffer);
    memset(&same, 0xa5, sizeof same);
    EXPECT_OK(tutti_buffer_from_dlpack(&given, &buffer, &error));
    EXPECT_OK(tutti_buffer_from_dlpack_versioned(&given_too, &same, NULL, &error));
    assert_memory_equal(&buffer, &same, sizeof buffer);
    return buffer;
}

static void expect_buffer(const tensor* inner, void* data, int64_t count) {
    const tutti_buffer wanted = TUTTI_BUFFER_INIT(data, count, TUTTI_FLOAT32);
    const tutti_buffer buffer = imported(inner);
    assert_ptr_equal(buffer.data, data);
    assert_int_equal(buffer.count, count);
    assert_memory_equal(&buffer, &wanted, sizeof wanted);
}

/* Both functions name themselves and the field, and leave the outputs alone. */
static void expect_refusal(const tensor* inner, tutti_status status, const char* fragment) {
    const managed given = managed_of(inner);
    const versioned given_too = versioned_of(inner, 0);
    tutti_buffer buffer, untouched;
    int32_t read_only = 7;
    memset(&buffer, 0x5a, sizeof buffer);
    memset(&untouched, 0x5a, sizeof untouched);
    EXPECT_ERROR(tutti_buffer_from_dlpack(&given, &buffer, &error), status, fragment);
    assert_ptr_equal(strstr(error.message, "tutti_buffer_from_dlpack: "), error.message);
    EXPECT_ERROR(tutti_buffer_from_dlpack_versioned(&given_too, &buffer, &read_only, &error),
                 status, fragment);
    assert_ptr_equal(strstr(error.message, "tutti_buffer_from_dlpack_versioned: "), error.message);
    assert_memory_equal(&buffer, &untouched, sizeof buffer);
    assert_int_equal(read_only, 7);
}

#define REFUSED(inner, fragment) expect_refusal(inner, TUTTI_ERR_INVALID_ARGUMENT, fragment)
#define UNSUPPORTED(inner, fragment) expect_refusal(inner, TUTTI_ERR_UNSUPPORTED, fragment)

static void every_dtype_is_imported(void** state) {
    const struct {
        uint8_t code, bits;
        tutti_dtype dtype;
    } cases[] = {{INT, 8, TUTTI_INT8},           {UINT, 8, TUTTI_UINT8},
                 {INT, 16, TUTTI_INT16},         {UINT, 16, TUTTI_UINT16},
                 {INT, 32, TUTTI_INT32},         {UINT, 32, TUTTI_UINT32},
                 {INT, 64, TUTTI_INT64},         {UINT, 64, TUTTI_UINT64},
                 {FLOAT, 16, TUTTI_FLOAT16},     {BFLOAT, 16, TUTTI_BFLOAT16},
                 {FLOAT, 32, TUTTI_FLOAT32},     {FLOAT, 64, TUTTI_FLOAT64},
                 {COMPLEX, 64, TUTTI_COMPLEX64}, {COMPLEX, 128, TUTTI_COMPLEX128},
                 {BOOL, 8, TUTTI_BOOL}};
    enum { count = sizeof cases / sizeof *cases };
    int64_t shape[] = {1};
    (void)state;
    assert_int_equal(count, TUTTI_BOOL + 1);
    for (int i = 0; i < count; ++i) {
        tensor inner = tensor_of(1, shape, NULL);
        inner.code = cases[i].code;
        inner.bits = cases[i].bits;
        const tutti_buffer buffer = imported(&inner);
        assert_int_equal(buffer.dtype, cases[i].dtype);
        assert_int_equal(tutti_dtype_size(buffer.dtype) * 8, inner.bits);
    }
}

static void other_dtypes_are_refused_by_name(void** state) {
    const struct {
        uint8_t code, bits;
        uint16_t lanes;
        const char* text;
    } cases[] = {{INT, 4, 1, "dtype is kDLInt of 4 bits and 1 lane,"},
                 {UINT, 1, 1, "dtype is kDLUInt of 1 bits"},
                 {FLOAT, 128, 1, "dtype is kDLFloat of 128 bits"},
                 {FLOAT, 8, 1, "dtype is kDLFloat of 8 bits"},
                 {OPAQUE, 64, 1, "dtype is kDLOpaqueHandle of 64 bits"},
                 {BFLOAT, 32, 1, "dtype is kDLBfloat of 32 bits"},
                 {COMPLEX, 32, 1, "dtype is kDLComplex of 32 bits"},
                 {BOOL, 1, 1, "dtype is kDLBool of 1 bits"},
                 {7, 8, 1, "dtype is kDLFloat8_e3m4 of 8 bits"},
                 {8, 8, 1, "dtype is kDLFloat8_e4m3 of 8 bits"},
                 {9, 8, 1, "dtype is kDLFloat8_e4m3b11fnuz of 8 bits"},
                 {10, 8, 1, "dtype is kDLFloat8_e4m3fn of 8 bits"},
                 {11, 8, 1, "dtype is kDLFloat8_e4m3fnuz of 8 bits"},
                 {12, 8, 1, "dtype is kDLFloat8_e5m2 of 8 bits"},
                 {13, 8, 1, "dtype is kDLFloat8_e5m2fnuz of 8 bits"},
                 {14, 8, 1, "dtype is kDLFloat8_e8m0fnu of 8 bits"},
                 {15, 6, 1, "dtype is kDLFloat6_e2m3fn of 6 bits"},
                 {16, 6, 1, "dtype is kDLFloat6_e3m2fn of 6 bits"},
                 {17, 4, 1, "dtype is kDLFloat4_e2m1fn of 4 bits"},
                 {18, 8, 1, "dtype is 18 of 8 bits"},
                 {255, 32, 1, "dtype is 255 of 32 bits"},
                 {FLOAT, 32, 4, "dtype is kDLFloat of 32 bits and 4 lanes,"},
                 {FLOAT, 32, 0, "dtype is kDLFloat of 32 bits and 0 lanes,"},
                 {FLOAT, 32, 257, "dtype is kDLFloat of 32 bits and 257 lanes,"}};
    int64_t shape[] = {1};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tensor inner = tensor_of(1, shape, NULL);
        inner.code = cases[i].code;
        inner.bits = cases[i].bits;
        inner.lanes = cases[i].lanes;
        UNSUPPORTED(&inner, cases[i].text);
    }
}

static void all_dimensions_are_one_count(void** state) {
    int64_t cube[] = {2, 3, 4}, large[] = {3, (int64_t)1 << 40}, none[] = {5, 0, 7};
    (void)state;
    tensor inner = tensor_of(3, cube, NULL);
    expect_buffer(&inner, memory, 24);
    inner = tensor_of(1, cube, NULL);
    expect_buffer(&inner, memory, 2);
    inner = tensor_of(0, NULL, NULL);
    expect_buffer(&inner, memory, 1);
    inner = tensor_of(2, large, NULL);
    expect_buffer(&inner, memory, (int64_t)3 << 40);
    inner = tensor_of(3, none, NULL);
    expect_buffer(&inner, memory, 0);
}

static void shapes_that_cannot_be_are_refused(void** state) {
    int64_t negative[] = {2, -3, 0}, large[] = {(int64_t)1 << 31, (int64_t)1 << 30, 2};
    int64_t most[] = {INT64_MAX}, of_none[] = {INT64_MAX, INT64_MAX, 0};
    (void)state;
    tensor inner = tensor_of(3, negative, NULL);
    REFUSED(&inner, "managed_tensor.dl_tensor.shape[1] is -3");
    inner = tensor_of(-1, negative, NULL);
    REFUSED(&inner, "managed_tensor.dl_tensor.ndim is -1");
    inner = tensor_of(2, NULL, NULL);
    REFUSED(&inner, "shape is NULL but ndim is 2");
    inner = tensor_of(3, large, NULL); /* 2^62 elements of 4 bytes; of 1 byte they fit */
    REFUSED(&inner, "more elements than memory can hold");
    inner.data = NULL;
    inner.bits = 8, inner.code = INT;
    REFUSED(&inner, "data is NULL but the tensor has elements: 4611686018427387904");
    inner = tensor_of(1, most, NULL);
    REFUSED(&inner, "more elements than memory can hold");
    inner = tensor_of(3, of_none, NULL);
    expect_buffer(&inner, memory, 0);
}

static void contiguous_strides_are_taken(void** state) {
    int64_t shape[] = {2, 3, 4}, strides[] = {12, 4, 1};
    int64_t thin[] = {1, 6, 1, 4}, any[] = {-77, 4, 0, 1};
    int64_t none[] = {3, 0}, wild[] = {1, 99}, one[] = {1}, zero[] = {0};
    (void)state;
    tensor inner = tensor_of(3, shape, strides);
    expect_buffer(&inner, memory, 24);
    inner = tensor_of(4, thin, any); /* a dimension of extent 1 may have any */
    expect_buffer(&inner, memory, 24);
    inner = tensor_of(2, none, wild);
    expect_buffer(&inner, memory, 0);
    inner = tensor_of(1, one, zero);
    expect_buffer(&inner, memory, 1);
    inner = tensor_of(0, NULL, wild);
    expect_buffer(&inner, memory, 1);
}

static void other_strides_are_refused_by_dimension(void** state) {
    int64_t shape[] = {2, 3, 4};
    struct {
        int64_t strides[3];
        const char* text;
    } cases[] = {{{1, 2, 6}, "strides[2] is 6, but 1 in"},    /* column-major */
                 {{12, 1, 3}, "strides[2] is 3, but 1 in"},   /* two dimensions swapped */
                 {{15, 5, 1}, "strides[1] is 5, but 4 in"},   /* room behind the rows */
                 {{24, 4, 1}, "strides[0] is 24, but 12 in"}, /* every other matrix */
                 {{0, 4, 1}, "strides[0] is 0, but 12 in"},   /* one matrix twice */
                 {{12, -4, 1}, "strides[1] is -4, but 4 in"}, /* backwards */
                 {{12, 4, 2}, "managed_tensor.dl_tensor.strides[2] is 2, but 1 in"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const tensor inner = tensor_of(3, shape, cases[i].strides);
        REFUSED(&inner, cases[i].text);
    }
}

static void the_offset_is_in_bytes(void** state) {
    int64_t shape[] = {3}, none[] = {0};
    (void)state;
    tensor inner = tensor_of(1, shape, NULL);
    inner.byte_offset = 5 * sizeof *memory;
    expect_buffer(&inner, memory + 5, 3);
    inner.byte_offset = UINT64_MAX;
    REFUSED(&inner, "byte_offset is 18446744073709551615");
    inner.byte_offset = UINT64_MAX - (uintptr_t)memory - 8; /* its last element is outside */
    REFUSED(&inner, "byte_offset is ");
    inner.byte_offset = 8;
    inner.data = NULL;
    REFUSED(&inner, "data is NULL but the tensor has elements: 3");
    inner.shape = none; /* no elements, no memory */
    expect_buffer(&inner, NULL, 0);
}

static void devices_are_those_of_the_cpu_and_of_cuda(void** state) {
    const struct {
        int32_t type, id;
        tutti_device_type device_type;
        int32_t device_index;
    } cases[] = {{CPU, 0, TUTTI_CPU, 0},           {CPU, 3, TUTTI_CPU, 0},
                 {CUDA_HOST, 0, TUTTI_CPU, 0},     {CUDA_HOST, 1, TUTTI_CPU, 0},
                 {CUDA, 0, TUTTI_CUDA, 0},         {CUDA, 7, TUTTI_CUDA, 7},
                 {CUDA_MANAGED, 0, TUTTI_CUDA, 0}, {CUDA_MANAGED, 2, TUTTI_CUDA, 2}};
    int64_t shape[] = {3};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tensor inner = tensor_of(1, shape, NULL);
        inner.device_type = cases[i].type;
        inner.device_id = cases[i].id;
        tutti_buffer wanted = TUTTI_BUFFER_INIT(memory, 3, TUTTI_FLOAT32);
        wanted.device_type = cases[i].device_type;
        wanted.device_index = cases[i].device_index;
        const tutti_buffer buffer = imported(&inner);
        assert_memory_equal(&buffer, &wanted, sizeof wanted);
    }
}

static void other_devices_are_refused_by_name(void** state) {
    const char* const names[] = {
        NULL,         NULL,         NULL,          NULL,       "kDLOpenCL;",   NULL,         NULL,
        "kDLVulkan;", "kDLMetal;",  "kDLVPI;",     "kDLROCM;", "kDLROCMHost;", "kDLExtDev;", NULL,
        "kDLOneAPI;", "kDLWebGPU;", "kDLHexagon;", "kDLMAIA;", "kDLTrn;"};
    const int32_t unknown[] = {-1, 0, 5, 6, 19, INT32_MIN, INT32_MAX};
    int64_t shape[] = {3};
    tensor inner = tensor_of(1, shape, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (names[i] == NULL) continue;
        inner.device_type = (int32_t)i;
        UNSUPPORTED(&inner, names[i]);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
        char text[64];
        (void)snprintf(text, sizeof text, "device.device_type is %d;", (int)unknown[i]);
        inner.device_type = unknown[i];
        UNSUPPORTED(&inner, text);
    }
    inner.device_type = CUDA;
    inner.device_id = -1;
    REFUSED(&inner, "managed_tensor.dl_tensor.device.device_id is -1");
}

static void null_arguments_are_refused(void** state) {
    int64_t shape[] = {3};
    const tensor inner = tensor_of(1, shape, NULL);
    const managed given = managed_of(&inner);
    const versioned given_too = versioned_of(&inner, 0);
    tutti_buffer buffer;
    int32_t read_only = 7;
    (void)state;
    EXPECT_ERROR(tutti_buffer_from_dlpack(NULL, &buffer, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "managed_tensor is NULL");
    EXPECT_ERROR(tutti_buffer_from_dlpack(&given, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_buffer is NULL");
    EXPECT_ERROR(tutti_buffer_from_dlpack_versioned(NULL, &buffer, &read_only, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "managed_tensor is NULL");
    EXPECT_ERROR(tutti_buffer_from_dlpack_versioned(&given_too, NULL, &read_only, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "out_buffer is NULL");
    assert_int_equal(read_only, 7);
    assert_int_equal(tutti_buffer_from_dlpack(&given, &buffer, NULL), TUTTI_OK);
    assert_int_equal(tutti_buffer_from_dlpack(NULL, &buffer, NULL), TUTTI_ERR_INVALID_ARGUMENT);
}

/* Nothing behind the version is read of one that is unknown, nothing behind its tensor of a managed
 * one: address sanitizers see it. */
static void no_more_is_read_than_is_known(void** state) {
    int64_t shape[] = {3};
    const tensor inner = tensor_of(1, shape, NULL);
    const uint32_t other_versions[][2] = {{0, 8}, {2, 0}, {UINT32_MAX, 7}};
    const char* const texts[] = {"version is 0.8;", "version is 2.0;", "version is 4294967295.7;"};
    tutti_buffer buffer;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        void* version = malloc(sizeof *other_versions);
        assert_non_null(version);
        memcpy(version, other_versions[i], sizeof *other_versions);
        EXPECT_ERROR(tutti_buffer_from_dlpack_versioned(version, &buffer, NULL, &error),
                     TUTTI_ERR_UNSUPPORTED, texts[i]);
        free(version);
    }
    void* plain = malloc(sizeof inner);
    assert_non_null(plain);
    memcpy(plain, &inner, sizeof inner);
    EXPECT_OK(tutti_buffer_from_dlpack(plain, &buffer, &error));
    free(plain);
    assert_ptr_equal(buffer.data, memory);
    assert_int_equal(buffer.count, 3);
}

static void minor_versions_and_other_flags_do_not_matter(void** state) {
    int64_t shape[] = {3};
    const tensor inner = tensor_of(1, shape, NULL);
    versioned given = versioned_of(&inner, ~(uint64_t)READ_ONLY);
    tutti_buffer buffer;
    int32_t read_only = 7;
    (void)state;
    given.minor = UINT32_MAX;
    EXPECT_OK(tutti_buffer_from_dlpack_versioned(&given, &buffer, &read_only, &error));
    assert_int_equal(buffer.count, 3);
    assert_int_equal(read_only, 0);
}

static void read_only_tensors_are_told(void** state) {
    int64_t shape[] = {3};
    const tensor inner = tensor_of(1, shape, NULL);
    const versioned given = versioned_of(&inner, READ_ONLY | IS_COPIED);
    tutti_buffer buffer = TUTTI_BUFFER_INIT(NULL, 0, TUTTI_INT8);
    int32_t read_only = 7;
    (void)state;
    EXPECT_ERROR(tutti_buffer_from_dlpack_versioned(&given, &buffer, NULL, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "managed_tensor is read-only");
    assert_null(buffer.data);
    EXPECT_OK(tutti_buffer_from_dlpack_versioned(&given, &buffer, &read_only, &error));
    assert_ptr_equal(buffer.data, memory);
    assert_int_equal(read_only, 1);
}

/* Part of a larger tensor is summed; what is around it stays. */
static void sum_tensors(rank_context* me) {
    float mine[2][3], sums[10];
    int64_t shape[] = {2, 3}, strides[] = {3, 1};
    tensor given = {mine, CPU, 0, 2, FLOAT, 32, 1, shape, NULL, 0};
    tensor taken = {sums, CPU, 0, 2, FLOAT, 32, 1, shape, strides, 2 * sizeof *sums};
    const versioned read = versioned_of(&given, READ_ONLY);
    const managed written = managed_of(&taken);
    tutti_buffer input, output;
    int32_t read_only = 0;
    for (int i = 0; i < 6; ++i) mine[i / 3][i % 3] = (float)(i + me->rank);
    for (int i = 0; i < 10; ++i) sums[i] = -1;
    RANK_OK(me, tutti_buffer_from_dlpack_versioned(&read, &input, &read_only, &me->error));
    RANK_OK(me, tutti_buffer_from_dlpack(&written, &output, &me->error));
    RANK_EXPECT(me, read_only == 1);
    RANK_OK(me, tutti_all_reduce(me->group, &input, &output, TUTTI_SUM, NULL, NULL, &me->error));
    for (int i = 0; i < 6; ++i) {
        RANK_EXPECT(me, mine[i / 3][i % 3] == (float)(i + me->rank));
        RANK_EXPECT(me, sums[i + 2] == (float)(3 * i + 0 + 1 + 2));
    }
    RANK_EXPECT(me, sums[0] == -1 && sums[1] == -1 && sums[8] == -1 && sums[9] == -1);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &output, TUTTI_MAX, NULL, NULL, &me->error));
    for (int i = 0; i < 6; ++i) RANK_EXPECT(me, sums[i + 2] == (float)(3 * i + 3));
}
RANK_TEST(sum_tensors, 3)

static void no_deleter_was_called(void** state) {
    (void)state;
    assert_int_equal(deletions, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_dtype_is_imported),
        TEST(other_dtypes_are_refused_by_name),
        TEST(all_dimensions_are_one_count),
        TEST(shapes_that_cannot_be_are_refused),
        TEST(contiguous_strides_are_taken),
        TEST(other_strides_are_refused_by_dimension),
        TEST(the_offset_is_in_bytes),
        TEST(devices_are_those_of_the_cpu_and_of_cuda),
        TEST(other_devices_are_refused_by_name),
        TEST(null_arguments_are_refused),
        TEST(no_more_is_read_than_is_known),
        TEST(minor_versions_and_other_flags_do_not_matter),
        TEST(read_only_tensors_are_told),
        TEST(sum_tensors_on_ranks),
        TEST(no_deleter_was_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
