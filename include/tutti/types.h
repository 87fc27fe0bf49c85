/* tutti/types.h: the values that every call shares: status codes, dtypes, reduce ops, buffers.
 * C99. Nothing here calls into the library, so the engine includes it too. */
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

/** What a call returned. TUTTI_OK is 0; every other value, known to the caller or not, is a
 *  failure. Each code says what the caller can do next; torch's exception of the same meaning
 *  stands beside it. */
typedef int32_t tutti_status;
enum {
    TUTTI_OK = 0,
    TUTTI_ERR_INVALID_ARGUMENT = 1, /**< fix the argument that is named (ValueError, TypeError) */
    TUTTI_ERR_INVALID_HANDLE = 2,   /**< NULL, released, or of another kind (ValueError) */
    TUTTI_ERR_UNSUPPORTED = 3,      /**< not in this backend or build (NotImplementedError) */
    TUTTI_ERR_TIMEOUT = 4,          /**< the deadline passed (DistStoreError, DistBackendError) */
    TUTTI_ERR_ABORTED = 5,          /**< the group was aborted or destroyed (DistBackendError) */
    TUTTI_ERR_PEER_LOST = 6,        /**< a rank died, left or stopped: `rank` (DistBackendError) */
    TUTTI_ERR_MISMATCH = 7,         /**< ranks called different things, both shown (DistError) */
    TUTTI_ERR_BACKEND = 8,          /**< the backend failed, the group is lost (DistBackendError) */
    TUTTI_ERR_NETWORK = 9,          /**< connecting, listening, resolving (DistNetworkError) */
    TUTTI_ERR_STORE = 10,           /**< the store refused or was lost (DistStoreError) */
    TUTTI_ERR_QUEUE_EMPTY = 11,     /**< nothing to pop; retry later (DistQueueEmptyError) */
    TUTTI_ERR_OUT_OF_MEMORY = 12,   /**< memory or descriptors ran out (MemoryError) */
    TUTTI_ERR_INTERNAL = 13         /**< a fault of tutti itself; please report it (DistError) */
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

/** Reduce operators, with torch's numbers. */
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

/** Where a buffer's memory is. */
typedef int32_t tutti_device_type;
enum { TUTTI_CPU = 0 };

/** `timeout_ms` of a call or wait that may take for ever. 0 is always the default named in the
 *  comment. */
#define TUTTI_NO_TIMEOUT ((int64_t)-1)

/** Typed memory of the caller: `count` elements of `dtype` at `data`. 64 bytes, passed by
 *  pointer, read during the call; the memory at `data` is borrowed until the operation is done.
 *  `data` may be NULL if `count` is 0. */
typedef struct tutti_buffer {
    void* data;
    int64_t count; /**< elements, 0 or more; above 2^31 works everywhere */
    tutti_dtype dtype;
    tutti_device_type device_type;
    int32_t device_index; /**< 0 for the CPU */
    int32_t reserved_0;   /**< must be 0 */
    uint64_t reserved[4]; /**< must be 0 */
} tutti_buffer;

#define TUTTI_BUFFER_INIT(data, count, dtype)        \
    {                                                \
        (data), (count), (dtype), TUTTI_CPU, 0, 0, { \
            0, 0, 0, 0                               \
        }                                            \
    }

/** What a value of an object is (tutti/object.h). */
typedef uint32_t tutti_object_kind;
enum {
    TUTTI_OBJECT_NIL = 0,
    TUTTI_OBJECT_BOOL = 1,
    TUTTI_OBJECT_INT64 = 2,  /**< every integer up to 2^63 - 1, however it was added */
    TUTTI_OBJECT_UINT64 = 3, /**< integers from 2^63 on */
    TUTTI_OBJECT_FLOAT64 = 4,
    TUTTI_OBJECT_STRING = 5, /**< UTF-8 */
    TUTTI_OBJECT_BYTES = 6,
    TUTTI_OBJECT_LIST = 7,
    TUTTI_OBJECT_MAP = 8,       /**< keeps the order of its keys; comparing ignores it */
    TUTTI_OBJECT_TIMESTAMP = 9, /**< seconds since 1970-01-01 00:00 UTC, and nanoseconds */
    TUTTI_OBJECT_ARRAY = 10     /**< elements of one dtype, row after row, in a shape */
};

/** One value of an object, for those who build or read many with one call. 64 bytes. Fields that
 *  its kind does not name are 0. */
typedef struct tutti_object_item {
    tutti_object_kind kind;
    tutti_dtype dtype;    /**< array */
    int64_t integer;      /**< bool: 0, 1; int64; uint64: its 64 bits; timestamp: seconds */
    double real;          /**< float64 */
    const void* data;     /**< string, bytes, array; a string that is read ends with a NUL */
    int64_t size;         /**< string, bytes: bytes; list: values; map: pairs; array: elements */
    const int64_t* shape; /**< array: `dimensions` extents */
    int32_t dimensions;   /**< array: from 0 (one element) to 64 */
    int32_t nanoseconds;  /**< timestamp: from 0 to 999,999,999 */
    int64_t end;          /**< reading: the node behind this one and all it contains; else 0 */
} tutti_object_item;

/** Handles. Their values are slots with a generation, not addresses: NULL, a released handle or
 *  one of another kind gives TUTTI_ERR_INVALID_HANDLE. An owned handle came through an `out_...`
 *  parameter (or `work`) and ends in one release. After fork, tutti goes on in the parent; in the
 *  child every call that can fail gives TUTTI_ERR_UNSUPPORTED, what tutti has open is closed, and
 *  nothing is released. tutti_spawn makes processes that can use it. */
typedef struct tutti_store tutti_store;
typedef struct tutti_group tutti_group;
typedef struct tutti_work tutti_work;
typedef struct tutti_bytes tutti_bytes;
typedef struct tutti_object tutti_object;
typedef struct tutti_mesh tutti_mesh;

#ifdef __cplusplus
}
#endif

#endif
