// One value inside an object, in 16 bytes: its kind, a size, and a word that holds the rest or
// points to it. A list or map is followed by what it contains. Plain data, any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/types.h"

namespace tutti {

struct Array {
    const void* data = nullptr;
    const int64_t* shape = nullptr;
    tutti_dtype dtype = TUTTI_UINT8;
    int32_t dimensions = 0;
};

class Node {
public:
    Node(tutti_object_kind kind, uint64_t size, uint64_t word)
        : head_(size << 8 | kind), word_(word) {}
    Node(tutti_object_kind kind, uint64_t size, const void* memory)
        : Node(kind, size, std::bit_cast<uint64_t>(memory)) {}

    [[nodiscard]] tutti_object_kind kind() const {
        return static_cast<tutti_object_kind>(head_ & 0xff);
    }
    // Bytes of a string or bytes, values of a list, pairs of a map, elements of an array,
    // nanoseconds of a timestamp.
    [[nodiscard]] uint64_t size() const { return head_ >> 8; }

    [[nodiscard]] bool is_container() const {
        return kind() == TUTTI_OBJECT_LIST || kind() == TUTTI_OBJECT_MAP;
    }
    [[nodiscard]] bool is_integer() const {
        return kind() == TUTTI_OBJECT_INT64 || kind() == TUTTI_OBJECT_UINT64;
    }
    [[nodiscard]] bool is_key() const { return is_integer() || kind() == TUTTI_OBJECT_STRING; }

    // Nodes from this one to the one behind it and all it contains.
    [[nodiscard]] uint64_t extent() const { return is_container() ? word_ : 1; }
    // Values directly inside: a map's keys count too.
    [[nodiscard]] uint64_t children() const {
        return kind() == TUTTI_OBJECT_MAP ? 2 * size() : size();
    }
    void close(uint64_t size, uint64_t extent) { *this = Node(kind(), size, extent); }

    // The bits of a bool, an integer, a timestamp (seconds).
    [[nodiscard]] uint64_t bits() const { return word_; }
    [[nodiscard]] double real() const { return std::bit_cast<double>(word_); }
    [[nodiscard]] const void* memory() const { return std::bit_cast<const void*>(word_); }
    [[nodiscard]] std::string_view text() const {
        return {static_cast<const char*>(memory()), static_cast<size_t>(size())};
    }
    [[nodiscard]] const Array& array() const { return *static_cast<const Array*>(memory()); }

private:
    uint64_t head_;
    uint64_t word_;
};
static_assert(sizeof(Node) == 16);
static_assert(sizeof(void*) == sizeof(uint64_t));

// "string".
const char* kind_name(tutti_object_kind kind);

}  // namespace tutti
