// Copies between a program's memory and memory that ranks of a host share. Any thread.
#pragma once

#include <cstddef>

#include "base/bytes.hpp"
#include "cache.hpp"
#include "reduce/reduce.hpp"

namespace tutti::shm {

// How to write a piece of that size for other ranks to read.
Stores staging_stores(size_t bytes);

// How to write a result of that size, which so many ranks have: small ones stay in the shared
// cache.
constexpr Stores stores_for(size_t bytes, int ranks) {
    return bytes >= shared_cache / static_cast<size_t>(ranks) ? Stores::Streaming
                                                              : Stores::Ordinary;
}

// Between memory that is the same or does not overlap. `from` is staged by others, ..
void copy_out(Bytes to, ConstBytes from, Stores stores);
// .. or is a program's.
void copy_data(Bytes to, ConstBytes from, Stores stores);
// Into memory that others read.
inline void copy_in(Bytes to, ConstBytes from) {
    copy_out(to, from, staging_stores(from.size()));
}

}  // namespace tutti::shm
