#include "succession.hpp"

#include <cerrno>
#include <utility>

#include "protocol.hpp"

namespace tutti::membership {

namespace {

constexpr int most_calls = 3;  // to one coordinator that ends each connection without a word

bool nothing_answers(int system_errno) {
    return system_errno == ETIMEDOUT || system_errno == EHOSTUNREACH || system_errno == ENETUNREACH;
}

// False if it was known, or is no rank.
bool note_gone(Succession::Known& known, int rank) {
    if (rank == nobody || known.is_gone[static_cast<size_t>(rank)]) return false;
    known.is_gone[static_cast<size_t>(rank)] = true;
    return true;
}

}  // namespace

void Succession::met(int coordinator, std::string host) {
    coordinator_ = coordinator;
    first_host_ = std::move(host);
}

std::string Succession::host_of(int rank, const Known& known) const {
    return rank == nobody ? first_host_ : known.hosts[static_cast<size_t>(rank)];
}

// False: no coordinator is needed any more.
bool Succession::follows_on(const Known& known) const {
    return !is_alone() && !is_ended_ && !known.is_acknowledged;
}

Succession::Decision Succession::ended(const Known& known) {
    const bool calls_again = state_ == State::Following && calls_ > 0 && calls_ < most_calls;
    if (!calls_again || !follows_on(known)) return go_on_without(known);
    ++calls_;
    state_ = State::Calling;
    return {Action::Call, {}};
}

Succession::Decision Succession::go_on_without(const Known& known) {
    if (!follows_on(known)) return {};
    if (!known.all_have_joined) return {Action::Fail, {}};
    Known then = known;
    std::vector<int> lost;
    if (note_gone(then, coordinator_)) lost.push_back(coordinator_);
    return {follow_next(then), std::move(lost)};
}

Succession::Decision Succession::fell_silent(const Known& known) {
    silent_host_ = host_of(coordinator_, known);
    Known then = known;
    std::vector<int> lost;
    if (note_gone(then, coordinator_)) lost.push_back(coordinator_);
    return {go_on_without(then).action, std::move(lost)};
}

Succession::Decision Succession::missed(const Known& known, int system_errno) {
    const std::string host = host_of(coordinator_, known);
    Known then = known;
    std::vector<int> lost;
    if (nothing_answers(system_errno) && host == silent_host_ && host != host_of(rank_, known)) {
        for (int rank = 0; rank < size_; ++rank) {
            const bool is_there = rank != coordinator_ && host_of(rank, known) == host;
            if (is_there && note_gone(then, rank)) lost.push_back(rank);
        }
    }
    Decision decision = go_on_without(then);
    decision.lost.insert(decision.lost.begin(), lost.begin(), lost.end());
    return decision;
}

void Succession::reached() {
    state_ = State::Following;
    silent_host_.clear();
}

Succession::Action Succession::follow_next(const Known& known) {
    int next = 0;
    int others = 0;
    for (int rank = size_ - 1; rank >= 0; --rank) {
        if (known.is_gone[static_cast<size_t>(rank)]) continue;
        next = rank;
        if (rank != rank_) ++others;
    }
    if (others == 0 || known.is_gone[static_cast<size_t>(rank_)]) {
        go_on_alone();
        return Action::GoOnAlone;
    }
    coordinator_ = next;
    calls_ = 1;
    state_ = State::Calling;
    return next == rank_ ? Action::Coordinate : Action::Call;
}

}  // namespace tutti::membership
