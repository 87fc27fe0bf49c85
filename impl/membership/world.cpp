#include "world.hpp"

#include <algorithm>

#include "membership.hpp"

namespace tutti {

using membership::Kind;

World::World(int rank, int size) : rank_(rank), size_(size), departed_(static_cast<size_t>(size)) {}

World::~World() = default;

void World::end_resources() noexcept {
    std::map<std::type_index, std::shared_ptr<void>> all;
    const Lock lock(resources_mutex_);
    all.swap(resources_);
}

Status World::loss_of(int rank) const {
    const Lock lock(mutex_);
    const auto found = losses_.find(rank);
    return found == losses_.end() ? Status{} : found->second;
}

std::map<int, Status> World::losses() const {
    const Lock lock(mutex_);
    return losses_;
}

void World::on_asked_to_connect(std::function<void(int rank)> connect) {
    const Lock delivery(delivery_);
    asked_to_connect_ = std::move(connect);
}

void World::on_gone(std::function<void(int rank)> act) {
    const Lock delivery(delivery_);
    gone_ = std::move(act);
}

// Earlier losses and departures concern the new group as well.
void World::add(uint32_t group_id, Membership* group) {
    const Lock delivery(delivery_);
    groups_[group_id] = group;
    std::map<int, Status> losses;
    std::vector<int> departed;
    membership::Failure verdict;
    {
        const Lock lock(mutex_);
        losses = losses_;
        verdict = verdict_;
        for (int rank = 0; rank < size_; ++rank) {
            if (departed_[static_cast<size_t>(rank)]) departed.push_back(rank);
        }
    }
    if (group_id == 0 && !verdict.ok()) group->on_verdict(verdict);
    for (const auto& [rank, loss] : losses) group->on_loss(loss);
    group->on_departures_from_world(departed);
    if (has_ended_) group->on_end_of_world();
}

void World::end_the_rest() noexcept {
    const Lock delivery(delivery_);
    has_ended_ = true;
    for (const auto& [group_id, group] : groups_) {
        if (group_id != 0) group->on_end_of_world();
    }
}

void World::remove(uint32_t group_id, const Membership* group) noexcept {
    const Lock delivery(delivery_);
    const auto found = groups_.find(group_id);
    if (found != groups_.end() && found->second == group) groups_.erase(found);
}

template <typename Deliver>
void World::deliver_to(uint32_t group_id, Deliver&& deliver) {
    const Lock delivery(delivery_);
    if (const auto found = groups_.find(group_id); found != groups_.end()) deliver(*found->second);
}

void World::handle(const membership::Frame& frame) {
    if (is_muted_ && frame.kind != Kind::Lost && frame.kind != Kind::Left) return;
    switch (frame.kind) {
        case Kind::Verdict: {
            const auto [group, verdict] = membership::decode_failure(frame);
            return on_verdict(group, verdict);
        }
        case Kind::Lost:
            return on_loss(membership::decode_status(frame));
        case Kind::Left: {
            const auto [group, ranks] = membership::decode_ranks(frame);
            return on_departures(group, ranks);
        }
        case Kind::StepCompleted:
            return on_step_completed(membership::decode_step_completed(frame));
        case Kind::StepFailed: {
            auto failed = membership::decode_step_failed(frame);
            return deliver_to(failed.group, [&](Membership& group) {
                group.on_step_end(failed.key,
                                  {true, {}, std::move(failed.cause), std::move(failed.missing)});
            });
        }
        case Kind::Decided:
            return on_decision(membership::decode_decision(frame));
        case Kind::Connect: {
            const int rank = membership::decode_rank(frame);
            const Lock delivery(delivery_);
            const bool fits = rank >= 0 && rank < size_ && rank != rank_;
            if (fits && asked_to_connect_) asked_to_connect_(rank);
            return;
        }
        default:
            return;  // kinds of later versions may be ignored
    }
}

void World::on_verdict(uint32_t group, const membership::Failure& verdict) {
    if (group == 0) {
        const Lock lock(mutex_);
        if (verdict.ends_more_than(verdict_)) verdict_ = verdict;
    }
    deliver_to(group, [&](Membership& one) { one.on_verdict(verdict); });
}

void World::on_loss(const Status& loss) {
    const Lock delivery(delivery_);
    if (!note_loss(loss) || is_muted_) return;
    if (gone_) gone_(loss.rank);
    for (const auto& [group_id, group] : groups_) group->on_loss(loss);
}

// A rank that leaves the first group leaves all of them.
void World::on_departures(uint32_t group, const std::vector<int>& ranks) {
    if (!are_ranks(ranks)) return;
    if (group != 0) {
        if (is_muted_) return;
        return deliver_to(group, [&](Membership& one) { one.on_departures(ranks); });
    }
    const Lock delivery(delivery_);
    {
        const Lock lock(mutex_);
        for (const int rank : ranks) departed_[static_cast<size_t>(rank)] = true;
    }
    if (is_muted_) return;
    if (gone_) {
        for (const int rank : ranks) gone_(rank);
    }
    for (const auto& [group_id, one] : groups_) one->on_departures_from_world(ranks);
}

bool World::are_ranks(const std::vector<int>& ranks) const {
    return std::ranges::all_of(ranks, [this](int rank) { return rank >= 0 && rank < size_; });
}

bool World::note_loss(const Status& loss) {
    if (!are_ranks({loss.rank})) return false;
    const Lock lock(mutex_);
    return losses_.emplace(loss.rank, loss).second;
}

void World::on_step_completed(membership::StepCompleted completed) {
    deliver_to(completed.group, [&](Membership& one) {
        one.on_step_end(completed.key,
                        {true, {std::move(completed.payloads), completed.first_group_id}, {}, {}});
    });
}

void World::on_step_failure(uint32_t group, const std::string& step, const Status& cause) {
    deliver_to(group, [&](Membership& one) { one.on_step_end(step, {true, {}, cause, {}}); });
}

void World::on_decision(const membership::Decision& decision) {
    deliver_to(decision.group, [&](Membership& one) { one.on_decision(decision); });
}

bool World::is_gone(int rank) const {
    const Lock lock(mutex_);
    return departed_[static_cast<size_t>(rank)] || losses_.contains(rank);
}

bool World::has_departed(int rank) const {
    const Lock lock(mutex_);
    return departed_[static_cast<size_t>(rank)];
}

}  // namespace tutti
