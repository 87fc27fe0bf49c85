// Where the ranks of one loopback group leave their messages: matches sends with receives and
// copies. One mutex guards all of it; listeners are called after it is released.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "control/stalls.hpp"

namespace tutti::loopback {

class Hub : public std::enable_shared_from_this<Hub> {
public:
    explicit Hub(int size) : ranks_(static_cast<size_t>(size)) {}

    struct Post {
        Transfer* transfer;  // null: a send that was stopped
        int owner;           // the rank that posted it
        int peer;            // -1: a receive from any rank
        bool is_send;
        uint64_t slot;
        void* data;  // a send only reads it
        size_t bytes;
    };

    // Returns when all ranks have come; TIMEOUT names those that have not.
    void meet(int rank, const Deadline& deadline) TUTTI_EXCLUDES(mutex_);

    // Fills transfer.hold. Throws PEER_LOST if the peer is gone, or the reason of the owner's
    // abort.
    void post(const Post& post) TUTTI_EXCLUDES(mutex_);
    void withdraw(const Transfer& transfer) noexcept TUTTI_EXCLUDES(mutex_);
    // Whether the send waited still; the receiver gets an empty message in its place.
    bool stop(const Transfer& transfer) noexcept TUTTI_EXCLUDES(mutex_);
    // Aborts all ranks if another one waits in a different call.
    void stalled(int rank, const control::Stall& stall) noexcept TUTTI_EXCLUDES(mutex_);
    // Ends all that `rank` has posted, now and later.
    void abort(int rank, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
    // The same for every other rank, at once: none of them can leave because of it before the rest
    // know why.
    void abort_others(int rank, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
    // Ends all that others have posted for this rank alone, now and later.
    void leave(int rank) noexcept TUTTI_EXCLUDES(mutex_);

    // The hub of a group of `size` of these ranks, the same for all who ask by the same path.
    std::shared_ptr<Hub> branch(const std::string& path, int size) TUTTI_EXCLUDES(mutex_);
    // Why `rank` cannot count on `peer`.
    [[nodiscard]] Status trouble(int rank, int peer) const TUTTI_EXCLUDES(mutex_);

private:
    struct Done {
        std::shared_ptr<TransferListener> listener;
        Transfer* transfer;
    };
    using Listeners = std::vector<Done>;
    struct Rank {
        Status aborted;
        bool here = false;
        bool gone = false;
    };

    [[nodiscard]] bool matches(const Post& send, const Post& receive) const;
    static void finish(const Post& post, Status status, int peer, size_t bytes,
                       Listeners& listeners);
    template <typename Predicate>
    Listeners finish_where(Predicate&& predicate, const Status& status) noexcept
        TUTTI_REQUIRES(mutex_);
    template <typename Chosen>
    void abort_where(Chosen&& chosen, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
    static void tell(const Listeners& listeners) noexcept;

    [[nodiscard]] std::vector<int> missing() const TUTTI_REQUIRES(mutex_);

    struct Bough {
        std::shared_ptr<Hub> hub;
        int to_come = 0;  // members that have not asked for it
    };

    mutable Mutex mutex_;
    Condition arrived_;
    std::map<std::string, Bough> branches_ TUTTI_GUARDED_BY(mutex_);  // not known to all yet
    std::vector<Rank> ranks_ TUTTI_GUARDED_BY(mutex_);
    control::Stalls stalls_ TUTTI_GUARDED_BY(mutex_);
    std::deque<Post> waiting_ TUTTI_GUARDED_BY(mutex_);  // in the order they came
};

}  // namespace tutti::loopback
