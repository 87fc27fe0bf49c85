// Groups made of a group's ranks: the members agree in a step of the membership, then share the
// connections of the first group. The caller's thread.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "agreement.hpp"
#include "backends/registry.hpp"
#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "foreign_peers.hpp"
#include "group.hpp"
#include "in_flight.hpp"
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

// One call of split() or compare().
class Group::Splitting {
public:
    Splitting(Group& parent, const SplitOptions& options)
        : parent_(parent),
          options_(options),
          map_(options.backend.empty() ? parent.backend_map_ : resolve_backends(options.backend)),
          reproducible_(options.reproducible.value_or(parent.reproducible_)),
          bound_(parent.bound_device_for(options.bound)),
          deadline_(parent.deadline(options.timeout_ms)) {
        entry_.emplace(parent, options.function.c_str());
        step_ = parent.next_step(options);
        if (needs_all()) that_split_ = parent.backends_.that_split(map_);
    }
    Splitting(const Splitting&) = delete;
    Splitting& operator=(const Splitting&) = delete;

    // Compares; keeps the ids of the new groups.
    void agree() {
        Agreement agreement = this->agreement();
        agreement.arguments = arguments();
        agreement.new_groups = static_cast<uint32_t>(options_.parts.size());
        with_context(
            [&] { first_group_id_ = tutti::agree(*parent_.membership_, agreement, deadline_); });
    }

    // Instead of agree(). The others time out if they cannot be told.
    static void tell_others(Group& parent, const SplitOptions& options, const Status& why,
                            decltype(tutti::decline)& tell) noexcept {
        try {
            const Splitting splitting(parent, options);
            tell(*parent.membership_, splitting.agreement(), why);
        } catch (const std::exception& fault) {
            log(LogLevel::Debug, options.function, ": ", fault.what());
        }
    }

    [[nodiscard]] std::string name() const {
        return cat(parent_.membership_->group_id(), ".", step_);
    }

    std::shared_ptr<Group> make() {
        const auto& parts = options_.parts;
        const auto mine = std::ranges::find_if(parts, [this](const auto& ranks) {
            return std::ranges::find(ranks, parent_.rank_) != ranks.end();
        });
        if (mine == parts.end()) {
            with_context([&] { split(-1, std::nullopt); });
            return nullptr;
        }
        const std::string suffix = parts.size() == 1 ? "" : cat(".", mine - parts.begin());
        SplitResult result;
        result.name = options_.description.empty() ? cat(parent_.name_, "/", step_, suffix)
                                                   : options_.description;
        result.timeout_ms = parent_.effective_timeout(options_.timeout_ms);
        result.reproducible = reproducible_;
        result.bound = bound_;
        for (const int rank : *mine) {
            result.global_ranks.push_back(parent_.global_ranks_[static_cast<size_t>(rank)]);
        }
        with_context([&] { open(result, static_cast<int>(mine - parts.begin())); });
        std::shared_ptr<Group> group(new Group(std::move(result), parent_));
        if (parent_.tree_->add(group)) return group;
        throw Error(TUTTI_ERR_ABORTED, cat(options_.function, " on ", parent_.label(),
                                           ": the group was destroyed meanwhile"));
    }

private:
    [[nodiscard]] Agreement agreement() const {
        Agreement agreement;
        agreement.key = cat("split/", step_);
        agreement.participants = options_.callers ? *options_.callers : all_ranks(parent_.size_);
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
        const bool all_call =
            !options_.callers || static_cast<int>(options_.callers->size()) == parent_.size_;
        return all_call && !options_.parts.empty();
    }

    MadeBackends split(int color, const std::optional<BackendPlace>& place) {
        if (that_split_.empty()) return {};
        return parent_.backends_.split(
            map_, {*parent_.membership_, cat("split/", step_), color, place, deadline_});
    }

    // The group does not exist before all of this: an error names the ranks of the parent.
    void open(SplitResult& result, int part) {
        const uint32_t group_id = first_group_id_ + static_cast<uint32_t>(part);
        result.membership = std::make_unique<Membership>(parent_.membership_->shared_world(),
                                                         group_id, result.global_ranks);
        Membership& members = *result.membership;
        const BackendPlace place{members, deadline_, parent_.store_, bound_, false, result.name};
        MadeBackends made = split(part, place);
        // Opening may take time, in which the parent may be destroyed.
        entry_.reset();
        try {
            result.backend_map = map_;
            result.backends.open(result.backend_map, place, std::move(made));
        } catch (const Error& error) {
            Status status = error.status();
            members.report(gave_up(members.rank(), status));
            if (status.rank >= 0) {
                const int own = status.rank;
                status.rank = global_to_parent(result.global_ranks[static_cast<size_t>(own)]);
                status.message = cat(status.message, "; rank ", own, " of the new group is rank ",
                                     status.rank, " of this one");
            }
            throw Error(status);
        }
    }

    [[nodiscard]] int global_to_parent(int global) const {
        const auto& ranks = parent_.global_ranks_;
        return static_cast<int>(std::ranges::find(ranks, global) - ranks.begin());
    }

    template <typename Act>
    void with_context(Act&& act) const {
        try {
            act();
        } catch (const Error& error) {
            Status status = error.status();
            status.message = cat(options_.function, " on ", parent_.label(), ": ", status.message);
            throw Error(status);
        }
    }

    Group& parent_;
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

Group::Group(SplitResult result, Group& parent)
    : rank_(result.membership->rank()),
      size_(result.membership->size()),
      name_(std::move(result.name)),
      timeout_ms_(result.timeout_ms),
      reproducible_(result.reproducible),
      bound_(result.bound),
      backend_map_(std::move(result.backend_map)),
      has_foreign_peers_(parent.has_foreign_peers_),
      compares_first_(debug_level() == DebugLevel::Detail && !has_foreign_peers_),
      global_ranks_(std::move(result.global_ranks)),
      first_(parent.first_ ? parent.first_ : parent.shared_from_this()),
      tree_(parent.tree_),
      store_(result.store ? std::move(result.store) : parent.store_),
      membership_(std::move(result.membership)),
      backends_(std::move(result.backends)),
      ticket_queue_(std::make_shared<TicketQueue>()),
      door_(std::make_shared<Door>(*this)) {
    membership_->set_compares_first(compares_first_);
    adopt_backends();
}

// Every rank counts the groups it helps to make, so all know the next one by the same name.
std::string Group::next_step(const SplitOptions& options) {
    const Lock lock(mutex_);
    if (!options.callers) return cat(++steps_);
    const uint64_t callers = hash(*options.callers);
    return cat(callers, "-", ++steps_of_some_[callers]);
}

std::shared_ptr<Group> Group::split(const SplitOptions& options) {
    check_may_wait(options.function.c_str());
    if (has_foreign_peers_) return split_among_foreign_peers(options);
    Splitting splitting(*this, options);
    splitting.agree();
    return splitting.make();
}

void Group::decline(const SplitOptions& options, const Status& why) noexcept {
    Splitting::tell_others(*this, options, why, tutti::decline);
}

void Group::give_up(const SplitOptions& options, const Status& why) noexcept {
    Splitting::tell_others(*this, options, why, tutti::give_up);
}

std::string Group::compare(const SplitOptions& options) {
    check_may_wait(options.function.c_str());
    if (has_foreign_peers_) refuse_with_foreign_peers(options.function, label());
    Splitting splitting(*this, options);
    splitting.agree();
    return splitting.name();
}

}  // namespace tutti
