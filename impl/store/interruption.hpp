// Ends waits on a handle of a store early: each call that may wait has its handle's current
// Interruption, and interrupting the handle makes that one happen and replaces it, so that later
// calls are not concerned. Any thread.
#pragma once

#include <atomic>
#include <memory>

#include "base/mutex.hpp"
#include "net/descriptor.hpp"
#include "progress/event.hpp"

namespace tutti {

class Interruption {
public:
    void happen() noexcept;
    [[nodiscard]] bool happened() const noexcept {
        return happened_.load(std::memory_order_acquire);
    }
    // Until then, or until it happens.
    void sleep(const Deadline& until) noexcept;
    // For poll(2): readable once it has happened. Opened when first asked for. Throws
    // OUT_OF_MEMORY.
    [[nodiscard]] int descriptor();

private:
    std::atomic<bool> happened_{false};
    Event event_;
    Mutex mutex_;
    net::Descriptor descriptor_ TUTTI_GUARDED_BY(mutex_);
};

// How long a call may wait: until a deadline, or until it is interrupted. Small, copied freely.
class WaitLimit {
public:
    // `interruption` is borrowed; without one, only the deadline ends the wait.
    WaitLimit(const Deadline& deadline, Interruption* interruption = nullptr)
        : deadline_(begun(deadline)), interruption_(interruption) {}

    [[nodiscard]] const Deadline& deadline() const { return deadline_; }
    [[nodiscard]] bool interrupted() const noexcept {
        return interruption_ != nullptr && interruption_->happened();
    }
    [[nodiscard]] bool over() const { return interrupted() || deadline_.expired(); }
    // A descriptor that is readable once interrupted; -1: never.
    [[nodiscard]] int descriptor() const {
        return interruption_ == nullptr ? -1 : interruption_->descriptor();
    }
    // The same with another deadline.
    [[nodiscard]] WaitLimit with(const Deadline& deadline) const {
        return {deadline, interruption_};
    }
    // For so long, or until it is over.
    void sleep(Deadline::Clock::duration pause) const;

private:
    // Copies of a deadline that has not begun would each count for themselves.
    static const Deadline& begun(const Deadline& deadline) {
        (void)deadline.when();
        return deadline;
    }

    Deadline deadline_;
    Interruption* interruption_;
};

// A handle's current interruption. Any thread.
class Interruptible {
public:
    [[nodiscard]] std::shared_ptr<Interruption> current();
    // Makes it happen; later calls get another.
    void interrupt();

private:
    Mutex mutex_;
    std::shared_ptr<Interruption> current_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
