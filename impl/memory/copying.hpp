// Copies between a program's memory and memory that ranks of a host share. Any thread.
#pragma once

#include "base/bytes.hpp"
#include "reduce/reduce.hpp"
#include "table.hpp"

namespace tutti::shm {

// Between memory that is the same or does not overlap. `from` is staged by others, ..
void copy_out(Bytes to, ConstBytes from, Stores stores);
// .. or is a program's.
void copy_data(Bytes to, ConstBytes from, Stores stores);
// Into memory that others read.
inline void copy_in(Bytes to, ConstBytes from) {
    copy_out(to, from, staging_stores(from.size()));
}

}  // namespace tutti::shm
