// An operation that runs while its caller goes on: finishes exactly once, on any thread; any number
// of threads wait. Holds no lock while it wakes them.
#pragma once

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

namespace tutti {

class Work {
public:
    // What the operation is, for the message of a failure; asked only then.
    using Describe = std::function<std::string()>;

    // `operation` is a literal: "all_reduce".
    explicit Work(Describe describe = nullptr, const char* operation = "")
        : describe_(std::move(describe)), operation_(operation) {}
    // Ends the operation; only the first call counts. `source` is the rank a receive received from.
    void finish(Status status, int source = -1) noexcept;

    // False if the deadline passed first; the operation goes on.
    bool wait(const Deadline& deadline) const;
    [[nodiscard]] bool is_completed() const;
    // How it ended; nothing while it runs.
    [[nodiscard]] std::optional<Status> status() const;
    [[nodiscard]] int source_rank() const;

    // Calls back once it has finished, on that thread, never in here; in the order of registration.
    // Throws OUT_OF_MEMORY.
    void then(std::function<void(const Status&)> callback,
              Callbacks& thread = Callbacks::of_program());

    [[nodiscard]] const char* operation() const { return operation_; }
    // Of a collective: which one of its group it is, from 1 on; else 0.
    void set_number(uint64_t number);
    [[nodiscard]] uint64_t number() const;
    // From its making to its end; nothing while it runs.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> duration() const;

    // The lowest index of a finished work; nothing if the deadline passed first.
    static std::optional<size_t> wait_any(std::span<const std::shared_ptr<Work>> works,
                                          const Deadline& deadline);

private:
    struct Waiter {
        Mutex mutex;
        Condition changed;
        bool woken TUTTI_GUARDED_BY(mutex) = false;
    };
    void forget(const std::shared_ptr<Waiter>& waiter);

    using Clock = std::chrono::steady_clock;

    const Describe describe_;
    const char* const operation_;
    const Clock::time_point started_ = Clock::now();
    mutable Mutex mutex_;
    mutable Condition finished_;
    bool completed_ TUTTI_GUARDED_BY(mutex_) = false;
    Status status_ TUTTI_GUARDED_BY(mutex_);
    int source_ TUTTI_GUARDED_BY(mutex_) = -1;
    uint64_t number_ TUTTI_GUARDED_BY(mutex_) = 0;
    Clock::time_point ended_ TUTTI_GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<Callback>> callbacks_ TUTTI_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<Waiter>> waiters_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
