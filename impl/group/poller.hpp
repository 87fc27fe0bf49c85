// Polls a backend of a group: a waiting thread does it for its own operation, and while none waits,
// a thread of the group does it for background operations. That is not the thread of background
// collectives, since one of those may wait for a rank that waits for progress here.
#pragma once

#include <atomic>
#include <thread>

#include "backend/backend.hpp"
#include "base/mutex.hpp"
#include "work/progress.hpp"

namespace tutti {

class Poller : public Progress {
public:
    explicit Poller(Backend& backend) : backend_(&backend) {}
    // After close().
    ~Poller() override = default;

    bool poll() noexcept override;
    void begin_waiting() noexcept override;
    void end_waiting() noexcept override;

    // Around a background operation. The first one starts the thread; throws if that fails.
    void begin_background();
    void end_background() noexcept;

    // All operations have ended. The backend is not used any more when this returns.
    void close() noexcept;

private:
    void run() noexcept;

    std::atomic<bool> busy_{false};  // a thread is in poll(), and may use backend_
    Backend* backend_;               // null: closed
    Mutex mutex_;
    Condition changed_;
    int waiting_ TUTTI_GUARDED_BY(mutex_) = 0;     // threads
    int background_ TUTTI_GUARDED_BY(mutex_) = 0;  // operations
    bool begun_ TUTTI_GUARDED_BY(mutex_) = false;  // an operation since the thread looked
    bool closed_ TUTTI_GUARDED_BY(mutex_) = false;
    bool wakes_soon_ TUTTI_GUARDED_BY(mutex_) = false;  // by itself: nobody need wake the thread
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
