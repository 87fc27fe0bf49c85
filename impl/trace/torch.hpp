// A record as torch's flight recorder dumps one, version 2.10: JSON, or the pickle that torch's
// analyzer reads. Calls have torch's names. Any thread.
#pragma once

#include <string>

#include "recording.hpp"

namespace tutti::trace {

struct TorchOptions {
    bool only_active = false;  // calls that have not ended
};

std::string torch_json(const Recording& recording, const TorchOptions& options = {});
std::string torch_pickle(const Recording& recording, const TorchOptions& options = {});

}  // namespace tutti::trace
