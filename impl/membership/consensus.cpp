#include "consensus.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "missing_ranks.hpp"

namespace tutti::membership {

namespace {

bool contains(const std::vector<int>& ranks, int rank) {
    return std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

Consensus::Consensus(int size, Hooks hooks)
    : size_(size), hooks_(std::move(hooks)), caught_up_(static_cast<size_t>(size), true) {}

void Consensus::follow_another() {
    caught_up_.assign(caught_up_.size(), false);
}

void Consensus::caught_up(int rank) {
    caught_up_[static_cast<size_t>(rank)] = true;
    review();
}

bool Consensus::is_gone(const Name& name, int rank) const {
    return !hooks_.why_gone(name.first, rank).ok();
}

void Consensus::propose(int rank, const Proposal& proposal) {
    const Name name{proposal.group, proposal.key};
    const auto fits = [this](int one) { return one >= 0 && one < size_; };
    if (!std::ranges::all_of(proposal.participants, fits) ||
        !contains(proposal.participants, rank)) {
        throw Error(TUTTI_ERR_NETWORK,
                    cat("rank ", rank, " takes no part in ", proposal.key, ", but proposes"));
    }
    if (const auto known = decided_.find(name); known != decided_.end()) {
        hooks_.send(rank, known->second.frame);
        known->second.awaited.erase(rank);
        return forget_the_answered();
    }
    Poll& poll = polls_[name];
    if (poll.participants.empty()) poll.participants = proposal.participants;
    if (poll.participants != proposal.participants) {
        throw Error(TUTTI_ERR_NETWORK,
                    cat("rank ", rank, " counts other participants of ", proposal.key));
    }
    poll.proposals[rank] = proposal;
    settle(name);
}

bool Consensus::give_up(int rank, const GiveUp& give_up) {
    const Name name{give_up.group, give_up.key};
    const auto found = polls_.find(name);
    if (found == polls_.end()) return decided_.contains(name);
    found->second.timed_out = rank;
    settle(name);
    return true;
}

// It holds for all, also for those that have proposed again.
void Consensus::restore(const Decision& decision) {
    const Name name{decision.group, decision.key};
    const auto [known, is_new] = decided_.try_emplace(name);
    if (!is_new) return;
    known->second.frame = encode(decision);
    for (int rank = 0; rank < size_; ++rank) known->second.awaited.insert(rank);
    const auto poll = polls_.find(name);
    if (poll == polls_.end()) return;
    for (const auto& [rank, proposal] : poll->second.proposals) {
        hooks_.send(rank, known->second.frame);
        known->second.awaited.erase(rank);
    }
    polls_.erase(poll);
}

void Consensus::review() {
    std::vector<Name> names;
    for (const auto& [name, poll] : polls_) names.push_back(name);
    for (const Name& name : names) settle(name);
    forget_the_answered();
}

void Consensus::settle(const Name& name) {
    const auto found = polls_.find(name);
    if (found == polls_.end()) return;
    Poll& poll = found->second;
    dismiss_the_gone(name, poll);
    if (poll.proposals.empty()) {
        polls_.erase(found);
        return;
    }
    if (!all_have_caught_up(name, poll)) return;
    const std::vector<int> missing = absent(name, poll);
    if (missing.empty()) return decide(name, outcome(name, poll));
    if (!poll.timed_out) return;
    Decision none{name.first, name.second};
    none.failure = {TUTTI_ERR_TIMEOUT, missing.front(), 0,
                    cat("rank ", *poll.timed_out, " timed out")};
    none.missing = missing;
    decide(name, std::move(none));
}

// A rank that was lost and lives is told that it has been.
void Consensus::dismiss_the_gone(const Name& name, Poll& poll) {
    std::erase_if(poll.proposals, [&](const auto& entry) {
        const Status why = hooks_.why_gone(name.first, entry.first);
        if (why.ok()) return false;
        Decision none{name.first, name.second};
        none.failure = ruled_out_error(entry.first, why);
        hooks_.send(entry.first, encode(none));
        return true;
    });
    if (poll.timed_out && is_gone(name, *poll.timed_out)) poll.timed_out.reset();
}

bool Consensus::all_have_caught_up(const Name& name, const Poll& poll) const {
    return std::ranges::all_of(poll.participants, [&](int rank) {
        return caught_up_[static_cast<size_t>(rank)] || is_gone(name, rank);
    });
}

// Participants without whose proposal nothing is decided.
std::vector<int> Consensus::absent(const Name& name, const Poll& poll) const {
    std::vector<int> ranks;
    for (const int rank : poll.participants) {
        if (poll.proposals.contains(rank) || is_gone(name, rank)) continue;
        const bool is_excluded = std::ranges::any_of(poll.proposals, [rank](const auto& proposal) {
            return contains(proposal.second.excluded, rank);
        });
        if (!is_excluded) ranks.push_back(rank);
    }
    return ranks;
}

// The ranks that are excluded by that rank and live.
std::set<int> Consensus::excluded_by(const Name& name, const Proposal& proposal) const {
    std::set<int> ranks;
    for (const int rank : proposal.excluded) {
        if (!is_gone(name, rank)) ranks.insert(rank);
    }
    return ranks;
}

// All members exclude the same ranks, or there is no decision.
Decision Consensus::outcome(const Name& name, const Poll& poll) const {
    Decision decision{name.first, name.second};
    std::set<int> excluded;
    for (const auto& [rank, proposal] : poll.proposals) {
        excluded.merge(excluded_by(name, proposal));
    }
    uint32_t new_groups = 0;
    for (const int rank : poll.participants) {
        const auto found = poll.proposals.find(rank);
        if (found == poll.proposals.end()) continue;
        const bool is_excluded = excluded.contains(rank);
        const std::set<int> own = excluded_by(name, found->second);
        if (is_excluded && own.empty()) continue;
        if (own != excluded) return difference(name, poll, excluded);
        if (is_excluded) continue;
        decision.members.push_back(rank);
        decision.payloads.push_back(found->second.payload);
        new_groups = std::max(new_groups, found->second.new_groups);
    }
    if (new_groups == 0) return decision;
    const auto first_id = hooks_.new_group_ids(new_groups);
    if (first_id) {
        decision.first_group_id = *first_id;
    } else {
        decision.failure = {TUTTI_ERR_OUT_OF_MEMORY, -1, 0, "no ids for new groups are left"};
    }
    return decision;
}

// Two members exclude different ranks: the first one, and the first that differs from it.
Decision Consensus::difference(const Name& name, const Poll& poll,
                               const std::set<int>& excluded) const {
    Decision none{name.first, name.second};
    std::set<int> first;
    for (const int rank : poll.participants) {
        const auto found = poll.proposals.find(rank);
        if (found == poll.proposals.end()) continue;
        const std::set<int> own = excluded_by(name, found->second);
        if (excluded.contains(rank) && own.empty()) continue;
        if (!none.members.empty() && own == first) continue;
        none.members.insert(none.members.begin(), rank);
        none.payloads.insert(none.payloads.begin(), list_of_ranks({own.begin(), own.end()}));
        if (none.members.size() == 2) break;
        first = own;
    }
    none.failure = {TUTTI_ERR_MISMATCH, none.members.front(), 0, "it excludes other ranks"};
    return none;
}

void Consensus::decide(const Name& name, Decision decision) {
    const auto poll = polls_.extract(name);
    Decided& decided = decided_[name];
    decided.frame = encode(decision);
    for (const int rank : poll.mapped().participants) {
        if (poll.mapped().proposals.contains(rank)) {
            hooks_.send(rank, decided.frame);
        } else {
            decided.awaited.insert(rank);
        }
    }
    forget_the_answered();
}

void Consensus::forget_the_answered() {
    std::erase_if(decided_, [this](auto& entry) {
        return std::ranges::all_of(entry.second.awaited,
                                   [&](int rank) { return is_gone(entry.first, rank); });
    });
}

}  // namespace tutti::membership
