// Point-to-point messages with tags, matched with receives under one lock, in the order in which
// messages arrived and receives were started. A Peer for each other rank moves the data. A deadline
// ends only operations that have not begun: a receive without a message, a send whose data have not
// begun to move. An operation that has begun goes on to its end, so no message is lost.
//
// A waiting caller advances all messages of its rank on its own thread. Messages that no caller
// waits for are advanced by the mover, a thread started with the first that needs it. Peers of
// channels need none: they call enter() when something has arrived. Any thread. Order of locks:
// this one, then the alarm's, or those of a channel that carries tags.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "call/message.hpp"
#include "operation.hpp"
#include "progress/alarm.hpp"
#include "progress/doorbell.hpp"
#include "progress/driver.hpp"
#include "progress/gate.hpp"
#include "progress/helper.hpp"
#include "progress/mover.hpp"
#include "progress/pace.hpp"
#include "queues.hpp"
#include "work/work.hpp"

namespace tutti::message {

// Why this rank cannot count on that one; for itself: why the group has failed. Any thread.
using Trouble = std::function<Status(int rank)>;

class Messages : public Helper,
                 private Mover::Owner,
                 public std::enable_shared_from_this<Messages> {
public:
    struct Setting {
        int rank = 0;
        int size = 1;
        Trouble trouble;               // asked about driven peers and this rank
        Doorbell* doorbell = nullptr;  // that driven peers ring; null: there are none
        int spins = 0;                 // how often to look before others may run
        bool looks_early = false;      // for long messages that nobody waits for
        Driver* driver = nullptr;      // of the channel; null: there is none to move
    };
    explicit Messages(Setting setting);
    ~Messages() override;

    // On this thread; throw a failure. Returns the source.
    void send(const Send& call, const Deadline& deadline);
    int receive(const Receive& call, const Deadline& deadline);
    // All of them, started in their order, on this thread.
    BatchEnd run(std::span<const Message> batch, const Deadline& deadline);
    // In the background; throw why it cannot start.
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work);
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work);
    // All of them, in their order; one that cannot start has finished with why.
    void start(std::span<const Message> batch, const Deadline& deadline,
               std::span<const std::shared_ptr<Work>> works);

    // For threads that want the end of works.
    void help(const IsOver& is_over, const Deadline& deadline) override;
    bool advance() noexcept override;
    void hurry() noexcept override;

    // Ends that receive, if no message has come for it: true if so.
    bool cancel(const Work& receive) noexcept;

    // Ends all operations, now and later; only the first status counts. Transfers of a channel end
    // with the channel, which is aborted first.
    void abort(const Status& status) noexcept;
    // After the abort: returns when nothing here uses memory of other ranks or a channel.
    void close() noexcept;

    // act(queues) under the lock, then its deferred calls without. Adds peers before all messages;
    // peers that are not driven report arrivals.
    template <typename Act>
    void enter(Act&& act) {
        Deferred after;
        {
            const Lock lock(mutex_);
            queues_.set_driver(nullptr);
            act(queues_);
            leave(after);
        }
        finish(after);
    }

private:
    using Clock = Deadline::Clock;
    static constexpr std::chrono::milliseconds between_looks{10};
    static constexpr std::chrono::microseconds mover_yields{50};

    template <typename End>
    void run(End& end);
    template <typename Post>
    void begin(const Deadline& deadline, Post&& post);
    void begin_alone(std::unique_ptr<Operation> operation);
    bool employ_for(const Operation& operation) TUTTI_REQUIRES(mutex_);
    template <typename End>
    void await(End& end, bool is_driven);
    [[nodiscard]] Pace pace_of(bool is_driven) const;
    enum class Step { Nothing, Moved, Done };
    template <typename End>
    Step step(End& end);
    template <typename End>
    void doze(End& end, Clock::duration longest);
    void look_around();
    void ring() noexcept;
    [[nodiscard]] Attention::Seen seen() noexcept override TUTTI_REQUIRES(mutex_);
    std::optional<Deadline> move() noexcept override;

    void finish(Deferred& after) noexcept;

    // Under the lock.
    void collect(Deferred& after) noexcept TUTTI_REQUIRES(mutex_);
    void leave(Deferred& after) noexcept TUTTI_REQUIRES(mutex_);
    void watch(Clock::time_point when) TUTTI_REQUIRES(mutex_);
    void enter_wait() TUTTI_REQUIRES(mutex_);
    void leave_wait() TUTTI_REQUIRES(mutex_);
    void employ_mover() TUTTI_REQUIRES(mutex_);
    void count_mover() TUTTI_REQUIRES(mutex_);
    void uncount_mover() TUTTI_REQUIRES(mutex_);

    const int rank_;
    const Trouble trouble_;
    const int spins_;
    const bool looks_early_;
    Driver* const driver_;
    const std::shared_ptr<Alarm> alarm_;
    Doorbell own_doorbell_{};
    Doorbell& doorbell_;

    Gate finishing_;                          // threads that are about to use the doorbell
    std::atomic<bool> may_have_some_{false};  // in the background; for those who only look
    Mutex mutex_;
    Queues queues_ TUTTI_GUARDED_BY(mutex_);
    Clock::time_point next_look_ TUTTI_GUARDED_BY(mutex_);
    Alarm::Id watching_ TUTTI_GUARDED_BY(mutex_) = 0;  // for what is late first,
    Clock::time_point watched_ TUTTI_GUARDED_BY(mutex_) = Clock::time_point::max();  // at that time
    uint64_t calls_ TUTTI_GUARDED_BY(mutex_) = 0;                                    // here and now
    int waiters_ TUTTI_GUARDED_BY(mutex_) = 0;          // threads that move what there is
    uint64_t waits_ TUTTI_GUARDED_BY(mutex_) = 0;       // that have begun
    bool is_dozing_ TUTTI_GUARDED_BY(mutex_) = false;   // the mover waits for the doorbell,
    bool is_counted_ TUTTI_GUARDED_BY(mutex_) = false;  // as one of its sleepers
    // The mover's thread alone uses these.
    Pace mover_pace_{0, mover_yields};
    Clock::time_point mover_looked_{};
    Mover mover_ TUTTI_GUARDED_BY(mutex_) = Mover(mutex_, *this);
};

}  // namespace tutti::message
