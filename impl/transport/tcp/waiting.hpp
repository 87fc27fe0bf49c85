// Which thread moves a rank's connections. One of those that wait for something does: it looks for
// a while, then sleeps until a socket has something or another thread has notified it. The others
// sleep until they are notified. While none waits, a mover does: if something is under way that was
// left alone since its last look, else after a while. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "net/bell.hpp"
#include "progress/driver.hpp"
#include "progress/mover.hpp"
#include "progress/pace.hpp"

namespace tutti::tcp {

class Waiting final : public Driver, private Mover::Owner {
public:
    // `sockets`: readable when `advance` has something to move. `spins`: how often to look before
    // others may run.
    Waiting(std::function<bool()> advance, int sockets, int spins);
    ~Waiting() override;

    bool advance() noexcept override { return advance_(); }
    [[nodiscard]] int spins() const noexcept override { return spins_; }
    void begin_waiting() noexcept override;
    void end_waiting() noexcept override;
    void begin_sleeping() noexcept override;
    void end_sleeping() noexcept override;
    void hurry() noexcept override;
    bool wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept override;

    // The requests under way that no thread may be waiting for.
    [[nodiscard]] std::atomic<size_t>& unattended() { return unattended_; }
    // There is more of that.
    void employ() noexcept;
    // Wakes a thread that has been notified, and may sleep.
    void wake() noexcept;

    // The mover. Throws OUT_OF_MEMORY.
    void start();
    void stop() noexcept;

private:
    bool lead(Event& event, uint32_t ticket, const Deadline& deadline) noexcept;
    void sleep(const Event& event, uint32_t ticket, const Deadline& deadline) noexcept;
    bool begin(Event& event);
    void end(Event& event) noexcept;
    [[nodiscard]] Attention::Seen seen() noexcept override;
    std::optional<Deadline> move() noexcept override;

    const std::function<bool()> advance_;
    const int sockets_;
    const int spins_;
    const net::Bell alarm_;         // for the leader
    const net::Bell bell_;          // for the mover
    std::atomic<int> inside_{0};    // threads that wait
    std::atomic<int> sleeping_{0};  // threads that wait elsewhere, and count on the mover
    std::atomic<uint64_t> entered_{0};
    std::atomic<size_t> unattended_{0};
    std::atomic<bool> is_asleep_{false};  // the leader
    Crowd crowd_;

    Mutex mutex_;
    Event* leader_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    std::vector<Event*> followers_ TUTTI_GUARDED_BY(mutex_);
    Mover mover_;
};

}  // namespace tutti::tcp
