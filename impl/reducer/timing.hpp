// How long the parts of training steps take: torch's four times. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace tutti {

// Means of synchronised passes, in nanoseconds; of those without a time 0.
struct MeanTimes {
    int64_t forward = 0;        // from begin_forward to begin
    int64_t backward = 0;       // from begin to finish
    int64_t communication = 0;  // from the first bucket's beginning to the last one's end
    int64_t overlap = 0;        // of both
};

class Timing {
public:
    void begin_forward() { forward_ = Clock::now(); }
    void begin_backward();
    void end_backward() { finished_ = Clock::now(); }
    void begin_bucket(size_t index) {
        if (index == 0) first_bucket_ = Clock::now();
    }
    void end_buckets() { reduced_ = Clock::now(); }
    // Once a synchronised pass has ended in both ways.
    void add_pass();
    [[nodiscard]] MeanTimes means() const;

private:
    using Clock = std::chrono::steady_clock;
    using Time = std::chrono::nanoseconds;

    std::optional<Clock::time_point> forward_{};
    Clock::time_point began_{}, finished_{}, first_bucket_{}, reduced_{};
    Time this_forward_{};
    bool has_forward_ = false;
    Time forward_sum_{}, backward_sum_{}, communication_sum_{}, overlap_sum_{};
    int64_t forwards_ = 0, passes_ = 0;
};

}  // namespace tutti
