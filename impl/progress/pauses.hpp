// The pauses between attempts, of which each is twice as long as the one before, up to the longest.
// One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/deadline.hpp"

namespace tutti {

class Pauses {
public:
    using Duration = Deadline::Clock::duration;

    Pauses(Duration first, Duration longest) : next_(first), longest_(longest) {}
    // Between calls of a server that may not be there yet.
    static Pauses between_calls() {
        return {std::chrono::milliseconds(5), std::chrono::milliseconds(300)};
    }
    // Between looks at a store that notifies nobody.
    static Pauses between_looks() {
        return {std::chrono::microseconds(500), std::chrono::milliseconds(20)};
    }

    Duration next() { return std::exchange(next_, std::min(2 * next_, longest_)); }

private:
    Duration next_;
    Duration longest_;
};

}  // namespace tutti
