// Which thread moves a rank's connections. One of those that wait for something does: it looks for
// a while, then sleeps until a socket has something or another thread has told it. The others sleep
// until they are told. While none waits, a thread of our own does: if something is under way that
// was left alone since its last look, else after a while. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/driver.hpp"
#include "base/mutex.hpp"
#include "net/descriptor.hpp"
#include "progress/looks.hpp"

namespace tutti::tcp {

class Waiting final : public Driver {
public:
    // `sockets`: readable when `advance` has something to move. `spins`: how often to look before
    // others may run.
    Waiting(std::function<bool()> advance, int sockets, int spins);
    ~Waiting() override;

    bool advance() noexcept override { return advance_(); }
    [[nodiscard]] int spins() const noexcept override { return spins_; }
    void enter() noexcept override;
    void leave() noexcept override;
    void leave_to_sleep() noexcept override;
    void enter_from_sleep() noexcept override;
    void hurry() noexcept override;
    bool wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept override;

    // The requests under way that no thread may be waiting for.
    [[nodiscard]] std::atomic<size_t>& unattended() { return unattended_; }
    // There is more of that.
    void employ() noexcept;
    // Wakes a thread that has been told, and may sleep.
    void wake() noexcept;

    // The thread of our own. Throws OUT_OF_MEMORY.
    void start();
    void stop() noexcept;

private:
    bool lead(Event& event, uint32_t ticket, const Deadline& deadline) noexcept;
    void sleep(const Event& event, uint32_t ticket, const Deadline& deadline) noexcept;
    bool begin(Event& event);
    void end(Event& event) noexcept;
    void attend() noexcept;
    bool rest(Lock& lock) TUTTI_REQUIRES(mutex_);
    [[nodiscard]] bool is_employed() const {
        return inside_.load() == 0 &&
               (unattended_.load() > 0 || sleeping_.load() > 0 || is_called_.load());
    }

    const std::function<bool()> advance_;
    const int sockets_;
    const int spins_;
    const net::Descriptor alarm_;   // readable: the leader looks again
    const net::Descriptor bell_;    // readable: the thread of our own looks again
    std::atomic<int> inside_{0};    // threads that wait
    std::atomic<int> sleeping_{0};  // threads that wait elsewhere, and count on ours
    std::atomic<uint64_t> entered_{0};
    std::atomic<size_t> unattended_{0};
    std::atomic<bool> is_asleep_{false};  // the leader
    std::atomic<int> crowded_waits_{
        0};  // of the leader, which sleeps at once: others need the processor
    std::atomic<bool> is_parked_{false};  // the thread of our own, for long
    std::atomic<bool> is_called_{false};
    std::atomic<bool> has_new_{false};  // unattended ones, since that thread looked

    Mutex mutex_;
    Condition employed_;
    Event* leader_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    std::vector<Event*> followers_ TUTTI_GUARDED_BY(mutex_);
    Looks looks_ TUTTI_GUARDED_BY(mutex_);
    uint64_t seen_entered_ TUTTI_GUARDED_BY(mutex_) = 0;    // by the thread of our own, at its last
    bool saw_unattended_ TUTTI_GUARDED_BY(mutex_) = false;  // look
    bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::tcp
