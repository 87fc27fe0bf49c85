// tutti/object.h, how objects are built and end. Any thread; one at a time builds an object.
#include "object.hpp"

#include <cstring>

#include "arguments.hpp"
#include "guard.hpp"
#include "object/elements.hpp"
#include "tutti/object.h"

namespace capi = tutti::capi;

namespace {

using tutti::Builder;

template <typename Step>
tutti_status build(const char* function, tutti_object* object, tutti_error* error,
                   const Step& step) {
    return capi::guard(function, error, [&] {
        const capi::Pin<tutti_object> pin(object, "object");
        pin->build(step);
    });
}

Builder::Memory read_flags(uint32_t flags) {
    if ((flags & ~TUTTI_OBJECT_BORROW) != 0) {
        capi::refuse("flags is ", flags, "; it must be 0 or TUTTI_OBJECT_BORROW (1)");
    }
    return flags == 0 ? Builder::Memory::Copied : Builder::Memory::Kept;
}

void need_memory(const void* memory, size_t size, const char* argument, const char* of) {
    if (memory == nullptr && size > 0) capi::refuse(argument, " is NULL but ", of, " is ", size);
}

std::string_view read_string(const char* text, int64_t size) {
    if (size == TUTTI_NUL_TERMINATED) {
        if (text == nullptr) capi::refuse("text is NULL");
        return text;
    }
    const size_t length = capi::read_count(size, "size");
    need_memory(text, length, "text", "size");
    return text == nullptr ? std::string_view() : std::string_view(text, length);
}

}  // namespace

extern "C" {

tutti_status tutti_object_create(tutti_object** out_object, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_object, "out_object");
        *out_object = capi::hand_out<tutti_object>(std::make_shared<capi::Draft>());
    });
}

tutti_status tutti_object_add_nil(tutti_object* object, tutti_error* error) {
    return build(__func__, object, error, [](Builder& builder) { builder.nil(); });
}

tutti_status tutti_object_add_bool(tutti_object* object, int32_t value, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        capi::check_flag(static_cast<uint32_t>(value), "value");
        builder.boolean(value == 1);
    });
}

tutti_status tutti_object_add_int64(tutti_object* object, int64_t value, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) { builder.signed_integer(value); });
}

tutti_status tutti_object_add_uint64(tutti_object* object, uint64_t value, tutti_error* error) {
    return build(__func__, object, error,
                 [&](Builder& builder) { builder.unsigned_integer(value); });
}

tutti_status tutti_object_add_float64(tutti_object* object, double value, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) { builder.real(value); });
}

tutti_status tutti_object_add_string(tutti_object* object, const char* text, int64_t size,
                                     tutti_error* error) {
    return build(__func__, object, error,
                 [&](Builder& builder) { builder.string(read_string(text, size)); });
}

tutti_status tutti_object_add_key(tutti_object* object, const char* key, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        if (key == nullptr) capi::refuse("key is NULL");
        if (!builder.key_is_due()) capi::refuse("no key is due here");
        builder.string(key);
    });
}

tutti_status tutti_object_add_bytes(tutti_object* object, const void* data, size_t size,
                                    uint32_t flags, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        need_memory(data, size, "data", "size");
        builder.bytes(data, size, read_flags(flags));
    });
}

tutti_status tutti_object_add_timestamp(tutti_object* object, int64_t seconds, int32_t nanoseconds,
                                        tutti_error* error) {
    return build(__func__, object, error,
                 [&](Builder& builder) { builder.timestamp(seconds, nanoseconds); });
}

tutti_status tutti_object_add_array(tutti_object* object, const void* data, tutti_dtype dtype,
                                    const int64_t* shape, int32_t dimensions, uint32_t flags,
                                    tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        if (shape == nullptr && dimensions > 0) {
            capi::refuse("shape is NULL but dimensions is ", dimensions);
        }
        const tutti::Array array{data, shape, dtype, dimensions};
        need_memory(data, tutti::count_elements(array), "data", "the number of elements");
        builder.array(array, read_flags(flags));
    });
}

tutti_status tutti_object_begin_list(tutti_object* object, tutti_error* error) {
    return build(__func__, object, error, [](Builder& builder) { builder.list(); });
}

tutti_status tutti_object_begin_map(tutti_object* object, tutti_error* error) {
    return build(__func__, object, error, [](Builder& builder) { builder.map(); });
}

tutti_status tutti_object_end(tutti_object* object, tutti_error* error) {
    return build(__func__, object, error, [](Builder& builder) { builder.close(); });
}

tutti_status tutti_object_add_elements(tutti_object* object, const void* data, int64_t count,
                                       tutti_dtype dtype, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        if (count < 0) capi::refuse("count is ", count);
        need_memory(data, static_cast<size_t>(count), "data", "count");
        if (!builder.list_is_open()) capi::refuse("no list is open");
        tutti::add_elements(builder, data, static_cast<size_t>(count), dtype);
    });
}

tutti_status tutti_object_add_items(tutti_object* object, const tutti_object_item* items,
                                    int64_t count, uint32_t flags, tutti_error* error) {
    return build(__func__, object, error, [&](Builder& builder) {
        const size_t number = capi::read_count(count, "count");
        capi::need_array(items, number, "items");
        const Builder::Memory memory = read_flags(flags);
        size_t i = 0;
        try {
            for (; i < number; ++i) builder.item(items[i], memory);
        } catch (const tutti::Error& failure) {
            tutti::Status status = failure.status();
            status.message = tutti::cat(capi::indexed("items", i), ": ", status.message);
            throw tutti::Error(status);
        }
    });
}

tutti_status tutti_object_add_object(tutti_object* object, tutti_object* from, int64_t node,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::Pin<tutti_object> pin(object, "object");
        const capi::Pin<tutti_object> source(from, "from");
        pin->build([&](Builder& builder) {
            const tutti::Object& value = *source->value("from");
            builder.copy(value, value.check_node(node, "node"));
        });
    });
}

tutti_status tutti_object_copy(tutti_object* object, int64_t node, tutti_object** out_copy,
                               tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::ObjectPin value(object, "object");
        capi::need_output(out_copy, "out_copy");
        Builder builder;
        builder.copy(*value, value->check_node(node, "node"));
        *out_copy = capi::hand_out_object(builder.finish());
    });
}

void tutti_object_release(tutti_object* object) {
    if (!capi::forked()) capi::release(object);
}

}  // extern "C"
