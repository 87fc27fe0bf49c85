// Runs a group's collectives one at a time, in arrival order. A synchronous one runs on its
// caller's thread; background ones run on one thread of the group, started with the first. Tickets
// are the sequence numbers of the collectives.
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

class TicketQueue {
public:
    using Job = std::function<void(uint64_t ticket)>;

    TicketQueue() = default;
    // Runs all queued jobs first, so abort the backend before.
    ~TicketQueue();
    TicketQueue(const TicketQueue&) = delete;
    TicketQueue& operator=(const TicketQueue&) = delete;

    // Draws the next ticket, waits for its turn, runs `job` here. Throws what the job throws. If
    // the deadline passes first, `late` makes the jobs in front end soon, and must not throw.
    template <typename Synchronous, typename Late>
    void run(const Deadline& deadline, Synchronous&& job, Late&& late) {
        const auto [ticket, in_time] = take(deadline);
        const struct Pass {
            TicketQueue& queue;
            ~Pass() { queue.pass(); }
        } pass{*this};
        if (!in_time) {
            late(ticket);
            await(ticket);
        }
        job(ticket);
    }

    // If no job runs or waits: draws the next ticket and runs `job`, which must not throw, here.
    // Else false, and nothing has happened.
    template <typename Synchronous>
    bool run_if_free(Synchronous&& job) {
        uint64_t ticket = current_;
        if (!next_.compare_exchange_strong(ticket, ticket + 1)) return false;
        job(ticket);
        pass();
        return true;
    }

    // Draws and returns the next ticket; `job`, which must not throw, runs in the background in its
    // turn.
    uint64_t enqueue(Job job);

private:
    // The next ticket, and whether its turn came before the deadline.
    std::pair<uint64_t, bool> take(const Deadline& deadline);
    void await(uint64_t ticket);
    void pass() noexcept;
    void work();

    // Without the lock: a thread that draws the current ticket goes on, and one that passes the
    // turn checks for a later ticket. Waiting threads take the lock.
    std::atomic<uint64_t> next_{1};     // the next ticket to draw
    std::atomic<uint64_t> current_{1};  // the ticket whose turn it is
    Mutex mutex_;
    Condition changed_;
    std::deque<std::pair<uint64_t, Job>> queue_ TUTTI_GUARDED_BY(mutex_);
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
