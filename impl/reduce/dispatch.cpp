// Asks the processor once and keeps the answer. Any thread. Reads TUTTI_CPU.
#include "dispatch.hpp"

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti {

namespace {

constexpr const char* level_names[] = {"baseline", "avx2", "avx512"};

const Kernels& choose_kernels() {
    const CpuLevel level = choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
    log(LogLevel::Debug, "reduction kernels: ", level_names[static_cast<int>(level)]);
    return kernels_of(level);
}

}  // namespace

#if defined(__x86_64__)
CpuLevel best_cpu_level() {
    // clang 14's __builtin_cpu_supports does not know F16C, so that one is asked of the processor.
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
    if (!f16c || !__builtin_cpu_supports("avx2")) return CpuLevel::Baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? CpuLevel::Avx512 : CpuLevel::Avx2;
}

const Kernels& kernels_of(CpuLevel level) {
    if (level == CpuLevel::Avx512) return kernels_avx512;
    if (level == CpuLevel::Avx2) return kernels_avx2;
    return kernels_baseline;
}
#else
CpuLevel best_cpu_level() {
    return CpuLevel::Baseline;
}

const Kernels& kernels_of(CpuLevel) {
    return kernels_baseline;
}
#endif

CpuLevel choose_cpu_level(const std::optional<std::string>& wanted, CpuLevel best) {
    if (!wanted) return best;
    for (int level = 0; level < static_cast<int>(std::size(level_names)); ++level) {
        if (*wanted != level_names[level]) continue;
        return level < static_cast<int>(best) ? static_cast<CpuLevel>(level) : best;
    }
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("TUTTI_CPU is \"", *wanted, "\"; it may be baseline, avx2 or avx512"));
}

const Kernels& kernels() {
    static const Kernels& chosen = choose_kernels();
    return chosen;
}

}  // namespace tutti
