// Messages with tags, which a channel may carry itself. It hands each one up in the order of its
// sender and matches nothing: who matches it with a receive says what becomes of it. Any thread.
// All functions but flush() may be called under a lock that the listener takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/status.hpp"

namespace tutti {

// A send, or a receive whose data are on their way, until its end has been collected.
struct TaggedPost {};
// A message that has come, or is offered, until it is taken, refused or dropped.
struct TaggedArrival {};

class TaggedMessages {
public:
    class Listener {
    public:
        virtual ~Listener() = default;
        // There are events. No lock of the channel is held.
        virtual void happened() noexcept = 0;
    };

    struct Event {
        enum class Kind : uint8_t {
            Came,     // a message
            Ended,    // a post: `status` says how
            Left,     // that rank: nothing more comes from there, and `status` says why
            Aborted,  // the channel, for that reason; later sends throw it
        };
        Kind kind;
        int peer = -1;  // Sender, receiver, or who has left; -1: a rank that is not in the group.
        // of a message
        TaggedArrival* arrival = nullptr;
        int tag = 0;
        uint32_t type = 0;
        size_t bytes = 0;  // also of a receive whose data have come
        // of a post
        void* owner = nullptr;
        bool is_send = false;
        // The message was taken back by its sender: a send that was stopped, or the data of a
        // receive, which never come.
        bool is_withdrawn = false;
        Status status{};
    };

    virtual ~TaggedMessages() = default;

    virtual void open(std::weak_ptr<Listener> listener) = 0;
    // Appends the events since the last time, in their order.
    virtual void collect(std::vector<Event>& events) = 0;

    // It goes with the next flush(). Its data stay until it has ended. Throws why it cannot start.
    virtual TaggedPost& send(void* owner, int peer, int tag, uint32_t type, ConstBytes data) = 0;
    // True: nothing of the send has moved, nothing will, and it does not end. False: it ends; if no
    // receive has taken it, it comes back, and ends as withdrawn.
    virtual bool stop(TaggedPost& send) noexcept = 0;

    enum class Taken : uint8_t { All, Coming, Withdrawn };
    // Its data go to `into`, which has its size. All: they are there. Coming: the post of that
    // owner ends when they are. Withdrawn: there are none.
    virtual Taken take(TaggedArrival& arrival, void* owner, Bytes into) = 0;
    // Its sender is done, and its data go nowhere. False: it was withdrawn.
    virtual bool refuse(TaggedArrival& arrival) noexcept = 0;
    // No receive will take it.
    virtual void drop(TaggedArrival& arrival) noexcept = 0;

    // So many receives more wait for messages, or fewer.
    virtual void expect(int receives) noexcept = 0;
    // Sends what was posted, and the answers. Without a lock: the listener is called.
    virtual void flush() noexcept = 0;
};

}  // namespace tutti
