// Runs steps when a device has come so far. A thread of the process looks, while there is something
// to look for. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "driver.hpp"

namespace tutti::device {

// Tells those who wait for a device to give up. Any thread; only the first reason counts.
class Stop {
public:
    void set(const Status& reason);
    [[nodiscard]] bool is_set() const { return is_set_.load(std::memory_order_acquire); }
    // Throws the reason, if there is one.
    void check() const;

private:
    mutable Mutex mutex_;
    Status reason_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> is_set_{false};
};

class Watcher {
public:
    // Steps of one order run one after the other: `number` of an owner's. No owner: no order.
    struct Order {
        const void* owner = nullptr;
        int64_t number = 0;
        bool operator==(const Order&) const = default;
    };
    // How one step ended. What it returns is what to wait for before it is called again; null: it
    // is done. Runs on the watcher's thread, throws nothing and waits for nobody.
    using Step = std::function<EventPointer(const Status&)>;

    static Watcher& of_process();

    // Before anything begins that will need it. Throws OUT_OF_MEMORY if there can be no thread.
    void start_thread();
    struct Wait {
        EventPointer event;  // null: has passed
        Step step;
        // For the first step only; afterwards the device uses the memory, and will end.
        Deadline deadline = Deadline::never();
        std::shared_ptr<const Stop> stop{};
        Order order{};  // those of one order are called as they were added, unless one is too late
    };
    // After start_thread().
    void add(Wait wait);
    // Holds it until the device has come past the event. After start_thread().
    void keep(EventPointer until, std::shared_ptr<const void> used);

private:
    [[noreturn]] void run() noexcept;
    // True if anything moved.
    bool look(std::list<Wait>& waits) noexcept;
    static bool is_over(const Wait& wait, bool is_held, Status& status) noexcept;

    Mutex mutex_;
    Condition changed_;
    bool is_running_ TUTTI_GUARDED_BY(mutex_) = false;
    std::list<Wait> added_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::device
