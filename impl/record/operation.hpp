// An operation as those hear of it who watch: hooks of the program, checks, traces. Made only while
// somebody watches. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ring.hpp"
#include "tutti/types.h"

namespace tutti::record {

// A buffer of an operation; the memory is the caller's.
struct Buffer {
    const void* data = nullptr;
    size_t bytes = 0;
    tutti_dtype dtype = TUTTI_UINT8;
    tutti_device_type device_type = TUTTI_CPU;
    int32_t device_index = 0;
};

struct Operation {
    uint64_t id = 0;        // from 1 on, in this process
    const char* name = "";  // a literal: "all_reduce"
    std::string group;      // its name
    int rank = -1;          // this one, in the group
    int size = 0;
    uint64_t sequence = 0;  // of a collective; 0: of a message, or none yet
    std::string tag;        // the program's own, of the call
    Note facts;             // its text is not set
    std::vector<Buffer> inputs;
    std::vector<Buffer> outputs;
};

}  // namespace tutti::record
