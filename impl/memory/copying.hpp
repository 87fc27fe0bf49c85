// Copies between a program's memory and what ranks of a host share. Any thread.
#pragma once

#include "base/bytes.hpp"
#include "reduce/reduce.hpp"
#include "table.hpp"

namespace tutti::shm {

// Between memory that is the same or has nothing in common. `from` is what others have staged, ..
void copy_out(Bytes to, ConstBytes from, Stores stores);
// .. or is a program's.
void copy_data(Bytes to, ConstBytes from, Stores stores);
// Into memory that others read.
inline void copy_in(Bytes to, ConstBytes from) {
    copy_out(to, from, staging_stores(from.size()));
}

}  // namespace tutti::shm
