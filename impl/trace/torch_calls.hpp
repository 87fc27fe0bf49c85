// The words of torch's flight recorder for calls, and sizes as its analyzer compares them. Any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "recording.hpp"

namespace tutti::trace {

// "_all_gather_base"; null for what torch has no word for.
const char* torch_name(const Call& call);
// "Float".
const char* torch_dtype(const Call& call);
// "gloo:all_reduce", "nccl:send 0->1".
std::string profiling_name(const Call& call, const Group& group);
const char* torch_state(const Call& call);
// "default_pg" for the first group, else "undefined".
const char* description_of(const Group& group, const Recording& recording);

// Elements of the input and of the output.
struct Sizes {
    uint64_t input = 1;
    uint64_t output = 1;
};
Sizes sizes_of(const Call& call, const Group& group);

}  // namespace tutti::trace
