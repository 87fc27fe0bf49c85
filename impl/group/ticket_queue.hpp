// Runs a group's collectives one at a time, in arrival order. A synchronous one runs on its
// caller's thread. A background one runs on a thread that waits for it, or for its own turn behind
// it; if none does within a while, on one thread of the group, started with the first. Tickets are
// the sequence numbers of the collectives.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/list.hpp"
#include "base/mutex.hpp"
#include "progress/looks.hpp"

namespace tutti {

class TicketQueue {
public:
    // A background collective.
    class Job : public Listed {
    public:
        // Must not throw, and ends itself at the deadline that it was enqueued with.
        virtual void run(uint64_t ticket) noexcept = 0;

    protected:
        Job() = default;
        ~Job() = default;

    private:
        friend class TicketQueue;
        uint64_t ticket_ = 0;
        Deadline deadline_ = Deadline::never();
        bool begins_at_once_ = false;
        std::shared_ptr<Job> self_;  // while it is in the queue
    };
    // A background job begins when a thread wants it or the group's thread has looked for it, which
    // is after its first rest if the job is long; or at once, on the group's thread alone.
    enum class Start { Soon, AfterFirstRest, AtOnce };

    TicketQueue() = default;
    // Runs all queued jobs first, so abort the backend before.
    ~TicketQueue() { close(); }
    void close() noexcept;
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
            take(ticket, Deadline::never());
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

    // Draws and returns the next ticket; the job runs in the background in its turn.
    uint64_t enqueue(std::shared_ptr<Job> job, const Deadline& deadline, Start start = Start::Soon);

    // For a thread that waits for the end of that job, up to the deadline: runs it here, and those
    // before it, in their turns. Leaves those that another thread has begun, or that may end later
    // than the deadline, to the group's thread.
    void run_up_to(uint64_t ticket, const Deadline& deadline);
    // The job begins as soon as its turn comes.
    void hurry(uint64_t ticket) noexcept;
    // All that are in the queue by now.
    void hurry() noexcept;

private:
    // Why the group's thread sleeps.
    enum class Sleep { None, Look, Post, Turn };

    // The next ticket, and whether its turn came before the deadline.
    std::pair<uint64_t, bool> take(const Deadline& deadline);
    bool take(uint64_t ticket, const Deadline& deadline);
    void run_in_turn(std::shared_ptr<Job> job) noexcept;
    void pass() noexcept;
    void work();
    // Under the lock.
    [[nodiscard]] bool has_turn() TUTTI_REQUIRES(mutex_) {
        return !queue_.empty() && queue_.front().ticket_ == current_;
    }
    [[nodiscard]] std::shared_ptr<Job> take_first() TUTTI_REQUIRES(mutex_);
    bool await_turn(Lock& lock, const Deadline& deadline) TUTTI_REQUIRES(mutex_);
    bool rest(Lock& lock) TUTTI_REQUIRES(mutex_);
    void hurry_up_to(uint64_t ticket) noexcept TUTTI_REQUIRES(mutex_);

    // Without the lock: a thread that draws the current ticket goes on, and one that passes the
    // turn checks for a later ticket. Waiting threads take the lock.
    std::atomic<uint64_t> next_{1};     // the next ticket to draw
    std::atomic<uint64_t> current_{1};  // the ticket whose turn it is
    Mutex mutex_;
    Condition turn_;     // for threads that wait for theirs
    Condition changed_;  // for the group's thread
    List<Job> queue_ TUTTI_GUARDED_BY(mutex_);
    uint64_t last_ TUTTI_GUARDED_BY(mutex_) = 0;     // ticket of a job
    int waiting_ TUTTI_GUARDED_BY(mutex_) = 0;       // threads, for a turn
    uint64_t hurried_ TUTTI_GUARDED_BY(mutex_) = 0;  // jobs up to this one begin at once
    Looks looks_ TUTTI_GUARDED_BY(mutex_);
    bool has_new_ TUTTI_GUARDED_BY(mutex_) = false;  // a job since the last look
    Sleep sleeps_ TUTTI_GUARDED_BY(mutex_) = Sleep::None;
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
