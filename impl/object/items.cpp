// Values by item: one of any kind, and all that a node of another object contains.
#include "base/error.hpp"
#include "builder.hpp"

namespace tutti {

namespace {

void check_memory(const void* memory, uint64_t size, const char* argument) {
    if (memory == nullptr && size > 0) refuse(argument, " is NULL, and its size is ", size);
}

// The number of bytes, values or pairs that the item says it has.
size_t size_of(const tutti_object_item& item) {
    if (item.size < 0) refuse("size is ", item.size);
    return static_cast<size_t>(item.size);
}

std::string_view text_of(const tutti_object_item& item) {
    const size_t size = size_of(item);
    check_memory(item.data, size, "data");
    return size == 0 ? std::string_view()
                     : std::string_view(static_cast<const char*>(item.data), size);
}

Array array_of(const tutti_object_item& item) {
    if (item.dimensions > 0)
        check_memory(item.shape, static_cast<uint64_t>(item.dimensions), "shape");
    const Array array{item.data, item.shape, item.dtype, item.dimensions};
    const uint64_t count = count_elements(array);
    check_memory(item.data, count, "data");
    if (size_of(item) != count) {
        refuse("size is ", item.size, ", and the shape has ", count, " elements");
    }
    return array;
}

}  // namespace

void Builder::item(const tutti_object_item& item, Memory memory) {
    switch (item.kind) {
        case TUTTI_OBJECT_NIL:
            return nil();
        case TUTTI_OBJECT_BOOL:
            if (item.integer != 0 && item.integer != 1)
                refuse("integer of a bool is ", item.integer);
            return boolean(item.integer == 1);
        case TUTTI_OBJECT_INT64:
            return signed_integer(item.integer);
        case TUTTI_OBJECT_UINT64:
            return unsigned_integer(static_cast<uint64_t>(item.integer));
        case TUTTI_OBJECT_FLOAT64:
            return real(item.real);
        case TUTTI_OBJECT_STRING:
            return string(text_of(item));
        case TUTTI_OBJECT_BYTES: {
            const std::string_view bytes_of = text_of(item);
            return bytes(bytes_of.data(), bytes_of.size(), memory);
        }
        case TUTTI_OBJECT_LIST:
            return list(size_of(item));
        case TUTTI_OBJECT_MAP:
            return map(size_of(item));
        case TUTTI_OBJECT_TIMESTAMP:
            return timestamp(item.integer, item.nanoseconds);
        case TUTTI_OBJECT_ARRAY:
            return array(array_of(item), memory);
        default:
            refuse("kind is ", item.kind, ", no known kind");
    }
}

void Builder::copy(const Object& from, size_t node) {
    for (const size_t end = from.end(node); node < end; ++node) {
        const Node& value = from[node];
        switch (value.kind()) {
            case TUTTI_OBJECT_STRING:
                copied_string(value.text());
                break;
            case TUTTI_OBJECT_BYTES:
                bytes(value.memory(), value.size(), Memory::Copied);
                break;
            case TUTTI_OBJECT_ARRAY:
                array(value.array(), Memory::Copied);
                break;
            case TUTTI_OBJECT_LIST:
                list(value.size());
                break;
            case TUTTI_OBJECT_MAP:
                map(value.size());
                break;
            default:
                scalar(value);
        }
    }
}

tutti_object_item Object::item(size_t node) const {
    const Node& value = nodes_[node];
    tutti_object_item item{};
    item.kind = value.kind();
    item.end = static_cast<int64_t>(end(node));
    item.size = static_cast<int64_t>(value.size());
    switch (value.kind()) {
        case TUTTI_OBJECT_BOOL:
        case TUTTI_OBJECT_INT64:
        case TUTTI_OBJECT_UINT64:
            item.integer = static_cast<int64_t>(value.bits());
            break;
        case TUTTI_OBJECT_FLOAT64:
            item.real = value.real();
            break;
        case TUTTI_OBJECT_STRING:
        case TUTTI_OBJECT_BYTES:
            item.data = value.memory();
            break;
        case TUTTI_OBJECT_TIMESTAMP:
            item.integer = static_cast<int64_t>(value.bits());
            item.nanoseconds = static_cast<int32_t>(value.size());
            item.size = 0;
            break;
        case TUTTI_OBJECT_ARRAY:
            item.data = value.array().data;
            item.dtype = value.array().dtype;
            item.shape = value.array().shape;
            item.dimensions = value.array().dimensions;
            break;
        default:
            break;
    }
    return item;
}

}  // namespace tutti
