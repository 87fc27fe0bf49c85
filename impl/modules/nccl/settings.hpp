// The settings that follow the name: "nccl?max_ctas=4". NCCL's own variables have the last word.
#pragma once

#include "abi.hpp"

namespace tutti::nccl {

// The configuration of a communicator, for this version of NCCL. Throws Failure, naming the
// setting.
Config config_of(const char* settings, int version);

}  // namespace tutti::nccl
