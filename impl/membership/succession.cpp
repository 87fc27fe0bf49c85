#include "succession.hpp"

#include <cerrno>
#include <utility>

#include "protocol.hpp"

namespace tutti::membership {

namespace {

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

Succession::Decision Succession::ended(const Known& known) {
    if (is_alone() || is_ended_ || known.is_acknowledged) return {};
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
    return {ended(then).action, std::move(lost)};
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
    Decision decision = ended(then);
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
    state_ = State::Calling;
    return next == rank_ ? Action::Coordinate : Action::Call;
}

}  // namespace tutti::membership
