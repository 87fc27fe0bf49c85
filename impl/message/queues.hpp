// All messages of this rank, waiting and in flight, and the steps that advance them. Under the lock
// of its Messages; never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "expiries.hpp"
#include "matching.hpp"
#include "operation.hpp"
#include "peer.hpp"
#include "progress/doorbell.hpp"

namespace tutti::message {

// Left to do after the unlock: calls, works of ended operations, and threads to wake that wait for
// one.
struct Deferred {
    std::vector<std::function<void()>> calls;
    List<Operation> ended;
    Peer* to_flush = nullptr;
    bool wakes = false;

    // `doorbell`: on which those threads sleep.
    void run(Doorbell& doorbell) noexcept;
    [[nodiscard]] bool empty() const {
        return !wakes && to_flush == nullptr && calls.empty() && ended.empty();
    }
};

class Queues {
public:
    using TimePoint = Deadline::Clock::time_point;

    Queues(int rank, int size);
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;

    // The peer of a rank; any_source: the one that receives from any source use besides the driven
    // ones. Before all messages.
    void add(int rank, std::unique_ptr<Peer> peer);
    // Whether it ends only if a thread advances the messages, or looks for trouble.
    [[nodiscard]] bool is_driven(const Operation& operation) const {
        return is_driven(operation.peer());
    }

    // Starts it; it may have ended already. Throw why it cannot start.
    void post(Sending& message);
    void post(Receiving& receiving);
    // Advances as far as possible; true if anything moved.
    bool advance();
    // Whether data in many pieces are in flight.
    [[nodiscard]] bool is_streaming() const;

    // Ends the receive of this work with that status, if no message has come for it: true if so.
    bool cancel(const Work& receive, const Status& status);
    // Its deadline has passed: ends it, if nothing of it has moved.
    void time_out(Sending& message);
    void time_out(Receiving& receiving);
    // The same for all background operations; and the next deadline among them.
    void expire(TimePoint now);
    [[nodiscard]] TimePoint next_expiry() const { return expiries_.next(); }
    // Ends all, now and later; only the first status counts.
    void fail(const Status& status);
    // Rank `peer` is gone.
    void fail(int peer, const Status& status);

    // Ranks whose loss only this engine can report to waiting operations.
    [[nodiscard]] std::vector<int> peers_in_use() const;
    // So many of those are gone: ends receives from any source if no other rank is left.
    void fail_any_if_alone(size_t gone);
    [[nodiscard]] std::vector<Peer*> all_peers() const;

    // The advancing thread waits for this one itself, so its end need not wake a thread.
    void set_driver(const Operation* operation) { driver_ = operation; }
    // Operations that have a work and are driven.
    [[nodiscard]] size_t in_background() const { return in_background_; }
    // Everything deferred since the last time.
    void take(Deferred& deferred) {
        if (!calls_.empty()) {
            deferred.calls.swap(calls_);
            ++round_;
        }
        deferred.ended.take(ended_);
        deferred.to_flush = std::exchange(to_flush_, nullptr);
        deferred.wakes = std::exchange(wakes_, false);
    }

    // An operation has ended.
    void end(Operation& operation, const Status& status, int source = -1) noexcept;
    // A message has arrived: goes to its receive, or waits for one.
    void arrive(std::unique_ptr<Arrival> arrival);
    // A receive that waits has found its message.
    void stop_waiting(Receiving& receiving);
    // The message of that receive was withdrawn: it takes the next one.
    void rejoin(Receiving& receiving);
    // Ends the receives that wait for messages of this source with this tag.
    void fail_waiting(int source, int tag, const Status& status);
    // A call to make soon, on this thread, without the lock, in order; must not throw.
    void later(std::function<void()> call) { calls_.push_back(std::move(call)); }
    // Peer::flush() is called soon, of one of those that are given here: it is for all of them.
    void flush_later(Peer& peer) { to_flush_ = &peer; }
    // Calls of one round are made one after the other, by one thread.
    [[nodiscard]] uint64_t round() const { return round_; }
    [[nodiscard]] Matching& matching() { return matching_; }
    // Null: it is this rank.
    [[nodiscard]] Peer* peer(int rank) const { return peers_[static_cast<size_t>(rank)].get(); }

private:
    [[nodiscard]] bool is_driven(int peer) const;
    void admit(Operation& operation);
    void join(Receiving& receiving);
    bool take_arrival(Receiving& receiving);
    void wait_for_message(Receiving& receiving);
    template <typename Chosen>
    void fail_waiting_where(Chosen&& chosen, const Status& status);
    void hand_over(Sending& message, Receiving& receiving);
    bool advance(int peer);
    void begin(int peer);
    template <typename Act>
    bool with(int peer, Act&& act);
    [[nodiscard]] Peer* asked_by(const Receive& call) const {
        return call.source == any_source ? anybody_.get() : peer(call.source);
    }
    void note(int peer) { in_use_[static_cast<size_t>(peer) / 64] |= bit(peer); }
    static uint64_t bit(int peer) { return uint64_t{1} << (static_cast<unsigned>(peer) % 64); }
    [[nodiscard]] bool is_in_use(int peer) const;

    const int rank_;
    Status aborted_;
    Matching matching_;
    std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: this one
    std::unique_ptr<Peer> anybody_;             // may be null
    std::vector<int> driven_;                   // peers that a thread has to advance
    size_t first_asked_ = 0;                    // of those, for a message from any source
    uint64_t taken_from_any_ = 0;               // messages
    std::vector<uint64_t> in_use_;  // a bit for each of them that something may be going on with
    List<Operation> ended_;
    std::vector<std::function<void()>> calls_;
    Peer* to_flush_ = nullptr;
    uint64_t round_ = 1;  // of calls
    const Operation* driver_ = nullptr;
    bool wakes_ = false;  // an operation has ended whose thread may sleep
    uint64_t turns_ = 0;
    size_t in_background_ = 0;
    Expiries expiries_;
};

}  // namespace tutti::message
