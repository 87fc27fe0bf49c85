// std::mutex and friends with the annotations that clang's -Wthread-safety checks. Any thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "deadline.hpp"
#include "pause.hpp"

#if defined(__clang__)
#define TUTTI_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TUTTI_THREAD_ANNOTATION(x)
#endif

#define TUTTI_GUARDED_BY(mutex) TUTTI_THREAD_ANNOTATION(guarded_by(mutex))
#define TUTTI_REQUIRES(...) TUTTI_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define TUTTI_NO_THREAD_SAFETY_ANALYSIS TUTTI_THREAD_ANNOTATION(no_thread_safety_analysis)
#define TUTTI_EXCLUDES(...) TUTTI_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace tutti {

// Locks are held for a short time: to sleep, and to be woken, takes longer than that.
template <typename Lockable>
void lock_soon(Lockable& mutex) {
    constexpr int looks = 50;
    for (int look = 0; look < looks; ++look) {
        if (mutex.try_lock()) return;
        pause();
    }
    mutex.lock();
}

class TUTTI_THREAD_ANNOTATION(capability("mutex")) Mutex {
public:
    void lock() TUTTI_THREAD_ANNOTATION(acquire_capability()) { lock_soon(mutex_); }
    void unlock() TUTTI_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
    bool try_lock() TUTTI_THREAD_ANNOTATION(try_acquire_capability(true)) {
        return mutex_.try_lock();
    }
    std::mutex& native() { return mutex_; }

private:
    std::mutex mutex_;
};

class TUTTI_THREAD_ANNOTATION(scoped_lockable) Lock {
public:
    explicit Lock(Mutex& mutex) TUTTI_THREAD_ANNOTATION(acquire_capability(mutex))
        : lock_(mutex.native(), std::defer_lock) {
        lock();
    }
    ~Lock() TUTTI_THREAD_ANNOTATION(release_capability()) = default;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void unlock() TUTTI_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }
    void lock() TUTTI_THREAD_ANNOTATION(acquire_capability()) { lock_soon(lock_); }
    std::unique_lock<std::mutex>& native() { return lock_; }

private:
    std::unique_lock<std::mutex> lock_;
};

// Loops around wait() belong to the caller: while (!ready_) condition.wait(lock);
class Condition {
public:
    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }
    void wait(Lock& lock) { condition_.wait(lock.native()); }
    // False when the deadline has passed.
    bool wait(Lock& lock, const Deadline& deadline) {
        if (deadline.is_never()) {
            condition_.wait(lock.native());
            return true;
        }
        return condition_.wait_until(lock.native(), deadline.when()) == std::cv_status::no_timeout;
    }

private:
    std::condition_variable condition_;
};

}  // namespace tutti
