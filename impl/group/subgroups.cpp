// Groups made of a group's ranks: the members agree at the store, then share the connections of the
// first group, or, where they cannot, meet like any group. The caller's thread.
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "agreement.hpp"
#include "backend/registry.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "entry.hpp"
#include "group.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

// Of a list of ranks, for keys; the list itself is compared, too.
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
          first_(parent.first_ ? *parent.first_ : parent),
          options_(options),
          backend_(options.backend.empty() ? parent.backend_name_
                                           : resolve_backend(options.backend)),
          reproducible_(options.reproducible.value_or(parent.reproducible_)),
          deadline_(parent.deadline(options.timeout_ms)) {
        entry_.emplace(parent, options.function.c_str());
        if (&first_ != &parent)
            first_entry_.emplace(first_, options.function.c_str(), Entry::Of::Any);
        step_ = parent.next_step(options);
        place_ = parent.path_.empty() ? step_ : cat(parent.path_, "/", step_);
    }
    ~Splitting() {
        if (reserved_) first_.backend_->cancel(place_);
    }
    Splitting(const Splitting&) = delete;
    Splitting& operator=(const Splitting&) = delete;

    // Compares; keeps what the ranks said of themselves.
    void agree() {
        Agreement agreement = this->agreement();
        agreement.arguments = arguments();
        agreement.card = card();
        agreement.trouble = [this](int rank) { return parent_.backend_->trouble(rank); };
        try {
            const auto cards = tutti::agree(agreement, deadline_);
            for (size_t at = 0; at < cards.size(); ++at) {
                cards_[agreement.participants[at]] = cards[at];
            }
        } catch (const Error& error) {
            rethrow(error);
        }
    }

    void decline(const Status& why) { tutti::decline(agreement(), why, deadline_); }

    std::shared_ptr<Group> make() {
        const auto& parts = options_.parts;
        const auto mine = std::ranges::find_if(parts, [this](const auto& ranks) {
            return std::ranges::find(ranks, parent_.rank_) != ranks.end();
        });
        if (mine == parts.end()) return nullptr;
        const std::string suffix = parts.size() == 1 ? "" : cat(".", mine - parts.begin());
        Birth birth;
        birth.name = options_.description.empty() ? cat(parent_.name_, "/", step_, suffix)
                                                  : options_.description;
        birth.path = place_ + suffix;
        birth.rank = static_cast<int>(std::ranges::find(*mine, parent_.rank_) - mine->begin());
        birth.size = static_cast<int>(mine->size());
        birth.timeout_ms = parent_.patience(options_.timeout_ms);
        birth.reproducible = reproducible_;
        for (const int rank : *mine) {
            birth.global_ranks.push_back(parent_.global_ranks_[static_cast<size_t>(rank)]);
        }
        birth.backend = connect(birth, *mine);
        std::shared_ptr<Group> group(new Group(std::move(birth), parent_));
        if (parent_.family_->add(group)) return group;
        throw Error(TUTTI_ERR_ABORTED, cat(options_.function, " on ", parent_.label(),
                                           ": the group was destroyed meanwhile"));
    }

private:
    [[nodiscard]] std::shared_ptr<Store> store_of(const std::string& place) const {
        const std::string identity = first_.backend_->identity();
        return make_prefix_store(cat("tutti/groups/", identity, "/", place), first_.store_);
    }

    [[nodiscard]] Agreement agreement() const {
        Agreement agreement;
        agreement.store = store_of(place_);
        agreement.rank = parent_.rank_;
        agreement.participants = options_.callers ? *options_.callers : all_ranks(parent_.size_);
        agreement.function = options_.function;
        return agreement;
    }

    [[nodiscard]] std::vector<std::string> arguments() const {
        std::vector<std::string> phrases = options_.arguments;
        if (options_.parts.empty()) return phrases;
        phrases.push_back(parts_text(options_.parts));
        phrases.push_back(cat("backend ", backend_));
        phrases.push_back(cat("reproducible ", reproducible_ ? "on" : "off"));
        return phrases;
    }

    // Each rank's process, where threads of one must meet; its place in the first group's
    // connections, where these are shared.
    std::string card() {
        if (options_.parts.empty()) return {};
        if (backend_ == first_.backend_name_) {
            if (auto card = first_.backend_->reserve(place_)) {
                reserved_ = true;
                return *card;
            }
        }
        return cat(getpid());
    }

    std::unique_ptr<Backend> connect(const Birth& birth, const std::vector<int>& ranks) {
        std::vector<std::string> cards;
        for (const int rank : ranks) cards.push_back(cards_.at(rank));
        if (std::exchange(reserved_, false)) {
            return first_.backend_->branch(
                {place_, birth.global_ranks, birth.rank, cards, deadline_});
        }
        // Meeting may take time, in which the parent may be destroyed.
        const std::shared_ptr<Store> store = store_of(birth.path);
        first_entry_.reset();
        entry_.reset();
        const auto stranger = std::ranges::find_if(
            cards, [&](const std::string& one) { return one != cards.front(); });
        try {
            if (backend_ == "loopback" && stranger != cards.end()) {
                throw Error(TUTTI_ERR_UNSUPPORTED,
                            cat("backend loopback joins threads of one process, and rank ",
                                stranger - cards.begin(), " is another one than rank 0"));
            }
            return make_backend(backend_, store, birth.rank, birth.size, deadline_);
        } catch (const Error& error) {
            rethrow(error);
        }
    }

    [[noreturn]] void rethrow(const Error& error) const {
        Status status = error.status();
        status.message = cat(options_.function, " on ", parent_.label(), ": ", status.message);
        throw Error(status);
    }

    Group& parent_;
    Group& first_;
    const SplitOptions& options_;
    const std::string backend_;
    const bool reproducible_;
    const Deadline deadline_;
    std::optional<Entry> entry_;
    std::optional<Entry> first_entry_;
    std::string step_;   // "3": which of the parent's
    std::string place_;  // "1/3": which of the family's
    bool reserved_ = false;
    std::map<int, std::string> cards_;  // by rank of the parent
};

Group::Group(Birth birth, Group& parent)
    : rank_(birth.rank),
      size_(birth.size),
      name_(std::move(birth.name)),
      timeout_ms_(birth.timeout_ms),
      reproducible_(birth.reproducible),
      global_ranks_(std::move(birth.global_ranks)),
      path_(std::move(birth.path)),
      first_(parent.first_ ? parent.first_ : parent.shared_from_this()),
      family_(parent.family_),
      store_(parent.store_),
      backend_(std::move(birth.backend)),
      turns_(std::make_unique<Turns>()) {
    backend_name_ = static_backend_name(backend_->name());
    learn_hosts();
}

// Every rank counts the groups it helps to make, so all know the next one by the same name.
std::string Group::next_step(const SplitOptions& options) {
    const Lock lock(mutex_);
    if (!options.callers) return cat(++steps_);
    const uint64_t callers = hash(*options.callers);
    return cat(callers, "-", ++steps_of_some_[callers]);
}

std::shared_ptr<Group> Group::split(const SplitOptions& options) {
    Splitting splitting(*this, options);
    splitting.agree();
    return splitting.make();
}

void Group::decline(const SplitOptions& options, const Status& why) noexcept {
    try {
        Splitting(*this, options).decline(why);
    } catch (const std::exception& fault) {  // then the others' time-out tells
        log(LogLevel::Debug, options.function, ": ", fault.what());
    }
}

void Group::compare(const SplitOptions& options) {
    Splitting(*this, options).agree();
}

}  // namespace tutti
