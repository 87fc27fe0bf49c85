// Which processors the ranks of a team run on, where they outnumber those: three on one and one on
// the next wait for each other longer than two and two, and the system takes its time to mend that.
// So a rank moves by itself. Not thread-safe.
#pragma once

#include <sched.h>

#include <chrono>
#include <optional>
#include <span>

namespace tutti::shm {

// Where the rank had better be: a processor that it may run on and that has at least two ranks less
// than its own. None if there is none, or if a higher rank of its processor is the one to go.
// `of_ranks` says where each one was last; what is no processor counts nowhere.
std::optional<int> better_processor(int rank, std::span<const int> of_ranks,
                                    const cpu_set_t& allowed);

// Moves this thread to a processor; what it may run on stays what it is.
bool move_to(int processor);

// When a rank that waits again and again sees to it.
class Placement {
public:
    using Clock = std::chrono::steady_clock;

    // Whether to look around, in this wait.
    bool is_due() {
        if (--waits_to_look_ > 0) return false;
        waits_to_look_ = waits_between_looks;
        return true;
    }
    // Moves this thread to where its rank had better be, unless it has moved a short while before;
    // whether it did.
    bool look(int rank, std::span<const int> of_ranks, Clock::time_point now = Clock::now());

private:
    static constexpr int waits_between_looks = 64;

    int waits_to_look_ = waits_between_looks;
    Clock::time_point moved_;
    std::chrono::milliseconds stay_{0};
};

}  // namespace tutti::shm
