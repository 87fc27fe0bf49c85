#include "arbiter.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/log.hpp"
#include "missing_ranks.hpp"

namespace tutti::membership {

namespace {

constexpr uint32_t first_group = 0;
constexpr uint32_t max_group_ids = (uint32_t{1} << 24) - 1;  // that a data connection can name
constexpr size_t max_payload_bytes = max_frame / 2;

int rank_in(const std::vector<int>& ranks, int rank) {
    const auto found = std::ranges::find(ranks, rank);
    return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

// A group's own ranks are in its verdict, those of the first group in a step.
Status cause_of_steps(const std::vector<int>& ranks, const Failure& verdict) {
    Status cause = verdict.cause;
    if (cause.rank >= 0 && cause.rank < static_cast<int>(ranks.size())) {
        cause.rank = ranks[static_cast<size_t>(cause.rank)];
    }
    return cause;
}

}  // namespace

Arbiter::Arbiter(int size, Send send)
    : size_(size),
      send_(std::move(send)),
      entered_(static_cast<size_t>(size)),
      consensus_(size, {.why_gone = [this](uint32_t group_id,
                                           int rank) { return why_gone(group_id, rank); },
                        .send = [this](int rank, const std::string& frame) { send_(rank, frame); },
                        .new_group_ids = [this](uint32_t count) { return new_group_ids(count); }}) {
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

void Arbiter::restore(const std::set<int>& left, const std::map<int, Status>& losses,
                      const Failure& verdict, uint32_t first_group_id) {
    first_.left = left;
    first_.verdict = verdict;
    first_.ends_steps = !verdict.ok() && verdict.first_call == 0;
    losses_ = losses;
    last_group_id_ = first_group_id;
    consensus_.follow_another();
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
    for (const auto& [lost, loss] : losses_) send_(rank, encode(Kind::Lost, loss));
    if (!first_.verdict.ok()) send_(rank, encode(Kind::Verdict, first_group, first_.verdict));
    if (!first_.left.empty()) {
        send_(rank, encode(Kind::Left, first_group,
                           std::vector<int>(first_.left.begin(), first_.left.end())));
    }
}

void Arbiter::handle(int rank, const Frame& frame) {
    switch (frame.kind) {
        case Kind::Open: {
            const auto [group_id, ranks] = decode_ranks(frame);
            return open(rank, group_id, ranks);
        }
        case Kind::Bye:
            return leave(rank, decode_ranks(frame).group);
        case Kind::Report: {
            const auto [group_id, failure] = decode_failure(frame);
            if (Group* const group = find(group_id)) {
                decide(group_id, *group, failure, rank);
            }
            return;
        }
        case Kind::Stalled: {
            const auto [group_id, call] = decode_stall(frame);
            return stall(rank, group_id, call);
        }
        case Kind::Arrive:
            return arrive(rank, decode_arrival(frame));
        case Kind::GiveUp:
            return give_up(rank, decode_give_up(frame));
        case Kind::Propose:
            return consensus_.propose(rank, decode_proposal(frame));
        case Kind::Decided:
            return restore_decision(rank, decode_decision(frame));
        case Kind::Replayed:
            return consensus_.caught_up(rank);
        case Kind::StepCompleted:
            return restore_outcome(decode_step_completed(frame));
        case Kind::Connect:
            if (const int to = decode_rank(frame); is_member(to)) {
                send_(to, encode(Kind::Connect, rank));
            }
            return;
        default:
            return;
    }
}

const Arbiter::Group* Arbiter::find(uint32_t group_id) const {
    if (group_id == first_group) return &first_;
    const auto found = groups_.find(group_id);
    return found == groups_.end() ? nullptr : &found->second;
}

Arbiter::Group* Arbiter::find(uint32_t group_id) {
    return const_cast<Group*>(std::as_const(*this).find(group_id));
}

bool Arbiter::hears_of(const Group& group, int rank) const {
    if (!entered_[static_cast<size_t>(rank)] || group.left.contains(rank)) return false;
    return &group == &first_ || group.opened.contains(rank);
}

void Arbiter::send_to_group(const Group& group, const std::string& frame) {
    for (const int rank : group.ranks) {
        if (hears_of(group, rank)) send_(rank, frame);
    }
}

// Members of a group made from others announce it when they have it; some may fail or leave before
// others get there. The answer ends with who has left, be it nobody: why comes first.
void Arbiter::open(int rank, uint32_t group_id, const std::vector<int>& ranks) {
    const bool fits =
        std::ranges::all_of(ranks, [this](int one) { return one >= 0 && one < size_; });
    if (group_id == first_group || !fits || rank_in(ranks, rank) < 0) {
        throw Error(TUTTI_ERR_NETWORK, cat("rank ", rank, " is in a group that cannot be"));
    }
    Group& group = groups_[group_id];
    if (group.ranks.empty()) group.ranks = ranks;
    group.opened.insert(rank);
    last_group_id_ = std::max(last_group_id_, group_id);
    if (!group.verdict.ok()) send_(rank, encode(Kind::Verdict, group_id, group.verdict));
    send_(rank,
          encode(Kind::Left, group_id, std::vector<int>(group.left.begin(), group.left.end())));
}

void Arbiter::leave(int rank, uint32_t group_id) {
    // Maybe of a group that is not announced yet: others may, after a change of arbiters.
    Group* const group = group_id == first_group ? &first_ : &groups_[group_id];
    if (!group->left.insert(rank).second) return;
    group->unannounced.push_back(rank);
    fail_steps(
        [&](const StepName& name, const Step& step) {
            return (group_id == first_group || name.first == group_id) &&
                   rank_in(step.participants, rank) >= 0 && !step.payloads.contains(rank);
        },
        [&](const StepName& name) { return why_without(name.first, rank); });
    consensus_.review();
}

// A rank that leaves after a failure leaves because of it. The one that failed may have left an
// arbiter before this one.
Status Arbiter::why_without(uint32_t group_id, int rank) {
    const Group* const group = find(group_id);
    if (group != nullptr && !group->verdict.ok()) {
        return cause_of_steps(group->ranks, group->verdict);
    }
    if (has_left(rank) && !first_.verdict.ok()) return first_.verdict.cause;
    return membership::left_error(rank);
}

void Arbiter::announce_departures() {
    const auto announce = [this](uint32_t group_id, Group& group) {
        const std::vector<int> ranks = std::exchange(group.unannounced, {});
        if (!ranks.empty()) send_to_group(group, encode(Kind::Left, group_id, ranks));
    };
    announce(first_group, first_);
    for (auto& [group_id, group] : groups_) announce(group_id, group);
    std::erase_if(groups_, [this](const auto& entry) {
        const Group& group = entry.second;
        return std::ranges::all_of(group.ranks, [&](int rank) {
            return group.left.contains(rank) || has_left(rank) || is_lost(rank);
        });
    });
}

void Arbiter::stall(int rank, uint32_t group_id, const Stall& stall) {
    Group* const group = find(group_id);
    const int own = group == nullptr ? -1 : rank_in(group->ranks, rank);
    if (own < 0) return;
    if (const auto mismatch = group->stalls.add(own, stall)) decide(group_id, *group, {*mismatch});
}

void Arbiter::declare_lost(const Status& loss) {
    if (!losses_.emplace(loss.rank, loss).second) return;
    send_to_group(first_, encode(Kind::Lost, loss));  // first: the verdict makes a rank ask for it
    decide(first_group, first_, {loss});
    fail_steps(
        [&](const StepName&, const Step& step) {
            return rank_in(step.participants, loss.rank) >= 0 && !step.payloads.contains(loss.rank);
        },
        [&](const StepName&) { return loss; });
    consensus_.review();
}

void Arbiter::decide(const Status& verdict) {
    decide(first_group, first_, {verdict});
}

// The first cause counts, but for calls before the one that it ends.
void Arbiter::decide(uint32_t group_id, Group& group, const Failure& verdict, int reporter) {
    if (reporter == nobody || verdict.first_call == 0) {
        group.ends_steps = true;
    } else {
        group.failed.insert(reporter);
    }
    if (verdict.ends_more_than(group.verdict)) {
        group.verdict = verdict;
        log(LogLevel::Info, "control: ", verdict.cause.message);
        send_to_group(group, encode(Kind::Verdict, group_id, verdict));
    }
    fail_steps([&](const StepName& name,
                   const Step& step) { return name.first == group_id && is_over(group, step); },
               [&](const StepName&) { return cause_of_steps(group.ranks, group.verdict); });
}

// A step that a failed rank has passed has completed; others may do without that rank.
bool Arbiter::is_over(const Group& group, const Step& step) {
    return group.ends_steps || std::ranges::any_of(step.participants, [&](int rank) {
               return group.failed.contains(rank);
           });
}

// Some rank got the outcome from an arbiter that died before all had it: it holds for all.
void Arbiter::restore_outcome(const StepCompleted& outcome) {
    const StepName name{outcome.group, outcome.key};
    last_group_id_ = std::max(last_group_id_, outcome.first_group_id);
    const auto [known, is_new] = restored_.emplace(name, encode(outcome));
    const auto step = steps_.find(name);
    if (!is_new || step == steps_.end() || step->second.failure) return;
    for (const auto& [rank, payload] : step->second.payloads) send_(rank, known->second);
    steps_.erase(step);
}

// Only a rank that repeats what it has heard of the arbiter before has some to report.
void Arbiter::restore_decision(int rank, const Decision& decision) {
    if (consensus_.has_caught_up(rank)) return;
    last_group_id_ = std::max(last_group_id_, decision.first_group_id);
    consensus_.restore(decision);
}

Status Arbiter::why_gone(uint32_t group_id, int rank) const {
    if (const auto loss = losses_.find(rank); loss != losses_.end()) return loss->second;
    const Group* const group = find(group_id);
    if (has_left(rank) || (group != nullptr && group->left.contains(rank))) return left_error(rank);
    return {};
}

std::optional<uint32_t> Arbiter::new_group_ids(uint32_t count) {
    if (count > max_group_ids - std::min(last_group_id_, max_group_ids)) return std::nullopt;
    return std::exchange(last_group_id_, last_group_id_ + count) + 1;
}

std::vector<int> Arbiter::missing(const Step& step) const {
    std::vector<int> ranks;
    for (const int rank : step.participants) {
        if (!step.payloads.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
}

void Arbiter::arrive(int rank, const StepArrival& arrival) {
    const StepName name{arrival.group, arrival.key};
    if (const auto outcome = restored_.find(name); outcome != restored_.end()) {
        return send_(rank, outcome->second);
    }
    const Group* const group = find(arrival.group);
    Step& step = steps_[name];
    if (step.participants.empty()) {
        step.participants = arrival.participants;
        step.new_groups = arrival.new_groups;
    }
    if (rank_in(step.participants, rank) < 0 || step.payloads.contains(rank)) {
        throw Error(TUTTI_ERR_NETWORK, cat("rank ", rank, " takes no part in ", arrival.key));
    }
    step.payloads[rank] = arrival.payload;
    if (step.failure) {
        step.informed.insert(rank);
        send_(rank, encode(*step.failure));
        return forget_told_steps();
    }
    if (!arrival.refusal.ok()) return fail_step(name, step, arrival.refusal);
    if (group != nullptr && is_over(*group, step)) {
        return fail_step(name, step, cause_of_steps(group->ranks, group->verdict));
    }
    const auto absent = missing(step);
    if (absent.empty()) return complete(name, step);
    for (const int one : absent) {
        if (const auto loss = losses_.find(one); loss != losses_.end()) {
            return fail_step(name, step, loss->second);
        }
        if (has_left(one) || (group != nullptr && group->left.contains(one))) {
            return fail_step(name, step, why_without(name.first, one));
        }
    }
}

void Arbiter::complete(const StepName& name, Step& step) {
    size_t bytes = 0;
    for (const auto& [rank, payload] : step.payloads) bytes += payload.size();
    if (bytes > max_payload_bytes) {
        return fail_step(
            name, step,
            {TUTTI_ERR_OUT_OF_MEMORY, -1, 0,
             cat("the data of this step have ", bytes, " bytes, more than ", max_payload_bytes)});
    }
    const auto first_id = new_group_ids(step.new_groups);
    if (!first_id) {
        return fail_step(name, step,
                         {TUTTI_ERR_OUT_OF_MEMORY, -1, 0,
                          cat("no ids for new groups are left of ", max_group_ids)});
    }
    StepCompleted completed{name.first, name.second, *first_id, {}};
    const auto participants = step.participants;
    for (const int rank : participants)
        completed.payloads.push_back(std::move(step.payloads[rank]));
    steps_.erase(name);
    const std::string frame = encode(completed);
    for (const int rank : participants) send_(rank, frame);
}

void Arbiter::give_up(int rank, const GiveUp& give_up) {
    if (consensus_.give_up(rank, give_up)) return;
    const auto found = steps_.find({give_up.group, give_up.key});
    if (found == steps_.end() || found->second.failure) return;  // that rank knows
    Step& step = found->second;
    const int judge = give_up.unless_here;
    if (judge != nobody && judge != rank && step.payloads.contains(judge)) return;
    const auto absent = missing(step);
    fail_step(found->first, step,
              {TUTTI_ERR_TIMEOUT, absent.empty() ? -1 : absent.front(), 0,
               cat("rank ", rank, " timed out")},
              absent);
}

// Ranks that have arrived learn it now, later ones when they arrive.
void Arbiter::fail_step(const StepName& name, Step& step, Status cause, std::vector<int> missing) {
    step.failure = StepFailed{name.first, name.second, std::move(cause), std::move(missing)};
    const std::string frame = encode(*step.failure);
    for (const auto& [rank, payload] : step.payloads) {
        step.informed.insert(rank);
        send_(rank, frame);
    }
    forget_told_steps();
}

template <typename Concerned, typename CauseOf>
void Arbiter::fail_steps(Concerned&& concerned, CauseOf&& cause_of) {
    std::vector<StepName> names;
    for (const auto& [name, step] : steps_) {
        if (!step.failure && concerned(name, step)) names.push_back(name);
    }
    for (const StepName& name : names) {
        if (const auto found = steps_.find(name); found != steps_.end()) {
            fail_step(name, found->second, cause_of(name));
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
