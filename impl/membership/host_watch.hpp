// The ranks of this host, watched through the kernel: the lowest that lives watches all others, and
// they watch it. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "heartbeat.hpp"
#include "net/loop.hpp"
#include "net/mailbox.hpp"
#include "net/process_watch.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class HostWatch {
public:
    // `mail` is this rank's.
    HostWatch(net::Loop& loop, const Heartbeat& heartbeat, const net::Mailbox& mail, int own_rank,
              const std::vector<Endpoint>& endpoints);

    // Looks at the ranks that are to be watched, at the tick of `now`. A process that
    // `was_suspended` could not see whether they ran.
    void look(const std::function<bool(int)>& is_gone, HeartbeatClock::Clock::time_point now,
              bool was_suspended);
    // The ranks that can be watched, among the ranks that are to be.
    [[nodiscard]] const std::vector<int>& watched() const { return watched_; }
    // The ranks among these whose processes a debugger holds.
    [[nodiscard]] const std::set<int>& held() const { return held_; }
    // The watched ranks that died or have not run for too long, and have not left, as far as is
    // known here. One whose process has ended has ESRCH.
    [[nodiscard]] std::vector<Status> findings(HeartbeatClock::Clock::time_point now) const;
    // Tells the ranks that this rank watches to ask the coordinator themselves.
    void send_to_ask() const;

private:
    using Clock = HeartbeatClock::Clock;
    struct Observation {
        std::unique_ptr<net::ThreadWatch> watch;
        Clock::time_point ran;  // as far as is known
        Clock::time_point ended;
        bool has_ended = false;
        bool is_held = false;  // by a debugger, when it was last found not to run
    };

    [[nodiscard]] std::vector<int> choose(const std::function<bool(int)>& is_gone) const;
    void open(int rank, Clock::time_point now);
    void look_at(Observation& observation, Clock::time_point now, bool was_suspended) const;
    [[nodiscard]] bool is_silent(const Observation& observation, Clock::time_point now) const;

    net::Loop& loop_;
    const Heartbeat heartbeat_;
    const net::Mailbox& mail_;
    const int own_rank_;
    std::map<int, Endpoint> neighbours_;  // all ranks of this host whom each other can watch
    std::map<int, Observation> observations_;
    std::set<int> hidden_;  // cannot be watched
    std::vector<int> watched_;
    std::set<int> held_;
};

}  // namespace tutti::membership
