// Which processors the ranks of a team run on, where they outnumber those: three on one and one on
// the next wait for each other longer than two and two, and the system takes its time to mend that.
// So a rank moves by itself: the thread that waits, often the caller's, is nudged to another
// processor of its affinity mask. Never where the program or somebody else has bound that thread,
// and not if TUTTI_PLACEMENT is 0. Not thread-safe.
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

// What the process could run on when the library was loaded: its launcher's and container's choice.
const cpu_set_t& processors_at_start();
// Whether a thread that may run on `allowed` has been bound since: it lacks one of those.
bool is_bound(const cpu_set_t& allowed, const cpu_set_t& at_start);

// Environment variable TUTTI_PLACEMENT: 1, or not set: ranks may move; 0: they never do.
// INVALID_ARGUMENT if it is anything else.
bool may_move_by_environment();

// When a rank that waits again and again sees to it.
class Placement {
public:
    using Clock = std::chrono::steady_clock;

    explicit Placement(bool may_move = true, const cpu_set_t& at_start = processors_at_start())
        : may_move_(may_move), at_start_(at_start) {}

    // Whether to look around, in this wait.
    bool is_due() {
        if (!may_move_ || --waits_to_look_ > 0) return false;
        waits_to_look_ = waits_between_looks;
        return true;
    }
    // Moves this thread to where its rank had better be, unless it is bound or has moved a short
    // while before; whether it did.
    bool look(int rank, std::span<const int> of_ranks, Clock::time_point now = Clock::now());

private:
    static constexpr int waits_between_looks = 64;

    const bool may_move_;
    const cpu_set_t at_start_;
    int waits_to_look_ = waits_between_looks;
    Clock::time_point moved_;
    std::chrono::milliseconds stay_{0};
};

}  // namespace tutti::shm
