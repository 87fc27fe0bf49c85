// Heartbeats between one rank and the coordinator: by pings both ways, or through the rank that
// watches its host, which then answers for it. A rank that relies on another's word asks for itself
// when that falls silent. Loop thread only.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coverage.hpp"
#include "heartbeat.hpp"
#include "host_watch.hpp"
#include "net/loop.hpp"
#include "net/mailbox.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Liveness {
public:
    struct Hooks {
        std::function<void(const std::string& frame)> send_now;  // to the coordinator
        std::function<bool(int rank)> is_gone;
        // It has died or does not answer; said once at most for each connection.
        std::function<void(const Status&)> coordinator_lost;
    };
    Liveness(net::Loop& loop, const Heartbeat& heartbeat, int own_rank, Hooks hooks);

    // Adds the facts that others need to watch this rank.
    void describe(Endpoint& endpoint) const;
    // All have come.
    void begin(const std::vector<Endpoint>& endpoints);
    // This rank leaves: it speaks for itself until the end, and for nobody else.
    void end();
    // A connection to that coordinator, or to one that is no rank.
    void adopt_connection(int coordinating);

    // Something has come from the coordinator.
    void heard();
    // False for what is not about who lives.
    bool receive(const Frame& frame);
    void tick();
    // A debugger may hold this process, until the same is said with false, and then for as long as
    // one is attached. The others do not take its silence for its end.
    void expect_debugger(bool expects);
    // To a coordinator that may not know it.
    void repeat_pause();
    // The ranks that a debugger holds, or may hold.
    [[nodiscard]] const std::set<int>& paused() const { return paused_; }
    // In place of a tick while there is no coordinator: this process runs.
    void note_time() { (void)heartbeat_clock_.was_suspended(); }
    // Whether this process did not run for a while, until a moment ago.
    [[nodiscard]] bool was_suspended_lately() const {
        return heartbeat_clock_.was_suspended_lately();
    }

private:
    using Clock = HeartbeatClock::Clock;
    bool look_around(bool was_suspended);
    void ask();
    void look_for_debugger();
    void tell_held();
    // By a debugger, as far as this rank sees or has heard.
    [[nodiscard]] bool is_held(int rank) const {
        return paused_.contains(rank) || (host_ && host_->held().contains(rank));
    }
    [[nodiscard]] bool is_excused(const Status& finding) const {
        return finding.system_errno != ESRCH && paused_.contains(finding.rank);
    }
    [[nodiscard]] bool is_covered() const { return watcher_ != nobody; }

    net::Loop& loop_;
    const Heartbeat heartbeat_;
    const int own_rank_;
    const Hooks hooks_;
    HeartbeatClock heartbeat_clock_;
    Clock::time_point last_received_ = Clock::now();
    int coordinator_rank_ = nobody;
    int watcher_ = nobody;   // who answers for this rank, as the coordinator says
    bool asks_ = false;      // though it is covered
    std::vector<int> told_;  // whom this rank watches
    std::set<int> told_held_;
    std::set<int> paused_;  // as the coordinator says
    bool has_begun_ = false;
    int expected_debuggers_ = 0;
    bool is_paused_ = false;  // this rank, as it has said
    std::unique_ptr<net::Mailbox> mail_;
    std::unique_ptr<HostWatch> host_;
};

}  // namespace tutti::membership
