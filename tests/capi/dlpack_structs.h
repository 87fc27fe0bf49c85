/* The structs and numbers of DLPack that its tests make, written from its specification and not
 * from capi/dlpack.cpp. dlpack_header_test compares them with DLPack's own header. C99 and C++. */
#ifndef TUTTI_TESTS_DLPACK_STRUCTS_H
#define TUTTI_TESTS_DLPACK_STRUCTS_H

#include <stdint.h>

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, ROCM = 10, CUDA_MANAGED = 13, ONE_API = 14 };
enum { INT = 0, UINT = 1, FLOAT = 2, OPAQUE = 3, BFLOAT = 4, COMPLEX = 5, BOOL = 6 };
enum { READ_ONLY = 1, IS_COPIED = 2 };

typedef struct tensor { /* DLTensor */
    void* data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
} tensor;

typedef struct managed { /* DLManagedTensor */
    tensor inner;
    void* context;
    void (*deleter)(struct managed* self);
} managed;

typedef struct versioned { /* DLManagedTensorVersioned */
    uint32_t major;
    uint32_t minor;
    void* context;
    void (*deleter)(struct versioned* self);
    uint64_t flags;
    tensor inner;
} versioned;

#endif
