#include "survivors.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "agreement.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "context.hpp"
#include "foreign_peers.hpp"
#include "membership/world.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

// A name that has grown by a shrink before does not grow again.
std::string shrunk_name(const std::string& name, int size) {
    constexpr const char* shrunk = " shrunk to ";
    return cat(name.substr(0, name.rfind(shrunk)), shrunk, size);
}

}  // namespace

void Survivors::check_may_call(const char* function) const {
    group_.identity.check_may_wait(function);
    check_has_membership(group_.identity, function);
}

// The members of a decision must have made the same call. A decision that was under way when an
// earlier call of this rank timed out has that call's words.
void Survivors::compare(const Membership::Agreed& agreed, const std::vector<CallOfMany>& calls,
                        const CallOfMany& own, const std::vector<int>& excluded) const {
    const int rank = group_.identity.rank;
    const auto place = std::ranges::find(agreed.members, rank) - agreed.members.begin();
    const CallOfMany& counted = calls[static_cast<size_t>(place)];
    const bool has_excluded = std::ranges::any_of(excluded, [&](int one) {
        return std::ranges::find(agreed.members, one) != agreed.members.end();
    });
    if (!own.accepts(counted) || has_excluded) {
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("an earlier call of rank ", rank, ", ", counted.function,
                        ", has ended only now, with other arguments; call again"),
                    rank);
    }
    for (size_t at = 0; at < calls.size(); ++at) {
        const auto& [function, argument, refusal] = calls[at];
        if (!refusal.empty()) {
            throw Error(refused_argument(agreed.members[at], function, refusal));
        }
        if (function == calls.front().function) continue;
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("rank ", agreed.members[at], " called ", function, " while rank ",
                        agreed.members.front(), " called ", calls.front().function),
                    agreed.members[at]);
    }
}

Membership::Agreed Survivors::decide(const CallOfMany& own, const std::vector<int>& excluded,
                                     uint32_t new_groups, const Deadline& deadline) {
    Membership::Agreed agreed;
    try {
        agreed = group_.membership->decide(
            {.payload = own.encode(), .excluded = excluded, .new_groups = new_groups}, deadline);
    } catch (const StepTimedOut& absence) {
        throw Error(have_not_called(absence, own.function, group_.identity.rank));
    }
    std::vector<CallOfMany> calls;
    for (const std::string& payload : agreed.payloads) calls.push_back(CallOfMany::decode(payload));
    compare(agreed, calls, own, excluded);
    for (size_t at = 0; at < calls.size(); ++at) {
        agreed.payloads[at] = std::move(calls[at].argument);
    }
    return agreed;
}

uint64_t Survivors::agree(uint64_t flags, int64_t timeout_ms) {
    constexpr const char* function = "group_agree";
    check_may_call(function);
    const InFlight entry(group_.life, function, InFlight::Of::Any);
    const auto agreed = with_context(function, group_, [&] {
        return decide({function, cat(flags)}, {}, 0, group_.deadline(timeout_ms));
    });
    uint64_t all = ~uint64_t{0};
    for (const std::string& argument : agreed.payloads) {
        all &= std::strtoull(argument.c_str(), nullptr, 10);
    }
    return all;
}

// One call of shrink(). Its ranks decide who the members are, and these open their backends; then
// they decide whether all have. If a member has died meanwhile, they begin again.
class Survivors::Shrinking {
public:
    Shrinking(Survivors& survivors, const ShrinkOptions& options)
        : survivors_(survivors),
          group_(survivors.group_),
          options_(options),
          deadline_(group_.deadline(options.timeout_ms)) {}

    GroupParts run() {
        while (true) {
            std::optional<InFlight> entry(std::in_place, group_.life, function, InFlight::Of::Any);
            auto parts = with_context(function, group_, [&] { return attempt(entry); });
            if (parts) return std::move(*parts);
            log(LogLevel::Info, function, " on ", group_.identity.label(),
                ": a member has died meanwhile; the others begin again");
        }
    }

    static constexpr const char* function = "shrink_group";

private:
    // Nothing: a member has died.
    std::optional<GroupParts> attempt(std::optional<InFlight>& entry) {
        const ShrinkTerms own{!group_.failure().ok(), options_.min_size};
        const auto agreed =
            survivors_.decide({function, own.encode()}, options_.excluded, 1, deadline_);
        check(agreed);
        // The members count on this rank from now on: they hear of whatever befalls it.
        std::optional<GroupParts> parts;
        Vote vote{end_of([&] { parts.emplace(parts_of(agreed)); })};
        if (!parts) {
            group_.membership->decline(agreed, vote.why_not, vote.encode());
            throw Error(std::move(vote.why_not));
        }
        entry.reset();
        vote.why_not = end_of([&] { open(*parts); });
        TUTTI_FAULT_POINT("shrink.commit");
        return commit(std::move(*parts), vote);
    }

    template <typename Act>
    static Status end_of(Act&& act) {
        try {
            act();
            return {};
        } catch (...) {
            return current_status();
        }
    }

    // All see the same, and so throw the same.
    void check(const Membership::Agreed& agreed) const {
        ShrinkTerms all;
        for (const std::string& argument : agreed.payloads) {
            const auto [has_failed, min_size] = ShrinkTerms::decode(argument);
            all.has_failed = all.has_failed || has_failed;
            all.min_size = std::max(all.min_size, min_size);
        }
        const int size = static_cast<int>(agreed.members.size());
        if (size == group_.identity.size && !all.has_failed) {
            refuse("no rank is lost, none is to be excluded, and the group has not failed");
        }
        if (size >= all.min_size) return;
        throw Error(TUTTI_ERR_ABORTED, cat("only ", size, size == 1 ? " rank is" : " ranks are",
                                           " left, and options.min_size is ", all.min_size));
    }

    GroupParts parts_of(const Membership::Agreed& agreed) const {
        TUTTI_FAULT_POINT("shrink.make");
        GroupParts parts;
        parts.timeout_ms = group_.timeout_ms;
        parts.backend_map = group_.backend_map;
        parts.store = group_.store;
        GroupIdentity& identity = parts.identity = group_.identity.of_members(agreed.members);
        identity.name = options_.description.empty()
                            ? shrunk_name(group_.identity.name, identity.size)
                            : options_.description;
        parts.membership = std::make_unique<Membership>(
            group_.membership->shared_world(), agreed.first_group_id, identity.global_ranks);
        return parts;
    }

    void open(GroupParts& parts) const {
        try {
            TUTTI_FAULT_POINT("shrink.open");
            parts.open_backends({*parts.membership, deadline_, parts.store, parts.identity.bound,
                                 false, parts.identity.name});
        } catch (...) {
            parts.membership->report(gave_up(parts.identity.rank, current_status()));
            throw;
        }
    }

    std::optional<GroupParts> commit(GroupParts parts, const Vote& own) const {
        const auto agreed = decide_in(parts, own);
        if (static_cast<int>(agreed.members.size()) < parts.identity.size) return std::nullopt;
        // A rank that is at fault itself, rather than one that names it.
        std::optional<Status> why_not;
        for (int rank = 0; rank < parts.identity.size; ++rank) {
            Status vote = Vote::decode(agreed.payloads[static_cast<size_t>(rank)]).why_not;
            if (vote.rank >= parts.identity.size) vote.rank = rank;
            const bool is_at_fault = vote.rank < 0 || vote.rank == rank;
            if (vote.ok() || (why_not && !is_at_fault)) continue;
            vote.rank = in_old_group(parts, is_at_fault ? rank : vote.rank);
            vote.message = cat("rank ", in_old_group(parts, rank),
                               " could not open the new group: ", vote.message);
            why_not = std::move(vote);
            if (is_at_fault) break;
        }
        if (why_not) throw Error(std::move(*why_not));
        return parts;
    }

    [[nodiscard]] int in_old_group(const GroupParts& parts, int rank) const {
        return group_.identity.rank_of_global(
            parts.identity.global_ranks[static_cast<size_t>(rank)]);
    }

    // An error has the ranks of the old group.
    [[nodiscard]] Membership::Agreed decide_in(const GroupParts& parts, const Vote& own) const {
        try {
            return parts.membership->decide({.payload = own.encode()}, deadline_);
        } catch (const StepTimedOut& absence) {
            std::vector<int> missing;
            for (const int rank : absence.missing) missing.push_back(in_old_group(parts, rank));
            throw Error(awaited_in_vain(missing, "opened the new group"));
        } catch (const Error& error) {
            Status status = error.status();
            if (status.rank >= 0) status.rank = in_old_group(parts, status.rank);
            throw Error(std::move(status));
        }
    }

    Survivors& survivors_;
    GroupCore& group_;
    const ShrinkOptions& options_;
    const Deadline deadline_;
};

Status Survivors::end_by_this_rank(const char* how) const {
    return {TUTTI_ERR_ABORTED, group_.identity.rank, 0,
            cat("rank ", group_.identity.rank, " ", how)};
}

GroupParts Survivors::shrink(const ShrinkOptions& options) {
    check_may_call(Shrinking::function);
    if (options.ends_calls) {
        const InFlight entry(group_.life, Shrinking::function, InFlight::Of::Any);
        group_.revoke(end_by_this_rank("ends the group, to shrink it"));
    }
    GroupParts parts = Shrinking(*this, options).run();
    end_old_group();
    return parts;
}

// No rank of the new group decides anything in the old one any more.
void Survivors::end_old_group() noexcept {
    const Status cause = end_by_this_rank("has shrunk the group, and goes on in the new one");
    unless_destroyed(group_.life, [&] {
        group_.revoke(cause);
        group_.membership->end_decisions(cause);
    });
}

void Survivors::decline(const char* function, const Status& why) noexcept {
    unless_destroyed(group_.life, [&] {
        group_.membership->decline_decision(CallOfMany{function, "", why.message}.encode());
    });
}

}  // namespace tutti
