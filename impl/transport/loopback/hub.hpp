// Where the ranks of one loopback group post their messages: matches sends with receives and
// copies. One mutex guards all of it; listeners are called after it is released.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "base/mutex.hpp"
#include "transport/channel.hpp"

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

    // Fills transfer.hold. Throws PEER_LOST if the peer is gone, or the reason of the owner's
    // abort.
    void post(const Post& post) TUTTI_EXCLUDES(mutex_);
    void withdraw(const Transfer& transfer) noexcept TUTTI_EXCLUDES(mutex_);
    // Whether the send waited still; the receiver gets an empty message in its place.
    bool stop(const Transfer& transfer) noexcept TUTTI_EXCLUDES(mutex_);
    // Ends all that `rank` has posted, now and later.
    void abort(int rank, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
    // Ends all that `rank` has posted for that one alone, now and later: it has left.
    void peer_left(int rank, int peer) noexcept TUTTI_EXCLUDES(mutex_);

private:
    struct Done {
        std::shared_ptr<TransferListener> listener;
        Transfer* transfer;
    };
    using Listeners = std::vector<Done>;
    struct Rank {
        Status aborted;
        std::set<int> gone;  // ranks that have left
    };

    [[nodiscard]] bool matches(const Post& send, const Post& receive) const;
    static void finish(const Post& post, Status status, int peer, size_t bytes,
                       Listeners& listeners);
    template <typename Predicate>
    Listeners finish_where(Predicate&& predicate, const Status& status) noexcept
        TUTTI_REQUIRES(mutex_);
    static void notify(const Listeners& listeners) noexcept;

    Mutex mutex_;
    std::vector<Rank> ranks_ TUTTI_GUARDED_BY(mutex_);
    std::deque<Post> waiting_ TUTTI_GUARDED_BY(mutex_);  // in the order of their posts
};

}  // namespace tutti::loopback
