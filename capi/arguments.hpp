// Checks and copies arrays that C passes as pointers and lengths. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "refusal.hpp"

namespace tutti::capi {

inline std::string read_text(const char* text, const std::string& argument) {
    if (text == nullptr) refuse(argument, " is NULL");
    return text;
}

inline std::span<const std::byte> read_memory(const void* data, size_t size,
                                              const std::string& argument) {
    if (data == nullptr && size > 0) refuse(argument, " is NULL but its size is ", size);
    if (size > PTRDIFF_MAX)
        refuse("the size of ", argument, " is ", size, "; the maximum is ", PTRDIFF_MAX);
    return {static_cast<const std::byte*>(data), size};
}

inline size_t read_count(int64_t count, const char* argument) {
    if (count < 0) refuse(argument, " is ", count, "; it must be 0 or more");
    return static_cast<size_t>(count);
}

inline std::string indexed(const char* array, size_t index) {
    return cat(array, "[", index, "]");
}

template <typename Element>
void need_array(const Element* array, size_t count, const char* argument) {
    if (array == nullptr && count > 0) refuse(argument, " is NULL but count is ", count);
    if (count > PTRDIFF_MAX / sizeof(Element))
        refuse("count is ", count, ", and ", argument, " cannot have so many elements");
}

inline std::vector<std::string> read_texts(const char* const* texts, int64_t count,
                                           const char* argument) {
    const size_t number = read_count(count, "count");
    need_array(texts, number, argument);
    std::vector<std::string> read;
    read.reserve(number);
    for (size_t i = 0; i < number; ++i) read.push_back(read_text(texts[i], indexed(argument, i)));
    return read;
}

inline std::vector<std::string> read_keys(const char* const* keys, int64_t count) {
    return read_texts(keys, count, "keys");
}

// To an array of the caller that has room for `count`.
template <typename Number>
void write_numbers(std::span<const int> numbers, Number* out, int64_t count, const char* argument) {
    if (out == nullptr) refuse(argument, " is NULL");
    if (read_count(count, "count") < numbers.size()) {
        refuse(argument, " has room for ", count, "; it receives ", numbers.size());
    }
    std::ranges::copy(numbers, out);
}

inline void check_flag(uint32_t flag, const char* argument) {
    if (flag > 1) refuse(argument, " is ", flag, "; it must be 0 or 1");
}

}  // namespace tutti::capi
