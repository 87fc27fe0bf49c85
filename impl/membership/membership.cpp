#include "membership.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "missing_ranks.hpp"
#include "world.hpp"

namespace tutti {

namespace {

constexpr size_t max_payload_bytes = 16 * 1024 * 1024;
constexpr int64_t outcome_ms = 5000;  // what the arbiter may take once the deadline has passed

std::vector<int> inverse(const std::vector<int>& world_ranks, int size) {
    std::vector<int> ranks(static_cast<size_t>(size), -1);
    for (size_t rank = 0; rank < world_ranks.size(); ++rank) {
        ranks[static_cast<size_t>(world_ranks[rank])] = static_cast<int>(rank);
    }
    return ranks;
}

}  // namespace

StepTimedOut::StepTimedOut(std::vector<int> ranks)
    : Error(membership::missing_ranks_error(membership::list_of_ranks(ranks))),
      missing(std::move(ranks)) {}

Membership::Membership(std::shared_ptr<World> world, uint32_t group_id,
                       std::vector<int> world_ranks)
    : world_(std::move(world)),
      group_id_(group_id),
      world_ranks_(std::move(world_ranks)),
      ranks_(inverse(world_ranks_, world_->size())),
      rank_(rank_of(world_->rank())),
      decisions_(group_id_, world_ranks_,
                 [this](std::string frame) { world_->send(std::move(frame)); }),
      gone_(world_ranks_.size()),
      is_open_(group_id == 0) {
    world_->add(group_id_, this);
    if (group_id_ != 0) {
        world_->send(membership::encode(membership::Kind::Open, group_id_, world_ranks_));
    }
}

Membership::~Membership() {
    leave();
    world_->remove(group_id_, this);
}

std::string Membership::identity() const {
    return group_id_ == 0 ? world_->identity() : cat(world_->identity(), "/", group_id_);
}

bool Membership::same_host(int rank) const {
    return world_->same_host(world_rank(rank));
}

// One at a time, and without the lock: the listener may end operations here and wait for threads
// that do, which then look whether a failure is due, and leave it to this one.
class Membership::Delivery {
public:
    explicit Delivery(Membership& of) : of_(of) {
        Lock lock(of_.mutex_);
        while (of_.is_delivering_) of_.changed_.wait(lock);
        of_.is_delivering_ = true;
        listener_ = of_.listener_;
    }
    ~Delivery() {
        of_.end_delivery();
        of_.tell_if_due();
    }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    [[nodiscard]] MembershipListener* listener() const { return listener_; }

private:
    Membership& of_;
    MembershipListener* listener_ = nullptr;
};

void Membership::end_delivery() noexcept {
    const Lock lock(mutex_);
    is_delivering_ = false;
    changed_.notify_all();
}

void Membership::subscribe(MembershipListener& listener) {
    const Delivery delivery(*this);
    Status cause;
    bool is_due = false;
    std::vector<bool> left;
    {
        const Lock lock(mutex_);
        listener_ = &listener;
        cause = failure_.cause;
        is_due = is_told_ = !cause.ok() && this->is_due();
        left = gone_;
    }
    for (int rank = 0; rank < size(); ++rank) {
        if (left[static_cast<size_t>(rank)]) listener.left(rank);
    }
    if (cause.ok()) return;
    if (is_due) return listener.failed(cause);
    listener.failing(cause);
}

void Membership::unsubscribe() noexcept {
    const Delivery delivery(*this);
    const Lock lock(mutex_);
    listener_ = nullptr;
}

Status Membership::find_trouble(int peer) const {
    const Lock lock(mutex_);
    return cause().ok() ? left(peer) : cause();
}

// A failure of this rank itself has ended all its collectives.
Status Membership::find_trouble_in(uint64_t sequence, int peer) const {
    const Lock lock(mutex_);
    const bool is_spared = reported_.ok() && sequence < failure_.first_call;
    return cause().ok() || is_spared ? left(peer) : cause();
}

Status Membership::left(int peer) const {
    return peer != rank_ && gone_[static_cast<size_t>(peer)] ? membership::left_error(peer)
                                                             : Status{};
}

Status Membership::end_of_calls() const {
    if (!has_trouble_.load(std::memory_order_acquire)) return {};
    const Lock lock(mutex_);
    if (!reported_.ok()) return reported_;
    return is_told_ ? failure_.cause : Status{};
}

// A thread that notes an end out of turn, and one that ends the call before it meanwhile, each look
// at what the other has written; so do one that ends a call and one that brings a failure.
void Membership::ended(uint64_t sequence) noexcept {
    uint64_t before = sequence - 1;
    const bool is_in_turn = in_order_.compare_exchange_strong(before, sequence);
    if (!is_in_turn || has_early_) ended_early(is_in_turn ? 0 : sequence);
    if (has_trouble_) tell_if_due();
}

void Membership::ended_early(uint64_t sequence) noexcept {
    const Lock lock(mutex_);
    if (sequence != 0) early_.insert(sequence);
    has_early_ = true;
    while (!early_.empty()) {
        const uint64_t next = *early_.begin();
        uint64_t before = next - 1;
        if (!in_order_.compare_exchange_strong(before, next)) break;
        early_.erase(early_.begin());
    }
    has_early_ = !early_.empty();
}

void Membership::tell_if_due() noexcept {
    MembershipListener* listener = nullptr;
    Status cause;
    {
        const Lock lock(mutex_);
        if (is_delivering_ || listener_ == nullptr) return;
        if (failure_.ok() || is_told_ || !is_due()) return;
        is_told_ = is_delivering_ = true;
        listener = listener_;
        cause = failure_.cause;
    }
    listener->failed(cause);
    end_delivery();
}

Status Membership::await_failure(const Deadline& deadline) {
    Lock lock(mutex_);
    while (failure_.ok() && changed_.wait(lock, deadline)) {
    }
    return failure_.cause;
}

// This rank need not wait for the verdict, which may name another cause.
void Membership::send_report(const membership::Failure& failure) noexcept {
    {
        const Lock lock(mutex_);
        if (reported_.ok()) reported_ = failure.cause;
        has_trouble_ = true;
        changed_.notify_all();
    }
    world_->send(membership::encode(membership::Kind::Report, group_id_, failure));
}

void Membership::report(const Status& cause) noexcept {
    send_report({cause, first_open_call()});
}

// One that this rank has heard of is no news.
void Membership::revoke(const Status& cause) noexcept {
    bool is_news = false;
    {
        const Lock lock(mutex_);
        is_news = failure_.ok();
    }
    send_report({cause, is_news ? 0 : first_open_call()});
}

// Its collectives before the failed one will not be called any more.
void Membership::message_failed() noexcept {
    if (!has_trouble_.load(std::memory_order_acquire)) return;
    membership::Failure failure;
    {
        const Lock lock(mutex_);
        if (failure_.ok() || is_told_ || !reported_.ok()) return;
        failure = {failure_.cause, first_open_call()};
    }
    send_report(failure);
}

Status Membership::reason_of(const Status& status) const {
    if (status.code != TUTTI_ERR_PEER_LOST || status.rank >= size()) return status;
    const Lock lock(mutex_);
    const bool has_left = status.rank < 0 || gone_[static_cast<size_t>(status.rank)];
    return has_left && !failure_.ok() ? failure_.cause : status;
}

void Membership::stalled(uint64_t sequence, const std::string& call,
                         const std::string& text) noexcept {
    world_->send(
        membership::encode(group_id_, membership::Stall{sequence, call, compares_first_, text}));
}

void Membership::suspect(int peer, const std::string& reason) noexcept {
    world_->suspect({TUTTI_ERR_PEER_LOST, world_rank(peer), 0, reason});
}

void Membership::leave() noexcept {
    if (has_left_.exchange(true)) return;
    {
        const Lock lock(mutex_);
        if (failure_.ok())
            failure_.cause = {TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"};
        failure_.first_call = 0;
        is_told_ = true;
        has_trouble_.store(true, std::memory_order_release);
        changed_.notify_all();
    }
    decisions_.end({TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"});
    world_->send(membership::encode(membership::Kind::Bye, group_id_, std::vector<int>{}));
    if (group_id_ != 0) return;
    world_->end_the_rest();
    world_->leave();
}

// Called by the world, under its lock.

void Membership::on_verdict(const membership::Failure& verdict) {
    fail_with(verdict);
}

// The first group gets it in its verdict.
void Membership::on_loss(const Status& loss) {
    if (group_id_ == 0 || rank_of(loss.rank) < 0) return;
    {
        const Lock lock(mutex_);
        if (gone_[static_cast<size_t>(rank_of(loss.rank))]) return;
    }
    fail_with({in_ranks_of_group(loss)});
}

Status Membership::in_ranks_of_group(const Status& loss) const {
    const int rank = loss.rank < 0 ? -1 : rank_of(loss.rank);
    Status status = loss;
    status.rank = rank;
    if (group_id_ != 0 && rank >= 0) {
        status.message =
            cat(loss.message, "; global rank ", loss.rank, " is rank ", rank, " of this group");
    }
    return status;
}

// A second one only ends calls that the first had left alone.
void Membership::fail_with(const membership::Failure& failure) {
    const Delivery delivery(*this);
    bool is_due = false;
    {
        const Lock lock(mutex_);
        if (has_left_ || is_told_) return;
        if (!failure.ends_more_than(failure_)) return;
        failure_ = failure;
        has_trouble_ = true;
        changed_.notify_all();
        is_due = this->is_due();
        is_told_ = is_due && listener_ != nullptr;
    }
    if (delivery.listener() == nullptr) return;
    if (is_due) return delivery.listener()->failed(failure.cause);
    delivery.listener()->failing(failure.cause);
}

void Membership::on_departures_from_world(const std::vector<int>& world_ranks) {
    {
        const Lock lock(mutex_);
        if (!is_open_) {
            unexplained_.insert(unexplained_.end(), world_ranks.begin(), world_ranks.end());
            return;
        }
    }
    on_departures(world_ranks);
}

void Membership::on_departures(std::vector<int> world_ranks) {
    {
        const Lock lock(mutex_);
        is_open_ = true;
        const auto earlier = std::exchange(unexplained_, {});
        world_ranks.insert(world_ranks.end(), earlier.begin(), earlier.end());
    }
    if (world_ranks.empty()) return;
    const Delivery delivery(*this);
    for (const int world_rank : world_ranks) {
        const int rank = rank_of(world_rank);
        if (rank < 0 || rank == rank_) continue;
        {
            const Lock lock(mutex_);
            if (gone_[static_cast<size_t>(rank)]) continue;
            gone_[static_cast<size_t>(rank)] = true;
            has_trouble_.store(true, std::memory_order_release);
        }
        if (delivery.listener() != nullptr) delivery.listener()->left(rank);
    }
}

void Membership::on_decision(const membership::Decision& decision) {
    const auto is_here = [this](int rank) {
        return rank >= 0 && rank < world_->size() && rank_of(rank) >= 0;
    };
    const bool is_whole = decision.payloads.size() == decision.members.size() &&
                          (!decision.members.empty() || !decision.failure.ok());
    if (!is_whole || !std::ranges::all_of(decision.members, is_here) ||
        !std::ranges::all_of(decision.missing, is_here)) {
        throw Error(TUTTI_ERR_NETWORK, cat(decision.key, " is not of the ranks of its group"));
    }
    decisions_.on_decision(decision);
}

// It may be opening its backends.
void Membership::on_end_of_world() {
    const Status end{TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"};
    decisions_.end(end);
    fail_with({end});
}

void Membership::on_step_end(const std::string& key, Wait end) {
    const Lock lock(mutex_);
    const auto found = waits_.find(key);
    if (found == waits_.end()) return;
    *found->second = std::move(end);
    changed_.notify_all();
}

// Steps that ranks take together.

std::vector<int> Membership::participants(const Step& step) const {
    if (!step.participants) return world_ranks_;
    std::vector<int> ranks;
    for (const int rank : *step.participants) ranks.push_back(world_rank(rank));
    return ranks;
}

Membership::Outcome Membership::take_step(const Step& step, const std::string& payload,
                                          const Deadline& deadline) {
    const auto ranks = participants(step);
    if (payload.size() > max_payload_bytes) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(payload.size(), " bytes are too many for a step of a group; ",
                        max_payload_bytes, " may be said"));
    }
    if (size() == 1 && step.new_groups == 0) return {{payload}, 0};
    Wait wait;
    {
        const Lock lock(mutex_);
        if (const Status end = end_of_steps(); !end.ok()) throw Error(end);
        waits_[step.key] = &wait;
    }
    const struct Forget {
        Membership& group;
        const std::string& key;
        ~Forget() {
            const Lock lock(group.mutex_);
            group.waits_.erase(key);
        }
    } forget{*this, step.key};
    world_->send(membership::encode(
        membership::StepArrival{group_id_, step.key, ranks, step.new_groups, payload, {}}));
    TUTTI_FAULT_POINT("membership.wait");
    await(step, wait, deadline);
    {
        const Lock lock(mutex_);
        if (wait.ended && wait.failure.ok()) return std::move(wait.outcome);
        if (const Status end = end_of_steps(); !end.ok()) throw Error(end);
    }
    throw_failure(step, wait);
}

// A failure that leaves earlier calls alone may leave a step alone, too: the arbiter knows.
Status Membership::end_of_steps() const {
    if (!reported_.ok()) return cause();
    return failure_.first_call == 0 ? failure_.cause : Status{};
}

// Until the step has ended or the group has failed; beyond the deadline only for the answer, or for
// the decision of the rank whose deadline counts: that of this rank does not end the step.
void Membership::await(const Step& step, const Wait& wait, const Deadline& deadline) {
    Deadline until = deadline;
    Deadline next_look = Deadline::after_ms(membership::stall_ms);
    // One that decides for all, and is another.
    const bool has_judge = step.deadline_rank >= 0 && step.deadline_rank != rank_;
    const int judge = has_judge ? world_rank(step.deadline_rank) : membership::nobody;
    bool has_given_up = false;
    Lock lock(mutex_);
    while (!wait.ended && end_of_steps().ok()) {
        if (changed_.wait(lock, step.stalled ? until.or_earlier(next_look) : until)) continue;
        lock.unlock();
        if (until.expired()) {
            if (std::exchange(has_given_up, true)) return;
            world_->send(membership::encode(membership::GiveUp{group_id_, step.key, judge}));
            // A judge that has come in time has given up before that, with the same timeout.
            const int64_t more_ms = has_judge ? deadline.timeout_ms() : 0;
            until = Deadline::after_ms(outcome_ms + more_ms);
        } else if (next_look.expired()) {
            next_look = Deadline::after_ms(membership::stall_ms);
            step.stalled();
        }
        lock.lock();
    }
}

void Membership::throw_failure(const Step& step, const Wait& wait) const {
    const Status& failure = wait.failure;
    if (!wait.ended && step.deadline_rank >= 0 && step.deadline_rank != rank_) {
        throw Error(TUTTI_ERR_TIMEOUT, cat("timed out, and rank ", step.deadline_rank,
                                           ", which decides for all, has not given up"));
    }
    if (!wait.ended) {
        throw Error(TUTTI_ERR_TIMEOUT, cat("timed out, and the coordinator did not answer for ",
                                           outcome_ms, " ms after that"));
    }
    if (failure.code == TUTTI_ERR_PEER_LOST) throw Error(reason_of(in_ranks_of_group(failure)));
    if (failure.code != TUTTI_ERR_TIMEOUT) {
        Status status = failure;
        if (status.rank >= 0) status.rank = rank_of(status.rank);
        throw Error(std::move(status));
    }
    std::vector<int> missing;
    for (const int rank : wait.missing) missing.push_back(rank_of(rank));
    throw StepTimedOut(std::move(missing));
}

// "rank 3 excludes 1, 2 while rank 0 excludes none".
std::string Membership::text_of_exclusions(const membership::Decision& decision) const {
    std::string text;
    for (size_t at = 0; at < decision.members.size(); ++at) {
        std::vector<int> excluded = membership::ranks_of_text(decision.payloads[at]);
        for (int& rank : excluded) rank = rank_of(rank);
        std::ranges::sort(excluded);
        text += cat(at > 0 ? " while " : "", "rank ", rank_of(decision.members[at]), " excludes ",
                    excluded.empty() ? "none" : membership::list_of_ranks(excluded));
    }
    return text;
}

Membership::Agreed Membership::decide(const membership::Decisions::Terms& terms,
                                      const Deadline& deadline) {
    membership::Decisions::Terms to_world = terms;
    for (int& rank : to_world.excluded) rank = world_rank(rank);
    auto decision = decisions_.take(to_world, deadline);
    if (!decision) {
        throw Error(TUTTI_ERR_TIMEOUT, "timed out, and the coordinator did not answer after that");
    }
    const auto to_group = [this](std::vector<int> ranks) {
        for (int& rank : ranks) rank = rank_of(rank);
        return ranks;
    };
    if (decision->failure.code == TUTTI_ERR_TIMEOUT) {
        throw StepTimedOut(to_group(std::move(decision->missing)));
    }
    if (!decision->failure.ok()) {
        Status failure = decision->failure;
        if (failure.rank >= 0) failure.rank = rank_of(failure.rank);
        if (failure.code == TUTTI_ERR_MISMATCH) failure.message = text_of_exclusions(*decision);
        throw Error(std::move(failure));
    }
    Agreed agreed{to_group(std::move(decision->members)), std::move(decision->payloads),
                  decision->first_group_id};
    if (std::ranges::find(agreed.members, rank_) == agreed.members.end()) {
        const Status out{
            TUTTI_ERR_ABORTED, rank_, 0,
            cat("rank ", rank_, " was excluded by the other ranks, which go on without it")};
        decisions_.end(out);
        throw Error(out);
    }
    return agreed;
}

void Membership::decline(const Agreed& agreed, const Status& why, const std::string& payload) {
    const uint32_t group = agreed.first_group_id;
    const auto own = std::ranges::find(agreed.members, rank_) - agreed.members.begin();
    const membership::Failure failure{gave_up(static_cast<int>(own), why), 1};
    std::vector<int> members;
    for (const int rank : agreed.members) members.push_back(world_rank(rank));
    world_->send(membership::encode(membership::Kind::Open, group, members));
    world_->send(membership::encode(membership::Kind::Report, group, failure));
    world_->send(membership::Decisions::first_proposal(group, members, {.payload = payload}));
}

void Membership::refuse(const Step& step, const Status& why) noexcept {
    Status refusal = why;  // between ranks, they are those of the world
    if (refusal.rank >= 0) refusal.rank = world_rank(refusal.rank);
    world_->send(membership::encode(membership::StepArrival{
        group_id_, step.key, participants(step), step.new_groups, {}, std::move(refusal)}));
}

}  // namespace tutti
