/* Are the structs of dlpack_structs.h, with which dlpack_test shows what tutti reads, those of
 * DLPack's own header? Skipped where that is not installed (libdlpack-dev). */
#include "dlpack_structs.h"
#include "support/contract.h"

#ifdef __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define HAS_DLPACK
#endif
#endif

#ifdef HAS_DLPACK
#define SAME_PLACE(ours, field, theirs, their_field)                                    \
    do {                                                                                \
        assert_int_equal(offsetof(ours, field), offsetof(theirs, their_field));         \
        assert_int_equal(sizeof(((ours*)0)->field), sizeof(((theirs*)0)->their_field)); \
    } while (0)

static void tensors_are_the_same(void** state) {
    (void)state;
    assert_int_equal(sizeof(tensor), sizeof(DLTensor));
    SAME_PLACE(tensor, data, DLTensor, data);
    SAME_PLACE(tensor, device_type, DLTensor, device.device_type);
    SAME_PLACE(tensor, device_id, DLTensor, device.device_id);
    SAME_PLACE(tensor, ndim, DLTensor, ndim);
    SAME_PLACE(tensor, code, DLTensor, dtype.code);
    SAME_PLACE(tensor, bits, DLTensor, dtype.bits);
    SAME_PLACE(tensor, lanes, DLTensor, dtype.lanes);
    SAME_PLACE(tensor, shape, DLTensor, shape);
    SAME_PLACE(tensor, strides, DLTensor, strides);
    SAME_PLACE(tensor, byte_offset, DLTensor, byte_offset);
    assert_int_equal(sizeof(managed), sizeof(DLManagedTensor));
    SAME_PLACE(managed, inner, DLManagedTensor, dl_tensor);
    SAME_PLACE(managed, context, DLManagedTensor, manager_ctx);
    SAME_PLACE(managed, deleter, DLManagedTensor, deleter);
}

static void numbers_are_the_same(void** state) {
    (void)state;
    assert_int_equal(CPU, kDLCPU);
    assert_int_equal(CUDA, kDLCUDA);
    assert_int_equal(CUDA_HOST, kDLCUDAHost);
    assert_int_equal(CUDA_MANAGED, kDLCUDAManaged);
    assert_int_equal(INT, kDLInt);
    assert_int_equal(UINT, kDLUInt);
    assert_int_equal(FLOAT, kDLFloat);
    assert_int_equal(OPAQUE, kDLOpaqueHandle);
    assert_int_equal(BFLOAT, kDLBfloat);
    assert_int_equal(COMPLEX, kDLComplex);
}

static void versioned_tensors_are_the_same(void** state) {
    (void)state;
#ifdef DLPACK_FLAG_BITMASK_READ_ONLY
    assert_int_equal(BOOL, kDLBool);
    assert_int_equal(READ_ONLY, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_int_equal(sizeof(versioned), sizeof(struct DLManagedTensorVersioned));
    SAME_PLACE(versioned, major, struct DLManagedTensorVersioned, version.major);
    SAME_PLACE(versioned, minor, struct DLManagedTensorVersioned, version.minor);
    SAME_PLACE(versioned, context, struct DLManagedTensorVersioned, manager_ctx);
    SAME_PLACE(versioned, deleter, struct DLManagedTensorVersioned, deleter);
    SAME_PLACE(versioned, flags, struct DLManagedTensorVersioned, flags);
    SAME_PLACE(versioned, inner, struct DLManagedTensorVersioned, dl_tensor);
#else
    print_message("the header that is installed is older than DLPack 1\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(tensors_are_the_same),
        TEST(numbers_are_the_same),
        TEST(versioned_tensors_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void) {
    puts("skipped: there is no dlpack/dlpack.h here (libdlpack-dev)");
    return 77;
}
#endif
