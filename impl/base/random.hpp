// Random numbers of the system, for secrets and for names that are nobody else's. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace tutti {

// Throws UNSUPPORTED if the system has none, OUT_OF_MEMORY without a descriptor to read them by.
void fill_with_random(std::span<std::byte> bytes);

template <typename Value>
Value random_value() {
    Value value{};
    fill_with_random(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

}  // namespace tutti
