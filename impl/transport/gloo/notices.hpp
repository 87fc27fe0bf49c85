// Sends that other ranks have given notice of and no receive has taken, and receives from any rank
// that wait for such a notice: those of all connections, and so of all groups. Gloo's own search
// lists of slots. Any thread, also with a connection's lock held; locks nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "base/match_table.hpp"
#include "base/mutex.hpp"
#include "request.hpp"

namespace tutti::gloo_channel {

class Connection;

class Notices {
public:
    // Ranks are those of the world; slots have their group in them.
    struct Waiting {
        Request::Weak buffer;
        size_t bytes;
    };

    // The rank of that connection will send: the first receive from any rank that waits for it,
    // which waits no more. Nothing: the notice is kept.
    std::optional<Waiting> give(uint64_t slot, int rank, Connection& connection);
    // Takes a notice of that rank; false: there is none.
    bool take(uint64_t slot, int rank) noexcept;
    // The connection whose notice is the first; null: there is none, and this waits for one.
    Connection* first_or_wait(uint64_t slot, Waiting receive);
    // Nothing more comes from that rank.
    void drop_of(int rank) noexcept;
    // The group of that id has ended.
    void forget(uint32_t group_id) noexcept;

private:
    struct Notice {
        uint64_t slot;
        int rank;
        Connection* connection;
        QueuePlace<Notice> in_stream{};
        QueuePlace<Notice> in_slot{};
        std::list<Notice>::iterator place{};
    };
    struct Receive {
        uint64_t slot;
        Waiting what;
        uint64_t turn = 0;
        QueuePlace<Receive> waiting{};
        std::list<Receive>::iterator place{};
    };
    template <typename Chosen>
    void remove_notices_if(Chosen&& chosen) noexcept TUTTI_REQUIRES(mutex_);

    Mutex mutex_;
    uint64_t turns_ TUTTI_GUARDED_BY(mutex_) = 0;
    MatchTable<Receive, Notice> matching_ TUTTI_GUARDED_BY(mutex_);
    std::list<Notice> notices_ TUTTI_GUARDED_BY(mutex_);
    std::list<Receive> receives_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::gloo_channel
