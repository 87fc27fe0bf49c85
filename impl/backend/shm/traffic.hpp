// All messages of this rank: which wait, which are under way, and what goes on with them when
// somebody advances them. Under the lock of its Messages; waits for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "inbox.hpp"
#include "mailbox.hpp"
#include "matching.hpp"
#include "operation.hpp"
#include "outbox.hpp"

namespace tutti::shm {

class Traffic final : private Ends {
public:
    // The mail of every rank, by rank, and which way long data go.
    Traffic(std::span<const MailPlace> mails, Way way, int rank);
    ~Traffic() = default;
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;

    // What the ranks of the group have shared by now.
    void see(const Shared& shared) { shared_ = shared; }

    // From here on it is under way, or has ended already. Throw why it cannot be.
    void post(Sending& message);
    void post(Receiving& receiving);
    // Goes on as far as it can; true if something came of it.
    bool advance();
    // Whether data are on their way in a stream, which come in many pieces.
    [[nodiscard]] bool is_streaming() const;

    // Its time is up: ends it, if nothing of it has moved.
    void time_out(Sending& message);
    void time_out(Receiving& receiving);
    // The same for all of the background.
    void expire(Deadline::Clock::time_point now);
    // Ends all, now and later; only the first status counts.
    void fail(const Status& status);
    // Nothing more comes from that rank, and nothing goes there.
    void fail(int peer, const Status& status);

    // Ranks that something waits for.
    [[nodiscard]] std::vector<int> peers_in_use() const;
    // A receive waits for any rank, and none is left.
    void fail_any(const Status& status);

    // Whoever advances waits for this one: it need not be waked.
    void set_driver(const Operation* operation) { driver_ = operation; }
    // Operations that have a work.
    [[nodiscard]] size_t in_background() const { return in_background_; }
    // Those of them that have ended: their works are still to be finished.
    void take_ended(List<Operation>& ended) { ended.take(ended_); }

private:
    void end(Operation& operation, const Status& status, int source) noexcept override;
    void admit(const Operation& operation);
    void post_to_myself(Sending& message);
    bool take_arrival(Receiving& receiving);
    void hand_over(Sending& message, Receiving& receiving);
    void drop_own(const Sending& message);
    bool advance(int peer);
    void note(int peer) { in_use_[static_cast<size_t>(peer) / 64] |= bit(peer); }
    static uint64_t bit(int peer) { return uint64_t{1} << (static_cast<unsigned>(peer) % 64); }
    [[nodiscard]] bool is_in_use(int peer) const;
    Outbox& outbox(int peer) { return outboxes_[static_cast<size_t>(peer)]; }
    Inbox& inbox(int peer) { return inboxes_[static_cast<size_t>(peer)]; }

    const int rank_;
    const int size_;
    Bell& bell_;  // this rank's
    Status aborted_;
    Matching matching_;
    Shared shared_;
    std::deque<Outbox> outboxes_;   // by rank
    std::deque<Inbox> inboxes_;     // by rank
    std::vector<uint64_t> in_use_;  // a bit for each rank that something may be going on with
    List<Operation> ended_;
    const Operation* driver_ = nullptr;
    size_t in_background_ = 0;
    Deadline::Clock::time_point next_expiry_ = Deadline::Clock::time_point::max();
};

}  // namespace tutti::shm
