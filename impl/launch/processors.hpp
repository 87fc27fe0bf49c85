// The number of processes that suits this machine. Any thread; reads /dev, the affinity mask and
// the environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::launch {

using ProcessorSet = std::vector<int>;  // their numbers, in order

// A number, or cpu, gpu, auto (gpu if there is one, else cpu). INVALID_ARGUMENT naming `what` if it
// is none of these, or if there is no GPU.
int parse_process_count(const std::string& text, const std::string& what);

// Processors that this process may run on; empty: the system does not tell.
ProcessorSet allowed_processors();
int count_processors();
// `visible` is CUDA_VISIBLE_DEVICES, if set: a list of devices, ended by one that is none ("-1").
// Else the files nvidia0, nvidia1, … in `devices`.
int count_gpus(const std::string& devices, const std::optional<std::string>& visible);

}  // namespace tutti::launch
