#include "list.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "format.hpp"

namespace tutti {

namespace {

// The head: the count, then the sizes, little endian as memory is.
size_t head_size(size_t count) {
    return (1 + count) * sizeof(uint64_t);
}

// Where the message behind one that ends here begins: there is a byte between them, in which the
// NUL of a string may stand.
size_t next_begin(size_t end) {
    return (end + format::array_alignment) & ~(format::array_alignment - 1);
}

uint64_t number_at(std::span<const std::byte> bytes, size_t index) {
    uint64_t number = 0;
    std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
    return number;
}

}  // namespace

std::string pack_list(std::span<const ObjectPointer> objects, const ObjectSettings& settings) {
    std::string list(head_size(objects.size()), '\0');
    std::vector<uint64_t> head{objects.size()};
    for (const ObjectPointer& object : objects) {
        const size_t begin = head.size() == 1 ? list.size() : next_begin(list.size());
        list.resize(begin);
        pack(*object, settings, list);
        head.push_back(list.size() - begin);
    }
    std::memcpy(list.data(), head.data(), head.size() * sizeof(uint64_t));
    return list;
}

std::vector<ObjectPointer> unpack_list(OwnedBytes list, size_t count,
                                       const ObjectSettings& settings) {
    const auto memory = std::make_shared<const OwnedBytes>(std::move(list));
    const std::span<std::byte> bytes = memory->bytes();
    if (bytes.size() < head_size(0)) refuse("the list of objects has no beginning");
    if (number_at(bytes, 0) != count) {
        refuse("there are ", number_at(bytes, 0), " objects, and ", count, " are expected");
    }
    if (bytes.size() < head_size(count)) refuse("the list of objects ends at byte ", bytes.size());
    std::vector<ObjectPointer> objects;
    size_t begin = head_size(count);
    for (size_t i = 0; i < count; ++i) {
        const uint64_t size = number_at(bytes, 1 + i);
        if (begin > bytes.size() || size > bytes.size() - begin) {
            refuse("object ", i, " should have ", size, " bytes from byte ", begin,
                   " on, and the message has ", bytes.size());
        }
        try {
            objects.push_back(unpack(bytes.subspan(begin, size), memory, settings));
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_INVALID_ARGUMENT) throw;
            refuse("object ", i, ", from byte ", begin, " on: ", error.what());
        }
        const size_t end = begin + static_cast<size_t>(size);
        begin = i + 1 == count ? end : next_begin(end);
    }
    if (begin != bytes.size()) {
        refuse("the objects end at byte ", begin, ", and the message has ", bytes.size());
    }
    return objects;
}

size_t max_list(size_t count, const ObjectSettings& settings) {
    count = std::max(count, size_t{1});
    size_t bytes = 0;
    if (__builtin_add_overflow(settings.message_bytes, format::array_alignment, &bytes) ||
        __builtin_mul_overflow(bytes, count, &bytes) ||
        __builtin_add_overflow(bytes, head_size(count), &bytes)) {
        return SIZE_MAX / 2;
    }
    return bytes;
}

}  // namespace tutti
