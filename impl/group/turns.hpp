// Takes a group's collectives one at a time, in the order they arrive. A synchronous one runs on
// its caller's thread; those in the background run on one thread of the group's, started with the
// first.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/mutex.hpp"

namespace tutti {

class Turns {
public:
    using Job = std::function<void(uint64_t number)>;

    Turns() = default;
    // Waits for the job in hand, drops none: those queued still run, so abort the backend first.
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    // Draws the next number, waits for its turn, runs `job` here. Throws what the job throws. If
    // the turn does not come in time, `late` first makes those in front end soon, and must not
    // throw.
    template <typename Synchronous, typename Late>
    void run(const Deadline& deadline, Synchronous&& job, Late&& late) {
        const auto [number, in_time] = take(deadline);
        const struct Pass {
            Turns& turns;
            ~Pass() { turns.pass(); }
        } pass{*this};
        if (!in_time) {
            late(number);
            await(number);
        }
        job(number);
    }

    // If nobody has the turn or waits for one: draws the next number and runs `job`, which must not
    // throw, here. Else false, and nothing has happened.
    template <typename Synchronous>
    bool run_if_free(Synchronous&& job) {
        uint64_t number = current_;
        if (!next_.compare_exchange_strong(number, number + 1)) return false;
        job(number);
        pass();
        return true;
    }

    // Draws the next number, which it returns, and runs `job`, which must not throw, in the
    // background when its turn comes.
    uint64_t queue(Job job);

private:
    // The next number, and whether its turn came before the deadline.
    std::pair<uint64_t, bool> take(const Deadline& deadline);
    void await(uint64_t number);
    void pass() noexcept;
    void work();

    // Without the lock: who draws a number whose turn it is goes on, and who passes a turn on looks
    // whether a number was drawn; the lock is for those who wait.
    std::atomic<uint64_t> next_{1};     // the number the next caller draws
    std::atomic<uint64_t> current_{1};  // the number whose turn it is
    Mutex mutex_;
    Condition changed_;
    std::deque<std::pair<uint64_t, Job>> queue_ TUTTI_GUARDED_BY(mutex_);
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
