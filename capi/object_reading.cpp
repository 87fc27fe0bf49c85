// tutti/object.h, how objects are read. Any thread.
#include <algorithm>

#include "arguments.hpp"
#include "guard.hpp"
#include "object.hpp"
#include "object/elements.hpp"
#include "object/equal.hpp"
#include "object/exact.hpp"
#include "tutti/object.h"

namespace capi = tutti::capi;

namespace {

using capi::ObjectPin;
using tutti::Node;

// Runs `get(object, node)` for a node of this kind; it writes the outputs.
template <typename Get>
tutti_status read(const char* function, tutti_object* object, int64_t node, tutti_object_kind kind,
                  tutti_error* error, const Get& get) {
    return capi::guard(function, error, [&] {
        const ObjectPin value(object, "object");
        get(*value, value->check_node(node, "node", kind));
    });
}

const Node& need_integer(const tutti::Object& object, int64_t node) {
    const Node& found = object[object.check_node(node, "node")];
    if (!found.is_integer()) {
        capi::refuse("node is ", node, ", which is ", tutti::kind_name(found.kind()),
                     ", not an integer");
    }
    return found;
}

tutti::Key read_key(const tutti_object_item* key) {
    if (key == nullptr) capi::refuse("key is NULL");
    switch (key->kind) {
        case TUTTI_OBJECT_INT64:
            return tutti::Key::signed_integer(key->integer);
        case TUTTI_OBJECT_UINT64:
            return tutti::Key::unsigned_integer(static_cast<uint64_t>(key->integer));
        case TUTTI_OBJECT_STRING:
            if (key->size < 0) capi::refuse("key.size is ", key->size);
            if (key->data == nullptr && key->size > 0) {
                capi::refuse("key.data is NULL but key.size is ", key->size);
            }
            return tutti::Key(std::string_view(static_cast<const char*>(key->data),
                                               static_cast<size_t>(key->size)));
        default:
            capi::refuse("key.kind is ", key->kind, "; a key is a string or an integer");
    }
}

int64_t found_at(const tutti::Object& object, size_t map, const tutti::Key& key) {
    const auto found = object.find(map, key);
    return found ? static_cast<int64_t>(*found) : -1;
}

}  // namespace

extern "C" {

tutti_status tutti_object_read(tutti_object* object, int64_t first, tutti_object_item* out_items,
                               int64_t capacity, int64_t* out_count, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ObjectPin value(object, "object");
        capi::need_output(out_count, "out_count");
        if (out_items == nullptr && capacity > 0) {
            capi::refuse("out_items is NULL but capacity is ", capacity);
        }
        const bool at_end = first >= 0 && static_cast<uint64_t>(first) == value->size();
        const size_t begin = at_end ? value->size() : value->check_node(first, "first");
        const size_t count =
            std::min(capi::read_count(capacity, "capacity"), value->size() - begin);
        for (size_t i = 0; i < count; ++i) out_items[i] = value->item(begin + i);
        *out_count = static_cast<int64_t>(count);
    });
}

tutti_status tutti_object_find(tutti_object* object, int64_t node, const char* key,
                               int64_t* out_node, tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_MAP, error, [&](const auto& value, size_t at) {
        if (key == nullptr) capi::refuse("key is NULL");
        capi::need_output(out_node, "out_node");
        *out_node = found_at(value, at, tutti::Key(std::string_view(key)));
    });
}

tutti_status tutti_object_find_item(tutti_object* object, int64_t node,
                                    const tutti_object_item* key, int64_t* out_node,
                                    tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_MAP, error, [&](const auto& value, size_t at) {
        capi::need_output(out_node, "out_node");
        *out_node = found_at(value, at, read_key(key));
    });
}

tutti_status tutti_object_at(tutti_object* object, int64_t node, int64_t index, int64_t* out_node,
                             tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_LIST, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_node, "out_node");
                    if (index < 0 || static_cast<uint64_t>(index) >= value[at].size()) {
                        capi::refuse("index is ", index, ", and the list has ", value[at].size(),
                                     " values");
                    }
                    *out_node = static_cast<int64_t>(value.at(at, static_cast<uint64_t>(index)));
                });
}

tutti_status tutti_object_get_bool(tutti_object* object, int64_t node, int32_t* out_value,
                                   tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_BOOL, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_value, "out_value");
                    *out_value = static_cast<int32_t>(value[at].bits());
                });
}

tutti_status tutti_object_get_int64(tutti_object* object, int64_t node, int64_t* out_value,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ObjectPin value(object, "object");
        capi::need_output(out_value, "out_value");
        const Node& found = need_integer(*value, node);
        if (found.kind() == TUTTI_OBJECT_UINT64) {
            capi::refuse("node is ", node, ", which is ", found.bits(),
                         ", more than an int64 holds");
        }
        *out_value = static_cast<int64_t>(found.bits());
    });
}

tutti_status tutti_object_get_uint64(tutti_object* object, int64_t node, uint64_t* out_value,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ObjectPin value(object, "object");
        capi::need_output(out_value, "out_value");
        const Node& found = need_integer(*value, node);
        const auto number = static_cast<int64_t>(found.bits());
        if (found.kind() == TUTTI_OBJECT_INT64 && number < 0) {
            capi::refuse("node is ", node, ", which is ", number, ", less than a uint64 holds");
        }
        *out_value = found.bits();
    });
}

tutti_status tutti_object_get_float64(tutti_object* object, int64_t node, double* out_value,
                                      tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ObjectPin value(object, "object");
        capi::need_output(out_value, "out_value");
        const Node& found = (*value)[value->check_node(node, "node")];
        const auto number = tutti::exact_real(found);
        if (!number) {
            capi::refuse("node is ", node, ", which is ", tutti::kind_name(found.kind()),
                         found.is_integer() ? " that no float64 holds exactly" : ", not a number");
        }
        *out_value = *number;
    });
}

tutti_status tutti_object_get_string(tutti_object* object, int64_t node, const char** out_text,
                                     int64_t* out_size, tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_STRING, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_text, "out_text");
                    const std::string_view text = value[at].text();
                    *out_text = text.data();
                    if (out_size != nullptr) *out_size = static_cast<int64_t>(text.size());
                });
}

tutti_status tutti_object_get_bytes(tutti_object* object, int64_t node, const void** out_data,
                                    size_t* out_size, tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_BYTES, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_data, "out_data");
                    capi::need_output(out_size, "out_size");
                    *out_data = value[at].memory();
                    *out_size = static_cast<size_t>(value[at].size());
                });
}

tutti_status tutti_object_get_timestamp(tutti_object* object, int64_t node, int64_t* out_seconds,
                                        int32_t* out_nanoseconds, tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_TIMESTAMP, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_seconds, "out_seconds");
                    capi::need_output(out_nanoseconds, "out_nanoseconds");
                    *out_seconds = static_cast<int64_t>(value[at].bits());
                    *out_nanoseconds = static_cast<int32_t>(value[at].size());
                });
}

tutti_status tutti_object_get_array(tutti_object* object, int64_t node, const void** out_data,
                                    tutti_dtype* out_dtype, const int64_t** out_shape,
                                    int32_t* out_dimensions, tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_ARRAY, error,
                [&](const auto& value, size_t at) {
                    capi::need_output(out_data, "out_data");
                    capi::need_output(out_dtype, "out_dtype");
                    capi::need_output(out_shape, "out_shape");
                    capi::need_output(out_dimensions, "out_dimensions");
                    const tutti::Array& array = value[at].array();
                    *out_data = array.data;
                    *out_dtype = array.dtype;
                    *out_shape = array.shape;
                    *out_dimensions = array.dimensions;
                });
}

tutti_status tutti_object_get_elements(tutti_object* object, int64_t node, void* out_data,
                                       int64_t count, tutti_dtype dtype, int64_t first,
                                       tutti_error* error) {
    return read(__func__, object, node, TUTTI_OBJECT_LIST, error,
                [&](const auto& value, size_t at) {
                    const auto size = static_cast<int64_t>(value[at].size());
                    if (first < 0 || first > size) {
                        capi::refuse("first is ", first, ", and the list has ", size, " values");
                    }
                    if (count < 0 || count > size - first) {
                        capi::refuse("count is ", count, ", and the list has ", size - first,
                                     " values from first on");
                    }
                    if (count > 0) capi::need_output(out_data, "out_data");
                    tutti::get_elements(value, at, static_cast<uint64_t>(first),
                                        static_cast<size_t>(count), dtype, out_data);
                });
}

tutti_status tutti_object_equal(tutti_object* a, int64_t node_a, tutti_object* b, int64_t node_b,
                                int32_t* out_equal, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ObjectPin first(a, "a");
        const ObjectPin second(b, "b");
        capi::need_output(out_equal, "out_equal");
        *out_equal = tutti::equal(*first, first->check_node(node_a, "node_a"), *second,
                                  second->check_node(node_b, "node_b"))
                         ? 1
                         : 0;
    });
}

}  // extern "C"
