// Moves ranks between processors where they outnumber those: with an uneven spread ranks wait for
// each other longer, and the system is slow to balance that. So a rank moves itself: the waiting
// thread, often the caller's, is moved to another processor of its affinity mask. Never if the
// program or anything else has bound that thread, nor if TUTTI_PLACEMENT is 0. Not thread-safe.
#pragma once

#include <sched.h>

#include <chrono>
#include <optional>
#include <span>

namespace tutti::shm {

// A better processor: one that the rank may run on, with at least two ranks less than its own. None
// if there is none, or if a higher rank of its processor is to move. `of_ranks`: each rank's last
// processor; invalid ones are ignored.
std::optional<int> better_processor(int rank, std::span<const int> of_ranks,
                                    const cpu_set_t& allowed);

// Moves this thread to a processor; its affinity mask stays.
bool move_to(int processor);

// The affinity mask of the process when the library was loaded: the choice of its launcher or
// container.
const cpu_set_t& processors_at_start();
// Whether a thread with mask `allowed` has been bound since: it lacks one of those.
bool is_bound(const cpu_set_t& allowed, const cpu_set_t& at_start);

// Environment variable TUTTI_PLACEMENT: 1, or not set: ranks may move; 0: they never do.
// INVALID_ARGUMENT if it is anything else.
bool may_move_by_environment();

// Decides when a waiting rank looks for a better processor.
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
    // Moves this thread to a better processor, unless it is bound or has moved recently; whether it
    // did.
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
