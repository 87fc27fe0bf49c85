// The clocks of several hosts, brought together by calls that end at once on all ranks. Any thread.
#pragma once

#include <cstdint>
#include <map>

#include "job.hpp"

namespace tutti::trace {

// The shifts of hosts, by their boots: added to a host's times, they give those of the first rank's
// host. 0 where no common call tells.
class Alignment {
public:
    explicit Alignment(const Job& job);
    [[nodiscard]] int64_t shift_of(const Recording& recording) const;
    [[nodiscard]] int64_t time(const Recording& recording, int64_t time) const {
        return time + shift_of(recording);
    }

private:
    std::map<uint64_t, int64_t> shifts_;
};

}  // namespace tutti::trace
