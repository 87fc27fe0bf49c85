// The clocks of this moment, to turn the ticks of records into times since 1970, and which boot of
// which host it is. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::trace {

struct Clock {
    uint64_t boot = 0;  // as record::Head has it
    std::string host;
    uint64_t counter = 0;
    uint64_t monotonic = 0;
    int64_t realtime = 0;  // ns since 1970

    static Clock now();
};

// The hash of this boot's id.
uint64_t boot_hash();
std::string host_name();

// One moment by the clock of a record and by the system's.
struct Instant {
    uint64_t ticks = 0;
    int64_t realtime = 0;
};

// Times from ticks.
class Scale {
public:
    // A counter's speed is known from two instants; if they are one, all times are that one.
    Scale(const Instant& first, const Instant& second, bool is_counter);
    [[nodiscard]] int64_t time_of(uint64_t ticks) const;

private:
    Instant from_;
    double ns_per_tick_ = 1;
};

}  // namespace tutti::trace
