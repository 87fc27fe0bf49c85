#include "processors.hpp"

#include <algorithm>
#include <cmath>

#include "base/control_group.hpp"

namespace tutti {

namespace {

constexpr int max_spins = 200;  // where a processor may be missing, each costs those that work

// 0: no limit.
uint32_t limit_of_control_group() {
    const double quota = std::ceil(processor_quota());
    return quota < UINT32_MAX ? static_cast<uint32_t>(quota) : 0;
}

}  // namespace

// Each group asks; the control group's files are read once.
Processors processors_of_this_process() {
    static const uint32_t at_a_time = limit_of_control_group();
    Processors mine;
    mine.at_a_time = at_a_time;
    if (::sched_getaffinity(0, sizeof mine.allowed, &mine.allowed) != 0) CPU_ZERO(&mine.allowed);
    return mine;
}

int spins_for(std::span<const Processors> of_ranks) {
    cpu_set_t together;
    CPU_ZERO(&together);
    uint32_t at_a_time = UINT32_MAX;
    for (const Processors& one : of_ranks) {
        CPU_OR(&together, &together, &one.allowed);
        if (one.at_a_time > 0) at_a_time = std::min(at_a_time, one.at_a_time);
    }
    const auto processors = static_cast<uint32_t>(CPU_COUNT(&together));
    return of_ranks.size() > std::min(processors, at_a_time) ? 0 : max_spins;
}

bool has_spare_processor(const Processors& mine, size_t ranks_here) {
    const auto processors = static_cast<uint32_t>(CPU_COUNT(&mine.allowed));
    const uint32_t at_a_time = mine.at_a_time > 0 ? mine.at_a_time : processors;
    return std::min(processors, at_a_time) > ranks_here;
}

}  // namespace tutti
