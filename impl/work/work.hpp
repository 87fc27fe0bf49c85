// An operation that runs while its caller goes on: finishes exactly once, on any thread; any number
// of threads wait. On a device's stream it is first Enqueued, then Finished.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "callbacks.hpp"
#include "progress/backoff.hpp"
#include "progress/helper.hpp"
#include "progress/source.hpp"
#include "stream_event.hpp"

namespace tutti {

// The data that an operation received for its caller to take.
class Results {
public:
    virtual ~Results() = default;
};

// Calls once, when it goes.
class Afterwards {
public:
    Afterwards() = default;
    Afterwards(void (*call)(void*) noexcept, void* with) : call_(call), with_(with) {}
    Afterwards(Afterwards&& other) noexcept
        : call_(std::exchange(other.call_, nullptr)), with_(other.with_) {}
    Afterwards& operator=(Afterwards&&) = delete;
    ~Afterwards() {
        if (call_ != nullptr) call_(with_);
    }

private:
    void (*call_)(void*) noexcept = nullptr;
    void* with_ = nullptr;
};

class Work {
public:
    using Clock = std::chrono::steady_clock;

    // `operation` is a literal: "all_reduce".
    explicit Work(const char* operation = "", Clock::time_point started = Clock::now())
        : operation_(operation), started_(started) {}
    virtual ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    enum class State { Running, Enqueued, Finished };
    // It is on its device's stream; what comes after `end` may count on its results.
    void enqueued(std::shared_ptr<const StreamEvent> end = nullptr) noexcept;
    // Ends the operation; only the first call counts. `source` is the rank a receive received from.
    void finish(Status status, int source = -1) noexcept {
        finish(std::move(status), source, Clock::now());
    }
    void finish(Status status, int source, Clock::time_point now) noexcept;

    // The owner of the operation; set before others know of this work.
    void belongs_to(const void* owner) { owner_ = owner; }
    // Throws INVALID_ARGUMENT if this thread is in a function that an operation of the same owner
    // has called: that would wait for itself.
    void check_may_wait() const;

    // It is never on a stream; set before others know of this work.
    void set_on_cpu() { is_on_cpu_ = true; }
    [[nodiscard]] bool is_on_cpu() const { return is_on_cpu_; }

    // Until it is finished. False if the deadline passed first; the operation goes on. The waiting
    // thread may do what is left of it.
    bool wait(const Deadline& deadline) const;
    // Whether it is finished, for a thread that asks again until it is: what has not begun begins,
    // and what can be moved is.
    [[nodiscard]] bool poll() const;
    // Until it is enqueued or finished.
    void wait_enqueued() const;
    // Its end on its device's stream; null: it is not enqueued, or has no device.
    [[nodiscard]] std::shared_ptr<const StreamEvent> stream_end() const;
    [[nodiscard]] State state() const { return state_of(state_.load(std::memory_order_seq_cst)); }
    [[nodiscard]] bool is_completed() const { return state() == State::Finished; }
    [[nodiscard]] bool has_succeeded() const { return is_completed() && status_.ok(); }
    // How it ended; nothing before.
    [[nodiscard]] std::optional<Status> status() const;
    [[nodiscard]] int source_rank() const { return is_completed() ? source_ : -1; }

    // Calls back once it has finished, on `thread`, never in here; in the order of registration.
    // Throws OUT_OF_MEMORY.
    void then(std::function<void(const Status&)> callback,
              Callbacks& thread = Callbacks::of_program());

    // The program has been told that it failed.
    virtual void failure_is_known() const noexcept {}
    // Takes a receive back that no message has come for: true if it did. Nothing if this operation
    // can never be cancelled.
    virtual std::optional<bool> cancel() { return std::nullopt; }

    // Set before others know of this work; null: nothing to take.
    void set_results(std::shared_ptr<Results> results) { results_ = std::move(results); }
    [[nodiscard]] const std::shared_ptr<Results>& results() const { return results_; }
    // Frees it at the end.
    void keep(std::shared_ptr<const void> resource);

    [[nodiscard]] const char* operation() const { return operation_; }
    // For a collective: which one of its group it is, from 1 on; else 0.
    void set_sequence_number(uint64_t number) {
        sequence_number_.store(number, std::memory_order_relaxed);
    }
    [[nodiscard]] uint64_t sequence_number() const {
        return sequence_number_.load(std::memory_order_relaxed);
    }
    // From its making to its end; nothing before.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> duration() const;

    // Until all are finished; null is skipped. If the deadline passed first: the index of one that
    // is not.
    static std::optional<size_t> wait_all(std::span<const Work* const> works,
                                          const Deadline& deadline);
    // The lowest index of a finished work; nothing if the deadline passed first.
    static std::optional<size_t> wait_any(std::span<const std::shared_ptr<Work>> works,
                                          const Deadline& deadline);

protected:
    // The operation in the message of a failure; asked only then. Empty: nothing.
    [[nodiscard]] virtual std::string describe() const { return {}; }
    // Called once, when it ends, on the thread that finishes it and before others learn of it; may
    // rewrite the status. What it returns is called when all waiting threads have been woken.
    virtual Afterwards settle(Status& /*status*/) noexcept { return {}; }
    // For settle(): where a receive received from.
    [[nodiscard]] int ending_source() const { return source_; }
    // For a thread that is about to wait until `is_over`, or the deadline: does what it can of it
    // here. The end of this work makes it over.
    using IsOver = Helper::IsOver;
    virtual void help(const IsOver& /*is_over*/, const Deadline& /*deadline*/) const {}
    // Works with the same helper may be waited for together in one help().
    [[nodiscard]] virtual const Helper* helper() const { return nullptr; }
    // A thread asks again and again: moves what can be moved now.
    virtual void look() const noexcept { hurry(); }
    // A thread wants its end and does nothing for it: what has not begun begins now.
    virtual void hurry() const noexcept {}
    // What a waiting thread has to poll; null: nothing. The same from its making on.
    [[nodiscard]] virtual std::shared_ptr<Source> polled() const { return nullptr; }

private:
    struct Waiter {
        Mutex mutex;
        Condition changed;
        bool woken TUTTI_GUARDED_BY(mutex) = false;
        void wait(PollingWait& polling, const Deadline& deadline);
    };
    // In one word with the state: whether a thread must be notified of the end, or has left
    // something here to be done then. Else the end takes no lock, and is the last use of this work.
    static constexpr uint32_t watched = 4;
    template <typename IsMeant>
    class Unfinished;
    static State state_of(uint32_t word) { return static_cast<State>(word & 3); }
    void watch() const noexcept { state_.fetch_or(watched, std::memory_order_seq_cst); }
    [[nodiscard]] bool moves(const Work& other) const;
    bool advance_to(State next, uint32_t but_not_if) noexcept;
    void finish_watched() noexcept;
    void forget(const std::shared_ptr<Waiter>& waiter);
    bool wait_polling(PollingWait& polling, const Deadline& deadline,
                      State least = State::Finished) const;

    const char* const operation_;
    const Clock::time_point started_;
    const void* owner_ = nullptr;
    bool is_on_cpu_ = false;
    std::shared_ptr<Results> results_;
    std::atomic<bool> ending_{false};  // a thread is finishing it
    mutable Mutex mutex_;
    mutable Condition finished_;
    mutable std::atomic<uint32_t> state_{0};
    // Written by the thread that finishes it before it is Finished.
    Status status_;
    int source_ = -1;
    Clock::time_point ended_;
    std::atomic<uint64_t> sequence_number_{0};
    std::vector<std::unique_ptr<Callback>> callbacks_ TUTTI_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<Waiter>> waiters_ TUTTI_GUARDED_BY(mutex_);
    std::shared_ptr<const void> kept_ TUTTI_GUARDED_BY(mutex_);
    std::shared_ptr<const StreamEvent> stream_end_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
