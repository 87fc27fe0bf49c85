// The thread that moves what no caller waits for. It looks a while after something was posted, less
// and less often as long as callers move everything themselves, and sleeps when there has been
// nothing for a while. Everything but note_new() and needs_notice() is called under the lock of its
// owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "attention.hpp"
#include "base/deadline.hpp"
#include "base/mutex.hpp"

namespace tutti {

class Mover {
public:
    class Owner {
    public:
        // Under the lock. `is_new` is the mover's.
        [[nodiscard]] virtual Attention::Seen seen() noexcept = 0;
        // Without the lock: moves what there is, or sleeps until there may be something to move, on
        // what the owner wakes after end(). A rest: the mover waits for that or a notice first.
        virtual std::optional<Deadline> move() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    // `tick_ms`: after that time without a call, move() is called though nothing is under way; -1:
    // never. Throws INVALID_ARGUMENT for what TUTTI_PROGRESS is.
    Mover(Mutex& mutex, Owner& owner, int64_t tick_ms = -1)
        : mutex_(mutex), owner_(owner), tick_ms_(tick_ms) {}
    // After the thread that end() gave has been joined.
    ~Mover() = default;
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    // Starts the thread if there is none. Throws OUT_OF_MEMORY.
    void start();
    // The thread, to be joined without the lock; not joinable: there is none.
    [[nodiscard]] std::thread end() noexcept;

    // There is more that nobody may wait for. Any thread, without the lock.
    void note_new() noexcept { has_new_ = true; }
    // Whether notify() is needed now, after note_new().
    [[nodiscard]] bool needs_notice() const noexcept { return is_parked_; }
    // The mover looks what there is, if it sleeps for long.
    void notify() noexcept;
    // The same, also if it rests.
    void wake() noexcept { changed_.notify_one(); }
    // A thread waits that does not move anything: the mover begins now, rest or not.
    void call() noexcept;
    [[nodiscard]] bool is_called() const noexcept { return is_called_; }
    // Something long has come: true if the mover is to look now. It does so if it rests.
    bool shorten() noexcept;

private:
    void run() noexcept;
    bool park(Lock& lock, uint64_t waits);
    [[nodiscard]] Attention::Seen look() noexcept;

    Mutex& mutex_;
    Owner& owner_;
    const int64_t tick_ms_;
    std::atomic<bool> has_new_{false};
    std::atomic<bool> is_parked_{false};
    std::atomic<bool> is_called_{false};
    Condition changed_;
    Attention attention_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace tutti
