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
      gone_(world_ranks_.size()) {
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

void Membership::subscribe(MembershipListener& listener) {
    const Lock delivery(delivery_);
    listener_ = &listener;
    Status failure;
    std::vector<bool> left;
    {
        const Lock lock(mutex_);
        failure = failure_;
        left = gone_;
    }
    for (int rank = 0; rank < size(); ++rank) {
        if (left[static_cast<size_t>(rank)]) listener.left(rank);
    }
    if (!failure.ok()) listener.failed(failure);
}

void Membership::unsubscribe() noexcept {
    const Lock delivery(delivery_);
    listener_ = nullptr;
}

Status Membership::find_trouble(int peer) const {
    const Lock lock(mutex_);
    if (!cause().ok()) return cause();
    return peer != rank_ && gone_[static_cast<size_t>(peer)] ? membership::left_error(peer)
                                                             : Status{};
}

Status Membership::await_failure(const Deadline& deadline) {
    Lock lock(mutex_);
    while (failure_.ok() && changed_.wait(lock, deadline)) {
    }
    return failure_;
}

// This rank need not wait for the verdict, which may name another cause.
void Membership::report(const Status& cause) noexcept {
    {
        const Lock lock(mutex_);
        if (reported_.ok()) reported_ = cause;
        has_trouble_.store(true, std::memory_order_release);
        changed_.notify_all();
    }
    world_->send(membership::encode(membership::Kind::Report, group_id_, cause));
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
        if (failure_.ok()) failure_ = {TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"};
        has_trouble_.store(true, std::memory_order_release);
        changed_.notify_all();
    }
    world_->send(membership::encode(membership::Kind::Bye, group_id_, std::vector<int>{}));
    if (group_id_ == 0) world_->leave();
}

// Called by the world, under its lock.

void Membership::on_verdict(const Status& cause) {
    fail_with(cause);
}

// The first group gets it in its verdict.
void Membership::on_loss(const Status& loss) {
    if (group_id_ == 0 || rank_of(loss.rank) < 0) return;
    {
        const Lock lock(mutex_);
        if (gone_[static_cast<size_t>(rank_of(loss.rank))]) return;
    }
    fail_with(in_ranks_of_group(loss));
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

void Membership::fail_with(const Status& cause) {
    const Lock delivery(delivery_);
    {
        const Lock lock(mutex_);
        if (!failure_.ok() || has_left_) return;
        failure_ = cause;
        has_trouble_.store(true, std::memory_order_release);
        changed_.notify_all();
    }
    if (listener_ != nullptr) listener_->failed(cause);
}

void Membership::on_departures(const std::vector<int>& world_ranks) {
    const Lock delivery(delivery_);
    for (const int world_rank : world_ranks) {
        const int rank = rank_of(world_rank);
        if (rank < 0 || rank == rank_) continue;
        {
            const Lock lock(mutex_);
            if (gone_[static_cast<size_t>(rank)]) continue;
            gone_[static_cast<size_t>(rank)] = true;
            has_trouble_.store(true, std::memory_order_release);
        }
        if (listener_ != nullptr) listener_->left(rank);
    }
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
        if (!cause().ok()) throw Error(cause());
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
        if (!cause().ok()) throw Error(cause());
    }
    throw_failure(step, wait);
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
    while (!wait.ended && cause().ok()) {
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
    if (failure.code == TUTTI_ERR_PEER_LOST) throw Error(in_ranks_of_group(failure));
    if (failure.code != TUTTI_ERR_TIMEOUT) {
        Status status = failure;
        if (status.rank >= 0) status.rank = rank_of(status.rank);
        throw Error(std::move(status));
    }
    std::vector<int> missing;
    for (const int rank : wait.missing) missing.push_back(rank_of(rank));
    throw StepTimedOut(std::move(missing));
}

void Membership::refuse(const Step& step, const Status& why) noexcept {
    Status refusal = why;  // between ranks, they are those of the world
    if (refusal.rank >= 0) refusal.rank = world_rank(refusal.rank);
    world_->send(membership::encode(membership::StepArrival{
        group_id_, step.key, participants(step), step.new_groups, {}, std::move(refusal)}));
}

}  // namespace tutti
