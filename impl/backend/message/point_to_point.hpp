// Messages with tags over a Channel. A sender announces a message, with the data if they are short;
// long data follow once the receiver knows where to. Who gets which message is settled under one
// lock, in the order in which messages came and receives were started, whatever threads take part.
// A deadline ends what has not begun: a receive that no message has been found for, a send whose
// data have not begun to move. What has begun goes on to its end, so nothing is lost. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backend/call/message.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "work/alarm.hpp"
#include "work/work.hpp"

namespace tutti {

class Listening;
class Receiving;
class Sending;

// An announced message that no receive has taken yet: from another rank, or from this one.
struct Arrival {
    int source = -1;
    std::shared_ptr<Listening> remote;
    std::shared_ptr<Sending> local;
};

class PointToPoint : public std::enable_shared_from_this<PointToPoint> {
public:
    explicit PointToPoint(Channel& channel);
    ~PointToPoint();

    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work);
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work);

    // Ends the receives that wait, now and later. What is under way ends with the channel, which is
    // aborted first.
    void abort(const Status& status) noexcept;
    // After the abort: returns when nothing of this uses the channel any more.
    void close() noexcept;

private:
    friend class Draining;
    friend class Listening;
    friend class Receiving;
    friend class Sending;
    friend class Using;

    using Receives = std::vector<std::shared_ptr<Receiving>>;

    // What there is of one tag and one source, or of receives from any source.
    struct Queue {
        std::map<uint64_t, std::shared_ptr<Receiving>> waiting;  // by turn
        std::map<uint64_t, Arrival> arrived;                     // by turn
        size_t asked = 0;  // announcements that are listened for, or about to be
    };
    // What there is of one tag.
    struct Lane {
        std::map<int, Queue> queues;  // by source
        std::deque<int> to_ask;       // sources that listeners are still to be posted for
        bool is_asking = false;       // a thread posts them
    };
    struct Delivery {
        std::shared_ptr<Receiving> receiving;
        Arrival arrival;
    };

    // Steps under the lock.
    std::optional<Arrival> find_message(Lane& lane, const Receiving& receiving)
        TUTTI_REQUIRES(mutex_);
    std::shared_ptr<Receiving> find_receive(Lane& lane, const Arrival& arrival)
        TUTTI_REQUIRES(mutex_);
    void ask(Lane& lane, int source) TUTTI_REQUIRES(mutex_);
    Receives take_waiting(Lane& lane, int source) TUTTI_REQUIRES(mutex_);
    void drop_if_idle(int tag) TUTTI_REQUIRES(mutex_);

    void join(const std::shared_ptr<Receiving>& receiving);
    void arrive(int tag, Arrival arrival);
    void heard(const std::shared_ptr<Listening>& listening) noexcept;
    void listen(int tag) noexcept;
    void post_listener(int source, int tag) noexcept;
    void drain(int source, uint64_t number) noexcept;
    // The deadline of a receive has passed: true if it waited still.
    bool give_up(const std::shared_ptr<Receiving>& receiving) noexcept;
    // The deadline of a message to oneself has passed.
    void forget(const std::shared_ptr<Sending>& sending) noexcept;

    Channel& channel_;
    const std::shared_ptr<Alarm> alarm_;
    Mutex mutex_;
    Condition unused_;
    int users_ TUTTI_GUARDED_BY(mutex_) = 0;  // threads inside the channel
    bool closed_ TUTTI_GUARDED_BY(mutex_) = false;
    Status aborted_ TUTTI_GUARDED_BY(mutex_);
    uint64_t sent_ TUTTI_GUARDED_BY(mutex_) = 0;
    uint64_t turns_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<int, Lane> lanes_ TUTTI_GUARDED_BY(mutex_);  // by tag
};

}  // namespace tutti
