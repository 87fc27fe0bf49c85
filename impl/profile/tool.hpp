// The library of a profiler, if this process is to have one. Any thread.
#pragma once

#include <atomic>

#include "nvtx.hpp"

namespace tutti::profile {

struct Tool {
    nvtx::Domain* domain;
    nvtx::RangePush* push;
    nvtx::RangePop* pop;
};

// Null: there is none. Set once, and stays.
inline constinit std::atomic<const Tool*> tool{nullptr};

// Loads the one that the environment names. Once in a process; calls out.
void find_tool() noexcept;

}  // namespace tutti::profile
