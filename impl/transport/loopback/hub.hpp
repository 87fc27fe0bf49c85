// Where the ranks of one loopback group post their messages: matches sends with receives and
// copies. One mutex guards all of it; listeners are called after it is released.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/list.hpp"
#include "base/match_table.hpp"
#include "base/mutex.hpp"
#include "transport/channel.hpp"

namespace tutti::loopback {

class Hub : public std::enable_shared_from_this<Hub> {
public:
    explicit Hub(int size) : ranks_(static_cast<size_t>(size)) {}
    ~Hub();
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    struct Post : Listed {
        Post(Transfer& its_transfer, int by, int to_or_from, bool sends, Slot its_slot,
             void* memory, size_t size)
            : transfer(&its_transfer),
              owner(by),
              peer(to_or_from),
              is_send(sends),
              is_collective(its_slot.is_collective()),
              slot(its_slot.value()),
              data(memory),
              bytes(size) {}

        Transfer* transfer;  // null: a send that was stopped
        const int owner;     // the rank that posted it
        const int peer;      // -1: a receive from any rank
        const bool is_send;
        const bool is_collective;
        const uint64_t slot;
        void* data;  // a send only reads it
        size_t bytes;
        // While it waits, in the table of the rank that receives.
        uint64_t turn = 0;
        QueuePlace<Post> waiting;    // of a receive
        QueuePlace<Post> in_stream;  // of a send
        QueuePlace<Post> in_slot;
    };

    // Fills transfer.hold. Throws PEER_LOST if the peer is gone, or the reason of the owner's
    // abort.
    void post(std::unique_ptr<Post> post) TUTTI_EXCLUDES(mutex_);
    void withdraw(Post& post) noexcept TUTTI_EXCLUDES(mutex_);
    // Whether the send waited still; the receiver gets an empty message in its place, and the hub
    // the post.
    bool stop(std::unique_ptr<Post>& post) noexcept TUTTI_EXCLUDES(mutex_);
    // Ends all that `rank` has posted, now and later.
    void abort(int rank, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
    void abort_messages(int rank, const Status& status) noexcept TUTTI_EXCLUDES(mutex_);
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
        Status messages_aborted;          // or the same
        std::set<int> gone;               // ranks that have left
        MatchTable<Post, Post> matching;  // its receives, and sends to it
        List<Post> posted;                // what it has posted and waits, in order
        uint64_t turns = 0;
    };

    [[nodiscard]] Rank& rank(int number) TUTTI_REQUIRES(mutex_) {
        return ranks_[static_cast<size_t>(number)];
    }
    [[nodiscard]] Post* partner_of(const Post& post) TUTTI_REQUIRES(mutex_);
    void wait(Post& post) TUTTI_REQUIRES(mutex_);
    void leave(Post& post) noexcept TUTTI_REQUIRES(mutex_);
    static void meet(Post& send, Post& receive, Listeners& listeners);
    static void finish(const Post& post, Status status, int peer, size_t bytes,
                       Listeners& listeners);
    // Ends posts of that rank.
    template <typename Predicate>
    void finish_where(int owner, Predicate&& predicate, const Status& status,
                      Listeners& listeners) noexcept TUTTI_REQUIRES(mutex_);
    static void notify(const Listeners& listeners) noexcept;

    Mutex mutex_;
    std::vector<Rank> ranks_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::loopback
