/* tutti/object.h: typed values that all languages can read. They contain data, never code.
 *
 * An object is one value: nil, bool, integer, float64, string, bytes, list, map, timestamp or
 * n-dimensional array. You build it once, from front to back. It never changes afterwards, so any
 * number of threads may read it.
 *
 * Building: call tutti_object_create, then one tutti_object_add_... for a scalar; or
 * tutti_object_begin_list or tutti_object_begin_map, then add its values, then tutti_object_end. In
 * a map, keys and values alternate. A key is a string or an integer, and keys are unique. When the
 * outermost value is complete, the object is finished. If a call fails, the object is invalid, and
 * all later calls fail with the first reason. So it is enough to check the last call.
 *
 * Reading: values are numbered in the order in which they were added. The outermost value is node
 * 0. The first value inside node n is node n + 1. The `end` of its item is the node after n and all
 * its contents. In a map, keys and values alternate.
 *
 * tutti_object_kind and tutti_object_item are in tutti/types.h.
 *
 * Encoded, a value is MessagePack. Timestamps are its extension -1. Arrays are extension 84:
 *     1 byte   dtype, the number of the TUTTI_... constant
 *     1 byte   d, the number of dimensions, at most 64
 *     1 byte   p, bytes of padding after the shape, from 0 to 7
 *     1 byte   0
 *     d times  the extent of a dimension: 8 bytes, unsigned, little endian
 *     p times  0, so that the elements begin at a multiple of 8 bytes from the message's start
 *     the rest are the elements in row-major order (the last index varies fastest), little endian
 * A compressed message is one zstd frame around the MessagePack. It begins with 28 B5 2F FD, which
 * no complete MessagePack value does. */
#ifndef TUTTI_OBJECT_H
#define TUTTI_OBJECT_H

#include <tutti/bytes.h>
#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** `size` of a string that ends with a NUL. */
#define TUTTI_NUL_TERMINATED ((int64_t)-1)

/** For `flags`: the memory of bytes or of an array is not copied. The caller must not change it
 *  until the object is released and all works with it are done. */
#define TUTTI_OBJECT_BORROW ((uint32_t)1)

/** How values are encoded and decoded; zero is every field's default. Where a field is 0, the named
 *  environment variable counts. The limits are checked before memory is allocated. */
typedef struct tutti_object_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t flags;       /**< TUTTI_OBJECT_BORROW: bytes and arrays of a decoded value may point
                               into the message */
    int64_t max_bytes;    /**< size of a message; TUTTI_OBJECT_MAX_BYTES; else 4 GiB */
    int64_t max_decompressed_bytes; /**< TUTTI_OBJECT_MAX_DECOMPRESSED_BYTES; else 1 GiB; larger
                                         values are sent uncompressed */
    int64_t max_values;             /**< nodes, 16 bytes each; TUTTI_OBJECT_MAX_VALUES; else 2^26;
                                       2^32 - 1 at most */
    int32_t max_depth;              /**< nested lists and maps; TUTTI_OBJECT_MAX_DEPTH; else 512 */
    int32_t compression_level;      /**< level of zstd, -7 to 19; TUTTI_OBJECT_COMPRESSION_LEVEL
                                         (there 0 is off); else 1. By default, between ranks of one
                                         host only a quarter of a value of 4 MiB or more is
                                         compressed, and nothing over shm */
    int64_t compression_threshold;  /**< smaller values are not compressed, in bytes;
                                         TUTTI_OBJECT_COMPRESSION_THRESHOLD; else 4096 */
    uint32_t compress;              /**< TUTTI_OBJECT_COMPRESS_... */
    uint32_t reserved;              /**< must be 0 */
} tutti_object_options;

/** Options with every field at its default. */
#define TUTTI_OBJECT_OPTIONS_INIT \
    { sizeof(tutti_object_options), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Values of `compress`. */
enum {
    TUTTI_OBJECT_COMPRESS_DEFAULT = 0, /**< tutti_object_encode: never; between ranks: if it pays
                                            off */
    TUTTI_OBJECT_COMPRESS_NEVER = 1,
    TUTTI_OBJECT_COMPRESS_IF_IT_PAYS = 2 /**< at and above the threshold, if a sample shrinks */
};

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. An older
 *                  caller's is smaller than this library's, a newer one's larger. If it is below
 *                  8 or above 256, only struct_size is written, as 0, and calls refuse the
 *                  options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_object_options_init(tutti_object_options* options, size_t size);

/** Makes an empty object, which needs a value.
 *  @param out_object  receives an owned object
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_create(tutti_object** out_object, tutti_error* error);

/** Adds nil.
 *  @param object  borrowed, not finished
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (the object is finished or invalid, or a key is expected),
 *           INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_nil(tutti_object* object, tutti_error* error);

/** Adds a bool.
 *  @param object  borrowed, not finished
 *  @param value   0 or 1
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_bool(tutti_object* object, int32_t value,
                                             tutti_error* error);

/** Adds an integer, or an integer key.
 *  @param object  borrowed, not finished
 *  @param value   any
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_int64(tutti_object* object, int64_t value,
                                              tutti_error* error);

/** Adds an unsigned integer, or an integer key.
 *  @param object  borrowed, not finished
 *  @param value   any
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_uint64(tutti_object* object, uint64_t value,
                                               tutti_error* error);

/** Adds a floating-point number; all 64 bits are kept, also of a NaN.
 *  @param object  borrowed, not finished
 *  @param value   any
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_float64(tutti_object* object, double value,
                                                tutti_error* error);

/** Adds a string, or a string key.
 *  @param object  borrowed, not finished
 *  @param text    UTF-8, copied; may contain NUL; NULL if `size` is 0
 *  @param size    bytes, or TUTTI_NUL_TERMINATED
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: not UTF-8, with the offset), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_string(tutti_object* object, const char* text, int64_t size,
                                               tutti_error* error);

/** Adds a string key, as tutti_object_add_string, in a place where a key is expected.
 *  @param object  borrowed, not finished
 *  @param key     UTF-8, NUL-terminated, copied
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (no key is expected here, or it is not UTF-8), INVALID_HANDLE,
 *           OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_key(tutti_object* object, const char* key,
                                            tutti_error* error);

/** Adds bytes.
 *  @param object  borrowed, not finished
 *  @param data    `size` bytes; NULL if `size` is 0
 *  @param size    bytes of `data`
 *  @param flags   0: `data` is copied; or TUTTI_OBJECT_BORROW
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_bytes(tutti_object* object, const void* data, size_t size,
                                              uint32_t flags, tutti_error* error);

/** Adds a timestamp.
 *  @param object       borrowed, not finished
 *  @param seconds      since 1970-01-01 00:00 UTC, leap seconds not counted; may be negative
 *  @param nanoseconds  after it, from 0 to 999,999,999
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_timestamp(tutti_object* object, int64_t seconds,
                                                  int32_t nanoseconds, tutti_error* error);

/** Adds an n-dimensional array.
 *  @param object      borrowed, not finished
 *  @param data        the elements in row-major order (the last index varies fastest); NULL if
 *                     there are none
 *  @param dtype       their type
 *  @param shape       `dimensions` extents, 0 or more each, copied; NULL if there are none
 *  @param dimensions  from 0 (one element) to 64
 *  @param flags       0: `data` is copied; or TUTTI_OBJECT_BORROW
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_array(tutti_object* object, const void* data,
                                              tutti_dtype dtype, const int64_t* shape,
                                              int32_t dimensions, uint32_t flags,
                                              tutti_error* error);

/** Begins a list. Values added until tutti_object_end are in it.
 *  @param object  borrowed, not finished
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_begin_list(tutti_object* object, tutti_error* error);

/** Begins a map. Keys and values alternate until tutti_object_end.
 *  @param object  borrowed, not finished
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: a key is expected), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_begin_map(tutti_object* object, tutti_error* error);

/** Ends the innermost open list or map.
 *  @param object  borrowed, not finished
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (nothing is open; the last key has no value; a key came twice),
 *           INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_end(tutti_object* object, tutti_error* error);

/** Adds many numbers to the open list: integers, float64 or bools.
 *  @param object  borrowed, not finished
 *  @param data    `count` elements, copied
 *  @param count   0 or more
 *  @param dtype   any but complex; all floating-point numbers become float64
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (also: no list is open), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_elements(tutti_object* object, const void* data,
                                                 int64_t count, tutti_dtype dtype,
                                                 tutti_error* error);

/** Adds many values of any kind in one call, in the order of tutti_object_read. A list or map needs
 *  no tutti_object_end: its item is followed by `size` values or pairs, possibly over several
 *  calls.
 *  @param object  borrowed, not finished
 *  @param items   `count` items; they and the data that they point to are copied; their `end` is
 *                 ignored
 *  @param count   0 or more
 *  @param flags   0: bytes and arrays are copied; or TUTTI_OBJECT_BORROW
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT (names the item), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_items(tutti_object* object, const tutti_object_item* items,
                                              int64_t count, uint32_t flags, tutti_error* error);

/** Adds a copy of a value of another object.
 *  @param object  borrowed, not finished
 *  @param from    borrowed, finished
 *  @param node    the node of a value; 0: the whole object
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, one at a time while an object is built
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_add_object(tutti_object* object, tutti_object* from,
                                               int64_t node, tutti_error* error);

/** Reads many values in one call, in the order of their nodes.
 *  @param object     borrowed, finished
 *  @param first      node of the first one
 *  @param out_items  receives items; the data that they point to is valid until the object is
 *                    released
 *  @param capacity   room in `out_items`
 *  @param out_count  receives their number; 0 if `first` is the node after the last one
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: there is no such node), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_read(tutti_object* object, int64_t first,
                                         tutti_object_item* out_items, int64_t capacity,
                                         int64_t* out_count, tutti_error* error);

/** Finds a value of a map by a string key, in constant time.
 *  @param object    borrowed, finished
 *  @param node      a map
 *  @param key       UTF-8, NUL-terminated
 *  @param out_node  receives the value's node, or -1 if there is no such key
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_find(tutti_object* object, int64_t node, const char* key,
                                         int64_t* out_node, tutti_error* error);

/** Finds a value of a map by any key.
 *  @param object    borrowed, finished
 *  @param node      a map
 *  @param key       a string or an integer
 *  @param out_node  receives the value's node, or -1 if there is no such key
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_find_item(tutti_object* object, int64_t node,
                                              const tutti_object_item* key, int64_t* out_node,
                                              tutti_error* error);

/** Finds a value of a list by its index, in constant time.
 *  @param object    borrowed, finished
 *  @param node      a list
 *  @param index     from 0 to its size - 1
 *  @param out_node  receives the value's node
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_at(tutti_object* object, int64_t node, int64_t index,
                                       int64_t* out_node, tutti_error* error);

/** Reads a bool.
 *  @param object     borrowed, finished
 *  @param node       a bool
 *  @param out_value  receives 0 or 1
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_bool(tutti_object* object, int64_t node, int32_t* out_value,
                                             tutti_error* error);

/** Reads an integer.
 *  @param object     borrowed, finished
 *  @param node       an integer of at most 2^63 - 1
 *  @param out_value  receives it
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind, or greater), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_int64(tutti_object* object, int64_t node,
                                              int64_t* out_value, tutti_error* error);

/** Reads an unsigned integer.
 *  @param object     borrowed, finished
 *  @param node       an integer of at least 0
 *  @param out_value  receives it
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind, or negative), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_uint64(tutti_object* object, int64_t node,
                                               uint64_t* out_value, tutti_error* error);

/** Reads a number as floating point.
 *  @param object     borrowed, finished
 *  @param node       a float64, or an integer that a float64 holds exactly
 *  @param out_value  receives it
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_float64(tutti_object* object, int64_t node,
                                                double* out_value, tutti_error* error);

/** Reads a string in place.
 *  @param object    borrowed, finished
 *  @param node      a string
 *  @param out_text  receives its first byte; a NUL follows the last one; valid until the object
 *                   is released
 *  @param out_size  NULL, or receives its bytes without that NUL
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_string(tutti_object* object, int64_t node,
                                               const char** out_text, int64_t* out_size,
                                               tutti_error* error);

/** Reads bytes in place.
 *  @param object    borrowed, finished
 *  @param node      bytes
 *  @param out_data  receives their address, valid until the object is released
 *  @param out_size  receives their number
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_bytes(tutti_object* object, int64_t node,
                                              const void** out_data, size_t* out_size,
                                              tutti_error* error);

/** Reads a timestamp.
 *  @param object           borrowed, finished
 *  @param node             a timestamp
 *  @param out_seconds      receives the seconds since 1970-01-01 00:00 UTC
 *  @param out_nanoseconds  receives the nanoseconds after it
 *  @param error            NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_timestamp(tutti_object* object, int64_t node,
                                                  int64_t* out_seconds, int32_t* out_nanoseconds,
                                                  tutti_error* error);

/** Reads an array in place.
 *  @param object          borrowed, finished
 *  @param node            an array
 *  @param out_data        receives where its elements are, aligned for their type unless they are
 *                         borrowed from memory that is not; valid until the object is released
 *  @param out_dtype       receives their type
 *  @param out_shape       receives where its extents are, valid as long
 *  @param out_dimensions  receives their number
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: it is of another kind), INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_array(tutti_object* object, int64_t node,
                                              const void** out_data, tutti_dtype* out_dtype,
                                              const int64_t** out_shape, int32_t* out_dimensions,
                                              tutti_error* error);

/** Reads many numbers of a list with one call.
 *  @param object    borrowed, finished
 *  @param node      a list
 *  @param out_data  receives `count` elements
 *  @param count     how many
 *  @param dtype     the type of the elements: any but complex. Numbers are rounded to float16,
 *                   bfloat16 and float32; other conversions must be exact
 *  @param first     index of the first one in the list
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: a value has another kind or does not fit; names its index),
 *           INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_get_elements(tutti_object* object, int64_t node, void* out_data,
                                                 int64_t count, tutti_dtype dtype, int64_t first,
                                                 tutti_error* error);

/** Whether two values are the same: integers by value, floating-point numbers by their bits (a NaN
 *  is itself, -0.0 is not 0.0), maps in any order of their keys. An integer never equals a
 *  floating-point number.
 *  @param a          borrowed, finished
 *  @param node_a     the node of a value; 0: the whole object
 *  @param b          borrowed, finished
 *  @param node_b     the node of a value; 0: the whole object
 *  @param out_equal  receives 1 or 0
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_equal(tutti_object* a, int64_t node_a, tutti_object* b,
                                          int64_t node_b, int32_t* out_equal, tutti_error* error);

/** Copies a value, including borrowed memory.
 *  @param object    borrowed, finished
 *  @param node      the node of a value; 0: the whole object
 *  @param out_copy  receives an owned object, finished
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_copy(tutti_object* object, int64_t node,
                                         tutti_object** out_copy, tutti_error* error);

/** Writes a value as JSON text. Values that JSON lacks become strings (NaN, Infinity, timestamps in
 *  ISO 8601, bytes in base64, integer keys). An array becomes a map of dtype, shape and data.
 *  @param object    borrowed, finished
 *  @param node      the node of a value; 0: the whole object
 *  @param indent    0: one line; else spaces for each level, at most 8
 *  @param limit     0: all of it; else about how many bytes, from which on "..." stands for the
 *                   rest of each list, map, string, bytes and array
 *  @param out_json  receives owned bytes: UTF-8
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_to_json(tutti_object* object, int64_t node, int32_t indent,
                                            int64_t limit, tutti_bytes** out_json,
                                            tutti_error* error);

/** Writes a value as MessagePack.
 *  @param object     borrowed, finished
 *  @param options    NULL: defaults; not compressed then
 *  @param out_bytes  receives owned bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: beyond a limit; a list, string or array that is too large for
 *           MessagePack, 2^32 - 1 values or bytes), INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_encode(tutti_object* object,
                                           const tutti_object_options* options,
                                           tutti_bytes** out_bytes, tutti_error* error);

/** Reads a value from MessagePack, compressed or not. Any bytes are safe to read. Malformed bytes
 *  are an error, with the offset.
 *  @param data        `size` bytes, all of them one value; copied, unless the flags in `options`
 *                     say TUTTI_OBJECT_BORROW and the message is not compressed
 *  @param size        bytes of `data`
 *  @param options     NULL: defaults
 *  @param out_object  receives an owned object, finished
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: malformed, or beyond a limit), OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_object_decode(const void* data, size_t size,
                                           const tutti_object_options* options,
                                           tutti_object** out_object, tutti_error* error);

/** Releases the object.
 *  @param object  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_object_release(tutti_object* object);

#ifdef __cplusplus
}
#endif

#endif
