// The settings that follow the name: "nccl?max_ctas=4". NCCL's own variables have the last word.
#pragma once

#include "abi.hpp"

namespace tutti::nccl {

struct Settings {
    Config config;                         // of a communicator, for this version of NCCL
    bool is_high_priority_stream = false;  // torch's name
};

// Throws Failure, naming the setting.
Settings settings_of(const char* text, int version);

}  // namespace tutti::nccl
