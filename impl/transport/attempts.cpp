#include "attempts.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

Attempts::Attempt Attempts::Attempt::successor() const {
    return {next + timeout, until, std::min(2 * timeout, max_timeout)};
}

Attempts::Attempts(int rank, int size, std::vector<std::vector<std::string>> ways)
    : rank_(rank), ways_(std::move(ways)), peers_(static_cast<size_t>(size)) {}

void Attempts::enter(int peer, State state) {
    peers_[static_cast<size_t>(peer)].state = state;
    if (state != State::Calling) attempts_.erase(peer);
}

bool Attempts::advance(int peer, State from, State to) {
    if (has_ended_ || state_of(peer) != from) return false;
    enter(peer, to);
    return true;
}

// A rank that is gone is not waited for: states in which no other event would follow are entered
// only while it is not known to be gone.
Attempts::Action Attempts::add(int peer, Attempt attempt, const Known& known) {
    if (has_ended_) return Action::Nothing;
    enter(peer, State::None);
    if (known.is_gone) return Action::FailAsGone;
    enter(peer, State::Calling);
    attempts_.insert_or_assign(peer, Entry{std::move(attempt)});
    return Action::Call;
}

Attempts::Action Attempts::begin(int peer, Attempt attempt, const Known& known) {
    peers_[static_cast<size_t>(peer)].asked = 0;
    return add(peer, std::move(attempt), known);
}

Attempts::Action Attempts::need(int peer, const Known& known) {
    if (has_ended_ || state_of(peer) != State::None) return Action::Nothing;
    Attempt attempt = Attempt::first(known.now);
    const bool asks = hidden_.contains(way_to(peer));
    if (asks) attempt.next += first_timeout;
    const Action action = begin(peer, std::move(attempt), known);
    return asks && action == Action::Call ? Action::CallAndAsk : action;
}

Attempts::Action Attempts::asked(int peer, bool has_address, const Known& known) {
    ++peers_[static_cast<size_t>(peer)].asked;
    const State state = state_of(peer);
    const bool waits = state == State::None || state == State::AwaitingCall;
    if (!waits || !has_address) return Action::Nothing;
    return begin(peer, Attempt::first(known.now), known);
}

Attempts::Action Attempts::lose(int peer) {
    const State state = state_of(peer);
    if (has_ended_ || state == State::AwaitingAnswer || state == State::Connected) {
        return Action::Nothing;
    }
    enter(peer, State::None);
    return Action::FailAsGone;
}

// A rank listens before others know where. So what is refused stays refused, unless another host
// has its address; and then it may still call this rank, but it has asked to be called itself.
Attempts::Action Attempts::failed(int peer, Attempt next, const Failure& failure,
                                  const Known& known) {
    const Peer& there = peers_[static_cast<size_t>(peer)];
    if (has_ended_ || (there.state != State::Calling && there.state != State::AwaitingAnswer)) {
        return Action::Nothing;
    }
    enter(peer, State::None);
    const bool is_closed_way = failure.is_refusal && there.asked >= least_asked;
    if (!failure.is_of_network || known.now >= next.until || is_closed_way || known.is_gone) {
        return Action::Fail;
    }
    hidden_.insert(way_to(peer));
    return add(peer, std::move(next), known) == Action::Call ? Action::CallAndAsk : Action::Nothing;
}

Attempts::Action Attempts::missed(int peer, Attempt next, std::string host, const Known& known) {
    if (state_of(peer) != State::AwaitingAnswer) return Action::Nothing;
    next.strangers.push_back(std::move(host));
    next.next = known.now;
    return add(peer, std::move(next), known);
}

bool Attempts::reached(int peer) {
    return advance(peer, State::Calling, State::AwaitingAnswer);
}

bool Attempts::proved(int peer) {
    if (!advance(peer, State::AwaitingAnswer, State::Connected)) return false;
    hidden_.erase(way_to(peer));
    return true;
}

Attempts::Action Attempts::replaced(int peer, const Known& known) {
    if (state_of(peer) != State::AwaitingAnswer) return Action::Nothing;
    enter(peer, known.is_gone ? State::None : State::AwaitingCall);
    return known.is_gone ? Action::Fail : Action::Nothing;
}

// A rank that is gone has sent nothing that waits for the answer.
Attempts::Reply Attempts::called(int peer, bool can_keep, const Known& known) {
    const State state = state_of(peer);
    if (state == State::Connected || has_ended_ || known.is_gone) return Reply::None;
    if (state == State::AwaitingAnswer && rank_ < peer) return Reply::Refuse;
    if (!can_keep) return Reply::Lack;
    enter(peer, State::Connected);
    return Reply::Accept;
}

Attempts::Action Attempts::call_broke(int peer, const Known& known) {
    return begin(peer, Attempt::first(known.now), known);
}

std::map<int, Attempts::Entry>::const_iterator Attempts::find_next() const {
    auto next = attempts_.end();
    for (auto one = attempts_.begin(); one != attempts_.end(); ++one) {
        if (one->second.is_under_way) continue;
        if (next == attempts_.end() || one->second.attempt.next < next->second.attempt.next) {
            next = one;
        }
    }
    return next;
}

std::optional<Attempts::Time> Attempts::next_time() const {
    const auto next = find_next();
    if (next == attempts_.end()) return std::nullopt;
    return next->second.attempt.next;
}

Attempts::Call Attempts::begin_next() {
    const int peer = find_next()->first;
    Entry& entry = attempts_.at(peer);
    entry.is_under_way = true;
    return {peer, entry.attempt};
}

void Attempts::cancel(int peer) {
    enter(peer, State::None);
}

void Attempts::end() {
    has_ended_ = true;
    attempts_.clear();
}

}  // namespace tutti
