/* tutti/types.h: types that all headers share: status codes, dtypes, reduce ops, buffers. */
#ifndef TUTTI_TYPES_H
#define TUTTI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. TUTTI_OK is 0. Every other value, known to the caller or not, is a
 *  failure. Each code says what the caller can do next, with torch's exception of the same
 *  meaning. */
typedef int32_t tutti_status;
enum {
    TUTTI_OK = 0,
    TUTTI_ERR_INVALID_ARGUMENT = 1, /**< fix the argument that is named (ValueError, TypeError) */
    TUTTI_ERR_INVALID_HANDLE = 2,   /**< NULL, released, or of another kind (ValueError) */
    TUTTI_ERR_UNSUPPORTED = 3,      /**< not in this backend or build (NotImplementedError) */
    TUTTI_ERR_TIMEOUT = 4,        /**< the operation timed out (DistStoreError, DistBackendError) */
    TUTTI_ERR_ABORTED = 5,        /**< the group was aborted or destroyed, or a wait interrupted */
    TUTTI_ERR_PEER_LOST = 6,      /**< a rank died, left or stopped: `rank` (DistBackendError) */
    TUTTI_ERR_MISMATCH = 7,       /**< ranks made different calls, both shown (DistError) */
    TUTTI_ERR_BACKEND = 8,        /**< the backend failed, the group is lost (DistBackendError) */
    TUTTI_ERR_NETWORK = 9,        /**< a connection or an address failed (DistNetworkError) */
    TUTTI_ERR_STORE = 10,         /**< the store refused or was lost (DistStoreError) */
    TUTTI_ERR_QUEUE_EMPTY = 11,   /**< nothing to pop; retry later (QueueEmptyError) */
    TUTTI_ERR_OUT_OF_MEMORY = 12, /**< memory or descriptors ran out (MemoryError) */
    TUTTI_ERR_INTERNAL = 13,      /**< a bug in tutti; please report it (DistError) */
    TUTTI_ERR_PENDING = 14        /**< a wait expired; the operation continues, wait again */
};

/** Element types. */
typedef uint32_t tutti_dtype;
enum {
    TUTTI_INT8 = 0,
    TUTTI_UINT8 = 1,
    TUTTI_INT16 = 2,
    TUTTI_UINT16 = 3,
    TUTTI_INT32 = 4,
    TUTTI_UINT32 = 5,
    TUTTI_INT64 = 6,
    TUTTI_UINT64 = 7,
    TUTTI_FLOAT16 = 8,
    TUTTI_BFLOAT16 = 9,
    TUTTI_FLOAT32 = 10,
    TUTTI_FLOAT64 = 11,
    TUTTI_COMPLEX64 = 12,  /**< two float32: real, imaginary */
    TUTTI_COMPLEX128 = 13, /**< two float64: real, imaginary */
    TUTTI_BOOL = 14        /**< one byte; every value but 0 is true, results are 0 or 1 */
};

/** Reduce operators, with torch's numbers. SUM, AVG and PREMUL_SUM of float16 and bfloat16 are
 * accumulated in float32 and rounded once per element; AVG divides before that, so it overflows
 * only where the mean does. Other floating-point sums are rounded at each addition, in an order
 * that depends on backend, size and number of ranks, but every rank gets the same bits. Backend
 * "nccl" rounds all sums, and averages, as NCCL does. Groups with `reproducible` sum exactly
 * instead. */
typedef uint32_t tutti_reduce_op;
enum {
    TUTTI_SUM = 0, /**< bool: logical or */
    TUTTI_AVG = 1, /**< floating point and complex: the sum, divided once by the number of ranks */
    TUTTI_PRODUCT = 2,   /**< not complex; bool: logical and */
    TUTTI_MIN = 3,       /**< not complex; a NaN wins */
    TUTTI_MAX = 4,       /**< not complex; a NaN wins */
    TUTTI_BAND = 5,      /**< integers and bool */
    TUTTI_BOR = 6,       /**< integers and bool */
    TUTTI_BXOR = 7,      /**< integers and bool */
    TUTTI_PREMUL_SUM = 8 /**< each input times a factor of its rank, then the sum; not bool. The
                            number alone is refused: tutti_reduce_op_create_premul_sum makes an op
                            with its factor */
};

/** Where a buffer's memory is, with torch's numbers. */
typedef int32_t tutti_device_type;
enum {
    TUTTI_CPU = 0,
    TUTTI_CUDA = 1, /**< NVIDIA GPUs; they need the module libtutti-cuda.so and NVIDIA's driver */
    TUTTI_XPU = 12  /**< Intel GPUs; no backend serves them yet */
};

/** `timeout_ms` of a call or wait: its documented default. */
#define TUTTI_DEFAULT_TIMEOUT ((int64_t)0)
/** `timeout_ms` of a call or wait: no limit. */
#define TUTTI_NO_TIMEOUT ((int64_t)-1)

/** Releases the `user` of a caller's function. Called once, when the library can no longer call
 *  that function. It runs on any thread, possibly inside the call that ends the last use. It must
 *  not throw, longjmp, end its thread or wait for tutti. NULL: nothing to release. If the call that
 *  took it fails, it is not called, and the caller still owns `user`.
 *  @param user  the `user` of that function */
typedef void (*tutti_release_function)(void* user);

/** Typed memory of the caller: `count` elements of `dtype` at `data`. 64 bytes, passed by pointer
 *  and read during the call; the memory at `data` is borrowed until the operation is done. The
 *  library only reads the memory of an input, and writes the memory of an output. `data` may be
 *  NULL if `count` is 0. All buffers of a call are on one device, and all ranks call with the same
 *  type of device; the two ranks of a message may differ in it. */
typedef struct tutti_buffer {
    void* data;                    /**< the first element */
    int64_t count;                 /**< elements, 0 or more; more than 2^31 is allowed */
    tutti_dtype dtype;             /**< of the elements */
    tutti_device_type device_type; /**< where `data` is */
    int32_t device_index;          /**< 0 for the CPU; else as the device's driver counts them */
    int32_t reserved_0;            /**< must be 0 */
    uint64_t reserved[4];          /**< must be 0 */
} tutti_buffer;

/** A buffer in memory of the CPU. `data` may point to const elements, for an input; `count` may be
 *  of any integer type. */
#define TUTTI_BUFFER_INIT(data, count, dtype)                                                \
    {                                                                                        \
        (void*)(data), (int64_t)(count), (tutti_dtype)(dtype), (tutti_device_type)TUTTI_CPU, \
            (int32_t)0, (int32_t)0, {                                                        \
            0, 0, 0, 0                                                                       \
        }                                                                                    \
    }

/** The kind of a value of an object (tutti/object.h). */
typedef uint32_t tutti_object_kind;
enum {
    TUTTI_OBJECT_NIL = 0,
    TUTTI_OBJECT_BOOL = 1,
    TUTTI_OBJECT_INT64 = 2,  /**< every integer up to 2^63 - 1 */
    TUTTI_OBJECT_UINT64 = 3, /**< integers from 2^63 on */
    TUTTI_OBJECT_FLOAT64 = 4,
    TUTTI_OBJECT_STRING = 5, /**< UTF-8 */
    TUTTI_OBJECT_BYTES = 6,
    TUTTI_OBJECT_LIST = 7,
    TUTTI_OBJECT_MAP = 8,       /**< keeps the order of its keys; comparisons ignore it */
    TUTTI_OBJECT_TIMESTAMP = 9, /**< seconds since 1970-01-01 00:00 UTC, and nanoseconds */
    TUTTI_OBJECT_ARRAY = 10     /**< elements of one dtype in row-major order, with a shape */
};

/** One value of an object, to build or read many values in one call. 64 bytes. Fields that its kind
 *  does not use are 0. */
typedef struct tutti_object_item {
    tutti_object_kind kind; /**< which of the following fields are used */
    tutti_dtype dtype;      /**< array */
    int64_t integer;        /**< bool: 0, 1; int64; uint64: its 64 bits; timestamp: seconds */
    double real;            /**< float64 */
    const void* data;       /**< string, bytes, array; a string that is read ends with a NUL */
    int64_t size;           /**< string, bytes: bytes; list: values; map: pairs; array: elements */
    const int64_t* shape;   /**< array: `dimensions` extents */
    int32_t dimensions;     /**< array: from 0 (one element) to 64 */
    int32_t nanoseconds;    /**< timestamp: from 0 to 999,999,999 */
    int64_t end;            /**< when read: the node after this one and all it contains; else 0 */
} tutti_object_item;

/** Handles. Their values are not addresses: NULL, a released handle or one of another kind gives
 *  TUTTI_ERR_INVALID_HANDLE. An owned handle comes from an `out_...` parameter (or `work`). Release
 *  it once. After fork, tutti continues in the parent. In the child, tutti's descriptors are
 *  closed, every call that can fail gives TUTTI_ERR_UNSUPPORTED, and releases do nothing.
 *  tutti_spawn starts processes that can use tutti. */
typedef struct tutti_store tutti_store;     /**< a key-value store (tutti/store.h) */
typedef struct tutti_group tutti_group;     /**< a process group (tutti/group.h) */
typedef struct tutti_work tutti_work;       /**< an asynchronous operation (tutti/work.h) */
typedef struct tutti_bytes tutti_bytes;     /**< bytes from the library (tutti/bytes.h) */
typedef struct tutti_object tutti_object;   /**< a typed value (tutti/object.h) */
typedef struct tutti_mesh tutti_mesh;       /**< a device mesh (tutti/mesh.h) */
typedef struct tutti_reducer tutti_reducer; /**< gradient buckets (tutti/reducer.h) */

#ifdef __cplusplus
}
#endif

#endif
