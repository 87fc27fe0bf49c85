// The instruction set of the kernels: the best this processor has, or a lower one that TUTTI_CPU
// (baseline, avx2, avx512) names. Any thread.
#pragma once

#include <optional>
#include <string>

#include "kernels.hpp"

namespace tutti {

enum class CpuLevel : int { Baseline = 0, Avx2 = 1, Avx512 = 2 };

CpuLevel best_cpu_level();

// The level that TUTTI_CPU asks for, but never above `best`; INVALID_ARGUMENT if it is no such
// name.
CpuLevel choose_cpu_level(const std::optional<std::string>& wanted, CpuLevel best);

// A level above best_cpu_level() may be looked up, not run.
const Kernels& kernels_of(CpuLevel level);

// The table for this process, chosen on the first call.
const Kernels& kernels();

}  // namespace tutti
