#include "liveness.hpp"

#include <utility>

#include "base/debugger.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"

namespace tutti::membership {

Liveness::Liveness(net::Loop& loop, const Heartbeat& heartbeat, int own_rank, Hooks hooks)
    : loop_(loop),
      heartbeat_(heartbeat),
      own_rank_(own_rank),
      hooks_(std::move(hooks)),
      heartbeat_clock_(heartbeat) {
    try {
        mail_ = std::make_unique<net::Mailbox>(loop, [this](std::string_view) { ask(); });
    } catch (const Error& error) {  // then it pings
        log(LogLevel::Info, "control: ", error.what());
    }
}

void Liveness::describe(Endpoint& endpoint) const {
    if (!mail_) return;
    endpoint.thread = net::this_thread();
    endpoint.mailbox = mail_->name();
}

void Liveness::begin(const std::vector<Endpoint>& endpoints) {
    if (mail_) {
        host_ = std::make_unique<HostWatch>(loop_, heartbeat_, *mail_, own_rank_, endpoints);
        host_->look(hooks_.is_gone, Clock::now(), false);
    }
    has_begun_ = true;
    look_for_debugger();
}

// From here on this rank listens for itself: as long as another answered for it, the coordinator
// had nothing to say.
void Liveness::end() {
    if (is_covered()) last_received_ = Clock::now();
    host_.reset();
    watcher_ = nobody;
}

void Liveness::adopt_connection(int coordinating) {
    coordinator_rank_ = coordinating;
    watcher_ = nobody;
    asks_ = false;
    told_.clear();
    told_held_.clear();
    std::erase_if(paused_, [&](int rank) { return rank != coordinating; });
    last_received_ = Clock::now();
}

void Liveness::heard() {
    last_received_ = Clock::now();
    asks_ = false;
}

// The rank that answers for this one does not hear the coordinator any more, or does not run.
void Liveness::ask() {
    if (!is_covered() || watcher_ == own_rank_ || asks_) return;
    asks_ = true;
    last_received_ = Clock::now();
    hooks_.send_now(encode(Kind::Ask));
}

bool Liveness::receive(const Frame& frame) {
    switch (frame.kind) {
        case Kind::Ask:
            hooks_.send_now(encode(Kind::Ping));
            return true;
        case Kind::Doubt:
            hooks_.send_now(encode(Kind::Here));
            return true;
        case Kind::Covered:
            watcher_ = host_ || decode_rank(frame) == own_rank_ ? decode_rank(frame) : nobody;
            if (!is_covered()) hooks_.send_now(encode(Kind::Ping));
            return true;
        case Kind::Paused:
            paused_.insert(decode_rank(frame));
            return true;
        case Kind::Resumed:
            paused_.erase(decode_rank(frame));
            return true;
        default:
            return false;
    }
}

void Liveness::tick() {
    const bool was_suspended = heartbeat_clock_.was_suspended();
    if (was_suspended) last_received_ = Clock::now();
    if (was_suspended || is_paused_) look_for_debugger();
    if (!look_around(was_suspended)) return;
    if (is_covered() && !asks_) return;
    hooks_.send_now(encode(is_covered() ? Kind::Ask : Kind::Ping));
    if (is_held(coordinator_rank_)) {
        last_received_ = Clock::now();
        return;
    }
    if (heartbeat_clock_.is_overdue(last_received_)) {
        hooks_.coordinator_lost(silence_error(coordinator_rank_, heartbeat_.timeout_ms));
    } else if (host_ && !is_covered() && heartbeat_clock_.is_quiet(last_received_)) {
        host_->send_to_ask();
    }
}

// False if the coordinator is lost.
bool Liveness::look_around(bool was_suspended) {
    if (!host_) return true;
    host_->look(hooks_.is_gone, heartbeat_clock_.now(), was_suspended);
    if (host_->watched() != told_) {
        told_ = host_->watched();
        hooks_.send_now(encode_watch(told_));
    }
    tell_held();
    for (const Status& finding : host_->findings(heartbeat_clock_.now())) {
        if (is_excused(finding)) continue;
        if (finding.rank > own_rank_) {
            hooks_.send_now(encode(Kind::Seen, finding));
        } else if (finding.rank == coordinator_rank_) {
            hooks_.coordinator_lost(finding);
            return false;
        } else {
            ask();
        }
    }
    return true;
}

// One that runs again, or is not watched any more, is no longer said to be held.
void Liveness::tell_held() {
    if (host_->held() == told_held_) return;
    for (const int rank : told_held_) {
        if (!host_->held().contains(rank)) hooks_.send_now(encode(Kind::Resumed, rank));
    }
    for (const int rank : host_->held()) {
        if (!told_held_.contains(rank)) hooks_.send_now(encode(Kind::Paused, rank));
    }
    told_held_ = host_->held();
}

void Liveness::expect_debugger(bool expects) {
    expected_debuggers_ += expects ? 1 : -1;
    look_for_debugger();
}

void Liveness::look_for_debugger() {
    if (!has_begun_) return;
    const bool is_paused = expected_debuggers_ > 0 || is_traced();
    if (std::exchange(is_paused_, is_paused) == is_paused) return;
    hooks_.send_now(encode(is_paused ? Kind::Paused : Kind::Resumed, own_rank_));
}

void Liveness::repeat_pause() {
    if (is_paused_) hooks_.send_now(encode(Kind::Paused, own_rank_));
}

}  // namespace tutti::membership
