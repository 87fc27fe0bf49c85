// The table of ops that callers have made. A number is a mark, a generation and a place, so one
// that was released is not mistaken for a newer one. Any thread.
#include "reduce_op.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/mutex.hpp"
#include "reduce.hpp"

namespace tutti {

namespace {

constexpr int place_bits = 15;
constexpr uint32_t max_ops = 1U << place_bits;
constexpr uint32_t last_generation = (1U << 15) - 1;

constexpr uint32_t user_mark = 1U << 31;

uint32_t mark_of(const UserFunction& user) {
    return fnv1a_32(cat(user.name, user.is_commutative ? '\1' : '\0')) | user_mark;
}

class Table {
public:
    static constexpr tutti_reduce_op made_mark = ReduceOp::first_made;
    using Op = std::shared_ptr<const ReduceOp::Made>;

    tutti_reduce_op add(Op op) {
        const Lock lock(mutex_);
        if (free_.empty()) {
            if (places_.size() == max_ops) {
                throw Error(TUTTI_ERR_OUT_OF_MEMORY,
                            cat("all of the ", max_ops, " reduce ops are in use"));
            }
            free_.reserve(places_.size() + 1);  // so that a release cannot fail
            places_.emplace_back();
            free_.push_back(static_cast<uint32_t>(places_.size() - 1));
        }
        const uint32_t index = free_.back();
        free_.pop_back();
        Place& place = places_[index];
        place.op = std::move(op);
        ++place.generation;
        return made_mark | place.generation << place_bits | index;
    }

    // The op, and whether there was ever one of this number.
    std::pair<Op, bool> find(tutti_reduce_op number) {
        const Lock lock(mutex_);
        const Place* const place = place_of(number);
        if (place == nullptr) return {nullptr, false};
        const uint32_t generation = generation_of(number);
        const bool is_now = generation == place->generation;
        return {is_now ? place->op : nullptr, generation > 0 && generation <= place->generation};
    }

    void remove(tutti_reduce_op number) noexcept {
        Op ended;  // without the lock
        const Lock lock(mutex_);
        Place* const place = place_of(number);
        if (place == nullptr || generation_of(number) != place->generation || !place->op) return;
        ended = std::move(place->op);
        // A place whose generations are used up is retired.
        if (place->generation < last_generation) free_.push_back(number % max_ops);
    }

    // Also of an op that was released and is still at work: who is told of a call, by the ranks
    // that are in it, reads the same on all of them.
    std::optional<std::string> name_of(uint32_t mark) {
        const Lock lock(mutex_);
        const auto found = names_.find(mark);
        const auto name = found == names_.end() ? nullptr : found->second.lock();
        return name ? std::optional(*name) : std::nullopt;
    }

    // The name of all ops with this mark, for as long as one of them is.
    std::shared_ptr<const std::string> keep_name(uint32_t mark, const std::string& text) {
        const Lock lock(mutex_);
        if (names_.size() >= max_names_) {
            std::erase_if(names_, [](const auto& entry) { return entry.second.expired(); });
            max_names_ = 2 * names_.size() + 16;
        }
        std::weak_ptr<const std::string>& known = names_[mark];
        auto name = known.lock();
        if (!name) known = name = std::make_shared<const std::string>(text);
        return name;
    }

private:
    struct Place {
        Op op;
        uint32_t generation = 0;
    };

    static uint32_t generation_of(tutti_reduce_op number) {
        return number >> place_bits & last_generation;
    }
    Place* place_of(tutti_reduce_op number) TUTTI_REQUIRES(mutex_) {
        const bool is_made = number >> (2 * place_bits) == 1;
        const uint32_t index = number % max_ops;
        return is_made && index < places_.size() ? &places_[index] : nullptr;
    }

    Mutex mutex_;
    std::vector<Place> places_ TUTTI_GUARDED_BY(mutex_);
    std::vector<uint32_t> free_ TUTTI_GUARDED_BY(mutex_);
    std::map<uint32_t, std::weak_ptr<const std::string>> names_ TUTTI_GUARDED_BY(mutex_);
    size_t max_names_ TUTTI_GUARDED_BY(mutex_) = 16;  // then those of nobody go
};

Table& table() {
    static Table& made = *new Table;  // outlives whatever a program forgets to end
    return made;
}

}  // namespace

std::shared_ptr<const ReduceOp::Made> ReduceOp::find(tutti_reduce_op number) {
    return table().find(number).first;
}

tutti_reduce_op ReduceOp::make(Made made) {
    if (auto* const user = std::get_if<UserFunction>(&made)) {
        user->mark = mark_of(*user);
        user->known_name = table().keep_name(user->mark, user->name);
    }
    return table().add(std::make_shared<const Made>(std::move(made)));
}

void ReduceOp::release(tutti_reduce_op number) noexcept {
    table().remove(number);
}

bool ReduceOp::is_released() const {
    return !made_ && table().find(number_).second;
}

bool ReduceOp::is_commutative() const {
    const UserFunction* const user = user_function();
    return user == nullptr || user->is_commutative;
}

uint32_t ReduceOp::fingerprint() const {
    if (!made_) return number_;
    const UserFunction* const user = user_function();
    return user == nullptr ? uint32_t{TUTTI_PREMUL_SUM} : user->mark;
}

std::string describe_op(uint32_t fingerprint) {
    if (fingerprint < user_mark) return reduce_op_name(fingerprint);
    const auto name = table().name_of(fingerprint);
    return name ? cat('"', *name, '"') : std::string("a function of another name");
}

}  // namespace tutti
