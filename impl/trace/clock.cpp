#include "clock.hpp"

#include <unistd.h>

#include <array>
#include <limits>

#include "base/first_line.hpp"
#include "base/hash.hpp"
#include "record/ticks.hpp"

namespace tutti::trace {

uint64_t boot_hash() {
    return fnv1a_64(first_line("/proc/sys/kernel/random/boot_id"));
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Clock Clock::now() {
    Clock clock{boot_hash(), host_name()};
    clock.counter = record::Ticks(true).now();
    clock.monotonic = record::Ticks(false).now();
    clock.realtime = static_cast<int64_t>(record::nanoseconds_of(CLOCK_REALTIME));
    return clock;
}

Scale::Scale(const Instant& first, const Instant& second, bool is_counter) : from_(second) {
    if (!is_counter) return;
    const auto ticks = static_cast<double>(second.ticks - first.ticks);
    const auto nanoseconds = static_cast<double>(second.realtime - first.realtime);
    const bool known = second.ticks > first.ticks && second.realtime > first.realtime;
    ns_per_tick_ = known ? nanoseconds / ticks : 0;
}

int64_t Scale::time_of(uint64_t ticks) const {
    const auto distance = static_cast<double>(static_cast<int64_t>(ticks - from_.ticks));
    const double time = static_cast<double>(from_.realtime) + distance * ns_per_tick_;
    // Words of a damaged file may be anything.
    constexpr double latest = 4e18;
    if (!(time > 0)) return 0;
    if (time > latest) return static_cast<int64_t>(latest);
    return from_.realtime + static_cast<int64_t>(distance * ns_per_tick_);
}

}  // namespace tutti::trace
