// Polls a backend of a group: a waiting thread does it for its own operation, and while none waits,
// a mover of the group does it for background operations. That is not the thread of background
// collectives, since one of those may wait for a rank that waits for progress here.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "backend/backend.hpp"
#include "base/mutex.hpp"
#include "progress/backoff.hpp"
#include "progress/mover.hpp"
#include "progress/source.hpp"

namespace tutti {

class Poller final : public Source, private Mover::Owner {
public:
    explicit Poller(Backend& backend) : backend_(&backend) {}
    // After close().
    ~Poller() override = default;

    // Polls the backend, unless another thread is at it.
    bool advance() noexcept override;
    void begin_waiting() noexcept override;
    void end_waiting() noexcept override;

    // Around a background operation. The first one starts the mover; throws if that fails.
    void begin_background();
    void end_background() noexcept;

    // All operations have ended. The backend is not used any more when this returns.
    void close() noexcept;

private:
    [[nodiscard]] Attention::Seen seen() noexcept override TUTTI_REQUIRES(mutex_);
    std::optional<Deadline> move() noexcept override;

    std::atomic<bool> busy_{false};  // a thread is in advance(), and may use backend_
    Backend* backend_;               // null: closed
    Mutex mutex_;
    int waiting_ TUTTI_GUARDED_BY(mutex_) = 0;     // threads
    uint64_t waits_ TUTTI_GUARDED_BY(mutex_) = 0;  // that have begun
    int background_ TUTTI_GUARDED_BY(mutex_) = 0;  // operations
    std::atomic<bool> has_begun_{false};           // an operation since the mover looked
    Backoff backoff_;                              // the mover's
    Mover mover_ TUTTI_GUARDED_BY(mutex_){mutex_, *this};
};

}  // namespace tutti
