// Asks a polled backend of a group to move on: a thread that waits for one of its operations does
// so itself; while nobody waits, a thread of the group does it for operations in the background.
// Not the thread that runs collectives in the background: one of those may wait for another rank
// that waits for what is to be moved here.
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
    // close() has come before.
    ~Poller() override = default;

    bool poll() noexcept override;
    void begin_waiting() noexcept override;
    void end_waiting() noexcept override;

    // Around an operation in the background. The first one starts the thread; throws if there is
    // none to have.
    void begin_background();
    void end_background() noexcept;

    // All operations have ended. Returns when the backend is left alone for good.
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
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
