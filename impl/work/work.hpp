// An operation that runs while its caller goes on: finishes exactly once, on any thread; any number
// of threads wait. Holds no lock while it wakes them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"

namespace tutti {

class Work {
public:
    // What the operation is, for the message of a failure; asked only then.
    using Describe = std::function<std::string()>;

    explicit Work(Describe describe = nullptr) : describe_(std::move(describe)) {}
    // Ends the operation; only the first call counts. `source` is the rank a receive received from.
    void finish(Status status, int source = -1) noexcept;

    // False if the deadline passed first; the operation goes on.
    bool wait(const Deadline& deadline) const;
    [[nodiscard]] bool is_completed() const;
    // How it ended; nothing while it runs.
    [[nodiscard]] std::optional<Status> status() const;
    [[nodiscard]] int source_rank() const;

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

    const Describe describe_;
    mutable Mutex mutex_;
    mutable Condition finished_;
    bool completed_ TUTTI_GUARDED_BY(mutex_) = false;
    Status status_ TUTTI_GUARDED_BY(mutex_);
    int source_ TUTTI_GUARDED_BY(mutex_) = -1;
    std::vector<std::shared_ptr<Waiter>> waiters_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
