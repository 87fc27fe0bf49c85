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
    const Lock telling(telling_);
    asked_to_connect_ = std::move(connect);
}

// What happened before concerns it as well.
void World::add(uint32_t number, Membership* group) {
    const Lock telling(telling_);
    groups_[number] = group;
    std::map<int, Status> losses;
    std::vector<int> departed;
    Status verdict;
    {
        const Lock lock(mutex_);
        losses = losses_;
        verdict = verdict_;
        for (int rank = 0; rank < size_; ++rank) {
            if (departed_[static_cast<size_t>(rank)]) departed.push_back(rank);
        }
    }
    if (number == 0 && !verdict.ok()) group->hear_verdict(verdict);
    for (const auto& [rank, loss] : losses) group->hear_loss(loss);
    group->hear_departures(departed);
}

void World::remove(uint32_t number, const Membership* group) noexcept {
    const Lock telling(telling_);
    const auto found = groups_.find(number);
    if (found != groups_.end() && found->second == group) groups_.erase(found);
}

template <typename Tell>
void World::tell_group(uint32_t number, Tell&& tell) {
    const Lock telling(telling_);
    if (const auto found = groups_.find(number); found != groups_.end()) tell(*found->second);
}

void World::hear(const membership::Frame& frame) {
    switch (frame.kind) {
        case Kind::Verdict: {
            const auto [group, verdict] = membership::decode_group_status(frame);
            return hear_verdict(group, verdict);
        }
        case Kind::Lost:
            return hear_loss(membership::decode_status(frame));
        case Kind::Left: {
            const auto [group, ranks] = membership::decode_ranks(frame);
            return hear_departures(group, ranks);
        }
        case Kind::Gathered: {
            auto gathered = membership::decode_gathered(frame);
            return tell_group(gathered.group, [&](Membership& group) {
                group.hear_end(gathered.key,
                               {true, {std::move(gathered.words), gathered.first_number}, {}, {}});
            });
        }
        case Kind::Failed: {
            auto failed = membership::decode_failed(frame);
            return tell_group(failed.group, [&](Membership& group) {
                group.hear_end(failed.key,
                               {true, {}, std::move(failed.cause), std::move(failed.missing)});
            });
        }
        case Kind::Connect: {
            const int rank = membership::decode_rank(frame);
            const Lock telling(telling_);
            const bool fits = rank >= 0 && rank < size_ && rank != rank_;
            if (fits && asked_to_connect_) asked_to_connect_(rank);
            return;
        }
        default:
            return;  // what a later version says may be ignored
    }
}

void World::hear_verdict(uint32_t group, const Status& verdict) {
    if (group == 0) {
        const Lock lock(mutex_);
        if (verdict_.ok()) verdict_ = verdict;
    }
    tell_group(group, [&](Membership& one) { one.hear_verdict(verdict); });
}

void World::hear_loss(const Status& loss) {
    if (loss.rank < 0 || loss.rank >= size_) return;
    const Lock telling(telling_);
    {
        const Lock lock(mutex_);
        if (!losses_.emplace(loss.rank, loss).second) return;
    }
    for (const auto& [number, group] : groups_) group->hear_loss(loss);
}

// Who leaves the first group leaves all of them.
void World::hear_departures(uint32_t group, const std::vector<int>& ranks) {
    const bool fits =
        std::ranges::all_of(ranks, [this](int rank) { return rank >= 0 && rank < size_; });
    if (!fits) return;
    if (group != 0) {
        return tell_group(group, [&](Membership& one) { one.hear_departures(ranks); });
    }
    const Lock telling(telling_);
    {
        const Lock lock(mutex_);
        for (const int rank : ranks) departed_[static_cast<size_t>(rank)] = true;
    }
    for (const auto& [number, one] : groups_) one->hear_departures(ranks);
}

void World::hear_failure(uint32_t group, const std::string& step, const Status& cause) {
    tell_group(group, [&](Membership& one) { one.hear_end(step, {true, {}, cause, {}}); });
}

bool World::has_departed(int rank) const {
    const Lock lock(mutex_);
    return departed_[static_cast<size_t>(rank)];
}

}  // namespace tutti
