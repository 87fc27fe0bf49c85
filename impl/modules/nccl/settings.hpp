// The settings that follow the name: "nccl?max_ctas=4". NCCL's own variables have the last word.
#pragma once

#include "abi.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

struct Settings {
    Config config;                         // of a communicator, for this version of NCCL
    bool is_high_priority_stream = false;  // torch's name
    bool symmetric = false;                // memory of tutti_memory_alloc is registered
};

// Throws Failure, naming the setting. Texts in the configuration stay for good.
Settings settings_of(const char* text, int version);

// The same, for a communicator of the group at this place: NCCL's log and profilers name it, from
// 2.27 on.
Settings named(Settings settings, const tutti_backend_place& place);

}  // namespace tutti::nccl
