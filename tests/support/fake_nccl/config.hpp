// The configuration of a communicator, as NCCL reads it: no field that is newer than it, or than
// the version that the configuration names.
#pragma once

#include <nccl.h>

#include <string>

namespace fake_nccl {

// Every field of `config` that is set, "blocking=0 net_name=Socket", in the words of tutti's
// settings. False if NCCL would refuse it.
bool read_config(const ncclConfig_t& config, std::string& text);

// Null: it has none.
const char* comm_name(const ncclConfig_t& config);

}  // namespace fake_nccl
