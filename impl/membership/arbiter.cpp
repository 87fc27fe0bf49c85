#include "arbiter.hpp"

#include <algorithm>
#include <numeric>

#include "absence.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace tutti::membership {

namespace {

constexpr uint32_t first_group = 0;
constexpr uint32_t most_numbers = (uint32_t{1} << 24) - 1;  // data connections have room for those
constexpr size_t most_words = longest_frame / 2;

int rank_in(const std::vector<int>& ranks, int rank) {
    const auto found = std::ranges::find(ranks, rank);
    return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

}  // namespace

Arbiter::Arbiter(int size, Send send)
    : size_(size), send_(std::move(send)), entered_(static_cast<size_t>(size)) {
    first_.ranks.resize(static_cast<size_t>(size));
    std::iota(first_.ranks.begin(), first_.ranks.end(), 0);
}

bool Arbiter::is_member(int rank) const {
    return rank >= 0 && rank < size_ && entered_[static_cast<size_t>(rank)] && !has_left(rank) &&
           !is_lost(rank);
}

int Arbiter::members() const {
    return static_cast<int>(
        std::ranges::count_if(first_.ranks, [this](int rank) { return is_member(rank); }));
}

void Arbiter::inherit(const std::set<int>& left, const std::map<int, Status>& losses,
                      const Status& verdict, uint32_t first_number) {
    first_.left = left;
    first_.verdict = verdict;
    losses_ = losses;
    last_number_ = first_number;
}

std::vector<int> Arbiter::awaited() const {
    std::vector<int> ranks;
    for (const int rank : first_.ranks) {
        const bool has_entered = entered_[static_cast<size_t>(rank)];
        if (!has_entered && !has_left(rank) && !is_lost(rank)) ranks.push_back(rank);
    }
    return ranks;
}

void Arbiter::enter(int rank) {
    entered_[static_cast<size_t>(rank)] = true;
    if (!first_.verdict.ok()) send_(rank, encode(Kind::Verdict, first_group, first_.verdict));
    for (const auto& [lost, loss] : losses_) send_(rank, encode(Kind::Lost, loss));
    if (!first_.left.empty()) {
        send_(rank, encode(Kind::Left, first_group,
                           std::vector<int>(first_.left.begin(), first_.left.end())));
    }
}

void Arbiter::hear(int rank, const Frame& frame) {
    switch (frame.kind) {
        case Kind::Open: {
            const auto [number, ranks] = decode_ranks(frame);
            return open(rank, number, ranks);
        }
        case Kind::Bye:
            return leave(rank, decode_ranks(frame).group);
        case Kind::Report: {
            const auto [number, cause] = decode_group_status(frame);
            if (Group* const group = find(number)) decide(number, *group, cause);
            return;
        }
        case Kind::Stalled: {
            const auto [number, call] = decode_stall(frame);
            return stall(rank, number, call);
        }
        case Kind::Come:
            return come(rank, decode_come(frame));
        case Kind::GiveUp:
            return give_up(rank, decode_give_up(frame));
        case Kind::Gathered:
            return recall(decode_gathered(frame));
        case Kind::Connect:
            if (const int to = decode_rank(frame); is_member(to)) {
                send_(to, encode(Kind::Connect, rank));
            }
            return;
        default:
            return;
    }
}

Arbiter::Group* Arbiter::find(uint32_t number) {
    if (number == first_group) return &first_;
    const auto found = groups_.find(number);
    return found == groups_.end() ? nullptr : &found->second;
}

void Arbiter::tell(const Group& group, const std::string& frame) {
    for (const int rank : group.ranks) {
        if (entered_[static_cast<size_t>(rank)] && !group.left.contains(rank)) send_(rank, frame);
    }
}

// Members of a group that was made from others tell of it when they have it; some may fail or leave
// before others come.
void Arbiter::open(int rank, uint32_t number, const std::vector<int>& ranks) {
    const bool fits =
        std::ranges::all_of(ranks, [this](int one) { return one >= 0 && one < size_; });
    if (number == first_group || !fits || rank_in(ranks, rank) < 0) {
        throw Error(TUTTI_ERR_NETWORK, cat("rank ", rank, " is in a group that cannot be"));
    }
    Group& group = groups_[number];
    if (group.ranks.empty()) group.ranks = ranks;
    last_number_ = std::max(last_number_, number);
    if (!group.verdict.ok()) send_(rank, encode(Kind::Verdict, number, group.verdict));
    if (!group.left.empty()) {
        send_(rank,
              encode(Kind::Left, number, std::vector<int>(group.left.begin(), group.left.end())));
    }
}

void Arbiter::leave(int rank, uint32_t number) {
    // A group that nobody has told of yet: others may, after another arbiter.
    Group* const group = number == first_group ? &first_ : &groups_[number];
    if (!group->left.insert(rank).second) return;
    group->untold.push_back(rank);
    fail_steps(
        [&](const StepName& name, const Step& step) {
            return (number == first_group || name.first == number) &&
                   rank_in(step.participants, rank) >= 0 && !step.words.contains(rank);
        },
        membership::has_left(rank));
}

void Arbiter::tell_who_left() {
    const auto tell_of = [this](uint32_t number, Group& group) {
        const std::vector<int> ranks = std::exchange(group.untold, {});
        if (!ranks.empty()) tell(group, encode(Kind::Left, number, ranks));
    };
    tell_of(first_group, first_);
    for (auto& [number, group] : groups_) tell_of(number, group);
    std::erase_if(groups_, [this](const auto& entry) {
        const Group& group = entry.second;
        return std::ranges::all_of(group.ranks, [&](int rank) {
            return group.left.contains(rank) || has_left(rank) || is_lost(rank);
        });
    });
}

void Arbiter::stall(int rank, uint32_t number, const Stall& stall) {
    Group* const group = find(number);
    const int own = group == nullptr ? -1 : rank_in(group->ranks, rank);
    if (own < 0) return;
    if (const auto mismatch = group->stalls.add(own, stall)) decide(number, *group, *mismatch);
}

void Arbiter::lose(const Status& loss) {
    if (!losses_.emplace(loss.rank, loss).second) return;
    decide(first_group, first_, loss);
    fail_steps(
        [&](const StepName&, const Step& step) {
            return rank_in(step.participants, loss.rank) >= 0 && !step.words.contains(loss.rank);
        },
        loss);
    tell(first_, encode(Kind::Lost, loss));
}

void Arbiter::decide(const Status& verdict) {
    decide(first_group, first_, verdict);
}

void Arbiter::decide(uint32_t number, Group& group, const Status& verdict) {
    if (!group.verdict.ok()) return;
    group.verdict = verdict;
    log(LogLevel::Info, "control: ", verdict.message);
    tell(group, encode(Kind::Verdict, number, verdict));
    fail_steps([&](const StepName& name, const Step&) { return name.first == number; }, verdict);
}

// Some rank has heard it from an arbiter that went before all had: it holds for all.
void Arbiter::recall(const Gathered& outcome) {
    const StepName name{outcome.group, outcome.key};
    last_number_ = std::max(last_number_, outcome.first_number);
    const auto [known, is_new] = recalled_.emplace(name, encode(outcome));
    const auto step = steps_.find(name);
    if (!is_new || step == steps_.end() || step->second.failure) return;
    for (const auto& [rank, words] : step->second.words) send_(rank, known->second);
    steps_.erase(step);
}

std::vector<int> Arbiter::missing(const Step& step) const {
    std::vector<int> ranks;
    for (const int rank : step.participants) {
        if (!step.words.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
}

void Arbiter::come(int rank, const Come& come) {
    const StepName name{come.group, come.key};
    if (const auto outcome = recalled_.find(name); outcome != recalled_.end()) {
        return send_(rank, outcome->second);
    }
    const Group* const group = find(come.group);
    Step& step = steps_[name];
    if (step.participants.empty()) {
        step.participants = come.participants;
        step.numbers = come.numbers;
    }
    if (rank_in(step.participants, rank) < 0 || step.words.contains(rank)) {
        throw Error(TUTTI_ERR_NETWORK, cat("rank ", rank, " has no business in ", come.key));
    }
    step.words[rank] = come.words;
    if (step.failure) {
        step.informed.insert(rank);
        send_(rank, encode(*step.failure));
        return forget_told_steps();
    }
    if (!come.refusal.ok()) return fail_step(name, step, come.refusal);
    if (group != nullptr && !group->verdict.ok()) return fail_step(name, step, group->verdict);
    const auto absent = missing(step);
    if (absent.empty()) return complete(name, step);
    for (const int one : absent) {
        if (const auto loss = losses_.find(one); loss != losses_.end()) {
            return fail_step(name, step, loss->second);
        }
        if (has_left(one) || (group != nullptr && group->left.contains(one))) {
            return fail_step(name, step, membership::has_left(one));
        }
    }
}

void Arbiter::complete(const StepName& name, Step& step) {
    if (step.numbers > most_numbers - std::min(last_number_, most_numbers)) {
        return fail_step(name, step,
                         {TUTTI_ERR_OUT_OF_MEMORY, -1, 0,
                          cat("no numbers for new groups are left of ", most_numbers)});
    }
    size_t bytes = 0;
    for (const auto& [rank, words] : step.words) bytes += words.size();
    if (bytes > most_words) {
        return fail_step(
            name, step,
            {TUTTI_ERR_OUT_OF_MEMORY, -1, 0,
             cat("what the ranks say in this step has ", bytes, " bytes, more than ", most_words)});
    }
    Gathered gathered{name.first, name.second, last_number_ + 1, {}};
    last_number_ += step.numbers;
    const auto participants = step.participants;
    for (const int rank : participants) gathered.words.push_back(std::move(step.words[rank]));
    steps_.erase(name);
    const std::string frame = encode(gathered);
    for (const int rank : participants) send_(rank, frame);
}

void Arbiter::give_up(int rank, const GiveUp& give_up) {
    const auto found = steps_.find({give_up.group, give_up.key});
    if (found == steps_.end() || found->second.failure) return;  // it has been told
    Step& step = found->second;
    if (give_up.unless_here >= 0 && step.words.contains(give_up.unless_here)) return;
    const auto absent = missing(step);
    fail_step(found->first, step,
              {TUTTI_ERR_TIMEOUT, absent.empty() ? -1 : absent.front(), 0,
               cat("rank ", rank, " timed out")},
              absent);
}

// Those who have come learn it, and those who come later when they do.
void Arbiter::fail_step(const StepName& name, Step& step, Status cause, std::vector<int> missing) {
    step.failure = Failed{name.first, name.second, std::move(cause), std::move(missing)};
    const std::string frame = encode(*step.failure);
    for (const auto& [rank, words] : step.words) {
        step.informed.insert(rank);
        send_(rank, frame);
    }
    forget_told_steps();
}

template <typename Concerned>
void Arbiter::fail_steps(Concerned&& concerned, const Status& cause) {
    std::vector<StepName> names;
    for (const auto& [name, step] : steps_) {
        if (!step.failure && concerned(name, step)) names.push_back(name);
    }
    for (const StepName& name : names) {
        if (const auto found = steps_.find(name); found != steps_.end()) {
            fail_step(name, found->second, cause);
        }
    }
    forget_told_steps();
}

// A failed step stays as long as somebody may still come to it.
void Arbiter::forget_told_steps() {
    std::erase_if(steps_, [this](const auto& entry) {
        const Step& step = entry.second;
        return step.failure && std::ranges::all_of(step.participants, [&](int rank) {
                   return step.informed.contains(rank) || has_left(rank) || is_lost(rank);
               });
    });
}

}  // namespace tutti::membership
