#include "survivors.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "foreign_peers.hpp"
#include "membership/world.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

constexpr const char* ready = "ready";

// "shrink_group\n1 3": the call, which must be the same on all ranks, and what this rank adds.
std::string function_in(const std::string& payload) {
    return payload.substr(0, payload.find('\n'));
}
std::string argument_in(const std::string& payload) {
    return payload.substr(payload.find('\n') + 1);
}

// That of a group which has been shrunk before does not grow.
std::string shrunk_name(const std::string& name, int size) {
    constexpr const char* shrunk = " shrunk to ";
    return cat(name.substr(0, name.rfind(shrunk)), shrunk, size);
}

Status why_absent(const char* function, int own_rank, const std::vector<int>& missing) {
    const bool is_late = std::ranges::find(missing, own_rank) != missing.end();
    const bool several = missing.size() > 1;
    return {TUTTI_ERR_TIMEOUT, missing.empty() ? -1 : missing.front(), 0,
            cat(is_late ? "others" : cat("rank ", own_rank), " timed out waiting for rank",
                several ? "s " : " ", ranks_text(missing),
                several ? ", which have not called " : ", which has not called ", function,
                is_late ? " in time" : "")};
}

}  // namespace

void Survivors::check_may_call(const char* function) const {
    group_.identity.check_may_wait(function);
    check_has_membership(group_.identity, function);
}

// Throws for the caller: the function and the group go first.
Membership::Agreed Survivors::decide(const char* function, const std::string& argument,
                                     const std::vector<int>& excluded, uint32_t new_groups,
                                     const Deadline& deadline) {
    const auto failed = [&](Status status) {
        status.message = cat(function, " on ", group_.identity.label(), ": ", status.message);
        return Error(std::move(status));
    };
    try {
        auto agreed = group_.membership->decide({.payload = cat(function, "\n", argument),
                                                 .excluded = excluded,
                                                 .new_groups = new_groups},
                                                deadline);
        for (size_t at = 0; at < agreed.payloads.size(); ++at) {
            const std::string other = function_in(agreed.payloads[at]);
            const std::string first = function_in(agreed.payloads.front());
            if (other == first) continue;
            throw Error(TUTTI_ERR_MISMATCH,
                        cat("rank ", agreed.members[at], " called ", other, " while rank ",
                            agreed.members.front(), " called ", first),
                        agreed.members[at]);
        }
        return agreed;
    } catch (const StepTimedOut& absence) {
        throw failed(why_absent(function, group_.identity.rank, absence.missing));
    } catch (const Error& error) {
        throw failed(error.status());
    }
}

uint64_t Survivors::agree(uint64_t flags, int64_t timeout_ms) {
    constexpr const char* function = "group_agree";
    check_may_call(function);
    const InFlight entry(group_.life, function, InFlight::Of::Any);
    const auto agreed = decide(function, cat(flags), {}, 0, group_.deadline(timeout_ms));
    uint64_t all = ~uint64_t{0};
    for (const std::string& payload : agreed.payloads) {
        all &= std::strtoull(argument_in(payload).c_str(), nullptr, 10);
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
            if (auto parts = attempt()) return std::move(*parts);
            log(LogLevel::Info, function, " on ", group_.identity.label(),
                ": a member has died meanwhile; the others begin again");
        }
    }

    static constexpr const char* function = "shrink_group";

private:
    std::optional<GroupParts> attempt() {
        std::optional<InFlight> entry(std::in_place, group_.life, function, InFlight::Of::Any);
        const bool has_failed = !group_.failure().ok();
        const auto agreed =
            survivors_.decide(function, cat(has_failed ? 1 : 0, " ", options_.min_size),
                              options_.excluded, 1, deadline_);
        check(agreed);
        // The members count on this rank from now on: they hear of whatever befalls it.
        std::optional<GroupParts> parts;
        Status why = end_of([&] { parts.emplace(parts_of(agreed)); });
        if (!parts) {
            group_.membership->decline(agreed, why, vote_of(why));
            throw failed(std::move(why));
        }
        entry.reset();
        why = end_of([&] { open(*parts); });
        TUTTI_FAULT_POINT("shrink.commit");
        return commit(std::move(*parts), why);
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

    // Whether this rank has opened the new group.
    static std::string vote_of(const Status& why) {
        return why.ok() ? ready : cat(why.code, " ", why.message);
    }

    [[nodiscard]] Error failed(Status status) const {
        status.message = cat(function, " on ", group_.identity.label(), ": ", status.message);
        return Error(std::move(status));
    }

    // All see the same, and so throw the same.
    void check(const Membership::Agreed& agreed) const {
        bool has_failed = false;
        int min_size = 1;
        for (const std::string& payload : agreed.payloads) {
            const std::string argument = argument_in(payload);
            has_failed = has_failed || argument.front() == '1';
            min_size = std::max(min_size, std::atoi(argument.c_str() + 2));
        }
        const int size = static_cast<int>(agreed.members.size());
        if (size == group_.identity.size && !has_failed) {
            refuse(function, " on ", group_.identity.label(),
                   ": no rank is lost, none is to be excluded, and the group has not failed");
        }
        if (size >= min_size) return;
        throw Error(TUTTI_ERR_ABORTED, cat(function, " on ", group_.identity.label(), ": only ",
                                           size, size == 1 ? " rank is" : " ranks are",
                                           " left, and options.min_size is ", min_size));
    }

    GroupParts parts_of(const Membership::Agreed& agreed) const {
        TUTTI_FAULT_POINT("shrink.make");
        GroupParts parts;
        parts.timeout_ms = group_.timeout_ms;
        parts.backend_map = group_.backend_map;
        parts.store = group_.store;
        GroupIdentity& identity = parts.identity = group_.identity;
        const auto own = std::ranges::find(agreed.members, group_.identity.rank);
        identity.rank = static_cast<int>(own - agreed.members.begin());
        identity.size = static_cast<int>(agreed.members.size());
        identity.name = options_.description.empty()
                            ? shrunk_name(group_.identity.name, identity.size)
                            : options_.description;
        identity.compares_first = debug_level() == DebugLevel::Detail;
        identity.global_ranks.clear();
        for (const int rank : agreed.members) {
            identity.global_ranks.push_back(
                group_.identity.global_ranks[static_cast<size_t>(rank)]);
        }
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

    // Nothing: a member has died.
    std::optional<GroupParts> commit(GroupParts parts, const Status& why) const {
        Membership::Agreed agreed;
        try {
            agreed = parts.membership->decide({.payload = vote_of(why)}, deadline_);
        } catch (const Error& error) {
            throw failed(error.status());
        }
        if (static_cast<int>(agreed.members.size()) < parts.identity.size) return std::nullopt;
        const auto bad = std::ranges::find_if(
            agreed.payloads, [](const std::string& payload) { return payload != ready; });
        if (bad == agreed.payloads.end()) return parts;
        const auto place = static_cast<size_t>(bad - agreed.payloads.begin());
        const int rank = rank_in_group(parts.identity.global_ranks[place]);
        throw Error(static_cast<tutti_status>(std::atoi(bad->c_str())),
                    cat(function, " on ", group_.identity.label(), ": rank ", rank,
                        " could not open the new group: ", bad->substr(bad->find(' ') + 1)),
                    rank);
    }

    [[nodiscard]] int rank_in_group(int global) const {
        const auto& ranks = group_.identity.global_ranks;
        return static_cast<int>(std::ranges::find(ranks, global) - ranks.begin());
    }

    Survivors& survivors_;
    GroupCore& group_;
    const ShrinkOptions& options_;
    const Deadline deadline_;
};

GroupParts Survivors::shrink(const ShrinkOptions& options) {
    check_may_call(Shrinking::function);
    const auto ended = [this](const char* how) {
        return Status{TUTTI_ERR_ABORTED, group_.identity.rank, 0,
                      cat("rank ", group_.identity.rank, " ", how)};
    };
    if (options.ends_calls) group_.revoke(ended("ends the group, to shrink it"));
    GroupParts parts = Shrinking(*this, options).run();
    group_.revoke(ended("has shrunk the group, and goes on in the new one"));
    return parts;
}

}  // namespace tutti
