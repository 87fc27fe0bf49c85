// Messages with tags over a Channel. A sender announces a message, with the data if they are short;
// long data follow once the receiver knows where to. A receive that gives up before its message has
// come leaves its place to the next one; if long data are coming in already, they are lost with it.
// Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

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

    // What there is of one tag.
    struct Lane {
        std::deque<std::shared_ptr<Receiving>> waiting;
        std::deque<Arrival> arrived;
        std::map<int, int> wanted;  // receives that wait, by source
        std::map<int, int> posted;  // announcements listened for, by source
    };

    void arrive(int tag, Arrival arrival, bool again);
    void join_lane(const std::shared_ptr<Receiving>& receiving, bool first);
    void deliver(const std::shared_ptr<Receiving>& receiving, Arrival arrival) noexcept;
    void heard(const std::shared_ptr<Listening>& listening) noexcept;
    void listen(int source, int tag);
    void drain(int source, uint64_t number) noexcept;
    // Whether it waited still.
    bool leave_lane(const std::shared_ptr<Receiving>& receiving) noexcept;

    Channel& channel_;
    const std::shared_ptr<Alarm> alarm_;
    Mutex mutex_;
    Condition unused_;
    int users_ TUTTI_GUARDED_BY(mutex_) = 0;  // threads inside the channel
    bool closed_ TUTTI_GUARDED_BY(mutex_) = false;
    Status aborted_ TUTTI_GUARDED_BY(mutex_);
    uint64_t sent_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::map<int, Lane> lanes_ TUTTI_GUARDED_BY(mutex_);  // by tag
};

}  // namespace tutti
