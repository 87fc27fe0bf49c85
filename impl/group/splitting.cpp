#include "splitting.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/registry.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "context.hpp"
#include "foreign_peers.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

// Hashes a list of ranks, for keys; the list itself is compared as well.
uint64_t hash(const std::vector<int>& ranks) {
    std::string bytes;
    for (const int rank : ranks) {
        for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(rank >> shift);
    }
    return fnv1a_64(bytes);
}

std::string parts_text(const std::vector<std::vector<int>>& parts) {
    if (parts.size() == 1) return cat("ranks ", ranks_text(parts.front()));
    std::string text;
    for (const auto& part : parts) text += cat(text.empty() ? "ranks " : " | ", ranks_text(part));
    return text;
}

}  // namespace

// One call of split() or compare(), or the refusal of one.
class Splitting::Call {
public:
    Call(Splitting& splitting, const SplitOptions& options)
        : parent_(splitting.parent_),
          options_(options),
          map_(options.backend.empty() ? parent_.backend_map : resolve_backends(options.backend)),
          reproducible_(options.reproducible.value_or(parent_.identity.reproducible)),
          bound_(parent_.identity.bound_device_for(options.bound)),
          deadline_(parent_.deadline(options.timeout_ms)) {
        entry_.emplace(parent_.life, options.function.c_str());
        step_ = splitting.next_step(options);
        if (needs_all()) that_split_ = parent_.backends.that_split(map_);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Compares; keeps the ids of the new groups.
    void agree() {
        Agreement agreement = this->agreement();
        agreement.arguments = arguments();
        agreement.new_groups = static_cast<uint32_t>(options_.parts.size());
        with_context(
            [&] { first_group_id_ = tutti::agree(*parent_.membership, agreement, deadline_); });
    }

    // Instead of that.
    void decline(const Status& why, decltype(tutti::decline)& how) const {
        how(*parent_.membership, agreement(), why);
    }

    [[nodiscard]] std::string name() const {
        return cat(parent_.membership->group_id(), ".", step_);
    }

    std::optional<GroupParts> open() {
        const auto& parts = options_.parts;
        const auto own = std::ranges::find_if(parts, [this](const auto& ranks) {
            return std::ranges::find(ranks, parent_.identity.rank) != ranks.end();
        });
        if (own == parts.end()) {
            with_context([&] { split(-1, std::nullopt); });
            return std::nullopt;
        }
        const auto index = static_cast<int>(own - parts.begin());
        GroupParts result;
        result.identity = identity_of(index);
        result.timeout_ms = parent_.effective_timeout(options_.timeout_ms);
        result.backend_map = map_;
        result.store = parent_.store;
        with_context([&] { open(result, index); });
        return result;
    }

private:
    [[nodiscard]] Agreement agreement() const {
        Agreement agreement;
        agreement.key = cat("split/", step_);
        agreement.participants =
            options_.callers ? *options_.callers : all_ranks(parent_.identity.size);
        agreement.function = options_.function;
        return agreement;
    }

    [[nodiscard]] std::vector<std::string> arguments() const {
        std::vector<std::string> phrases = options_.arguments;
        if (options_.parts.empty()) return phrases;
        phrases.push_back(parts_text(options_.parts));
        phrases.push_back(cat("backend ", map_.described()));
        phrases.push_back(cat("reproducible ", reproducible_ ? "on" : "off"));
        std::string splits = "backends that split:";
        for (const std::string& name : that_split_) splits += " " + name;
        phrases.push_back(splits);
        return phrases;
    }

    // Whether all of the parent's ranks call, to make groups.
    [[nodiscard]] bool needs_all() const {
        const bool all_call = !options_.callers ||
                              static_cast<int>(options_.callers->size()) == parent_.identity.size;
        return all_call && !options_.parts.empty();
    }

    MadeBackends split(int color, const std::optional<BackendPlace>& place) {
        if (that_split_.empty()) return {};
        return parent_.backends.split(
            map_, {*parent_.membership, cat("split/", step_), color, place, deadline_});
    }

    [[nodiscard]] GroupIdentity identity_of(int part) const {
        const std::vector<int>& ranks = options_.parts[static_cast<size_t>(part)];
        const std::string suffix = options_.parts.size() == 1 ? "" : cat(".", part);
        GroupIdentity identity = parent_.identity.of_members(ranks);
        identity.name = options_.description.empty()
                            ? cat(parent_.identity.name, "/", step_, suffix)
                            : options_.description;
        identity.reproducible = reproducible_;
        identity.bound = bound_;
        return identity;
    }

    // The group does not exist before all of this: an error names the ranks of the parent.
    void open(GroupParts& result, int part) {
        const std::vector<int>& global_ranks = result.identity.global_ranks;
        result.membership = std::make_unique<Membership>(
            parent_.membership->shared_world(), first_group_id_ + static_cast<uint32_t>(part),
            global_ranks);
        Membership& members = *result.membership;
        const BackendPlace place{members, deadline_, parent_.store,
                                 bound_,  false,     result.identity.name};
        MadeBackends made = split(part, place);
        // Opening may take time, in which the parent may be destroyed.
        entry_.reset();
        try {
            result.open_backends(place, std::move(made));
        } catch (const Error& error) {
            Status status = error.status();
            members.report(gave_up(members.rank(), status));
            if (status.rank >= 0) {
                const int own = status.rank;
                status.rank =
                    parent_.identity.rank_of_global(global_ranks[static_cast<size_t>(own)]);
                if (own != status.rank) {
                    status.message = cat(status.message, "; rank ", own,
                                         " of the new group is rank ", status.rank, " of this one");
                }
            }
            throw Error(status);
        }
    }

    template <typename Act>
    void with_context(Act&& act) const {
        tutti::with_context(options_.function, parent_, act);
    }

    GroupCore& parent_;
    const SplitOptions& options_;
    const BackendMap map_;
    const bool reproducible_;
    const Device bound_;
    const Deadline deadline_;
    std::optional<InFlight> entry_;
    std::string step_;  // "3": which of the parent's
    std::vector<std::string>
        that_split_;  // the parent's backends that make those of the new groups
    uint32_t first_group_id_ = 0;
};

// Every rank counts the groups it helps to make, so all know the next one by the same name.
std::string Splitting::next_step(const SplitOptions& options) {
    const Lock lock(mutex_);
    if (!options.callers) return cat(++steps_);
    const uint64_t callers = hash(*options.callers);
    return cat(callers, "-", ++steps_of_some_[callers]);
}

std::optional<GroupParts> Splitting::split(const SplitOptions& options) {
    parent_.identity.check_may_wait(options.function.c_str());
    if (parent_.identity.has_foreign_peers) return split_among_foreign_peers(options);
    Call call(*this, options);
    call.agree();
    return call.open();
}

std::string Splitting::compare(const SplitOptions& options) {
    parent_.identity.check_may_wait(options.function.c_str());
    check_has_membership(parent_.identity, options.function);
    Call call(*this, options);
    call.agree();
    return call.name();
}

// The others time out if they cannot be told.
void Splitting::tell_others(const SplitOptions& options, const Status& why,
                            decltype(tutti::decline)& tell) noexcept {
    try {
        const Call call(*this, options);
        call.decline(why, tell);
    } catch (const std::exception& fault) {
        log(LogLevel::Debug, options.function, ": ", fault.what());
    }
}

void Splitting::decline(const SplitOptions& options, const Status& why) noexcept {
    tell_others(options, why, tutti::decline);
}

void Splitting::give_up(const SplitOptions& options, const Status& why) noexcept {
    tell_others(options, why, tutti::give_up);
}

}  // namespace tutti
