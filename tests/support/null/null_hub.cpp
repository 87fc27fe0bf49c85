#include "null_hub.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "null_moves.hpp"

namespace tutti::test {

NullHub::NullHub(std::string name, int size, Completion completion)
    : name_(std::move(name)), size_(size), members_(static_cast<size_t>(size)) {
    if (completion == Completion::Callback) thread_ = start_thread("null", [this] { run(); });
}

NullHub::~NullHub() {
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void NullHub::post(int rank, Request request, std::shared_ptr<Work> work) {
    const Lock lock(mutex_);
    const auto own = static_cast<size_t>(rank);
    if (const Status& end = members_[own].end; !end.ok()) throw Error(end);
    Round& round = rounds_[request.sequence];
    round.resize(static_cast<size_t>(size_));
    round[own] = {std::move(request), std::move(work)};
    news_ = true;
    changed_.notify_all();
}

bool NullHub::test(int rank) noexcept {
    Lock lock(mutex_);
    bool moved = false;
    if (Round round = take_round(); !round.empty()) {
        lock.unlock();
        std::vector<Status> how = move(round);
        lock.lock();
        for (size_t member = 0; member < round.size(); ++member) {
            members_[member].ended.push_back({std::move(round[member].work), how[member]});
        }
        moving_ = false;
        moved = true;
    }
    end_hopeless(rank);
    std::deque<Ended> ended;
    ended.swap(members_[static_cast<size_t>(rank)].ended);
    lock.unlock();
    for (const Ended& one : ended) one.work->finish(one.status);
    return moved || !ended.empty();
}

void NullHub::run() noexcept {
    Lock lock(mutex_);
    while (!stopping_) {
        if (!std::exchange(news_, false)) {
            changed_.wait(lock);
            continue;
        }
        lock.unlock();
        bool moved = true;
        while (moved) {
            moved = false;
            for (int rank = 0; rank < size_; ++rank) moved = test(rank) || moved;
        }
        lock.lock();
    }
}

// All ranks pass through the rounds in one order, so no other one can be complete before the first.
// One that never will be ends in time: whoever has ended or left is said to have.
NullHub::Round NullHub::take_round() {
    if (moving_ || rounds_.empty()) return {};
    const auto first = rounds_.begin();
    const auto has_come = [](const Posted& one) { return one.work != nullptr; };
    if (!std::ranges::all_of(first->second, has_come)) return {};
    Round round = std::move(first->second);
    rounds_.erase(first);
    moving_ = true;
    return round;
}

// How the round ends for each rank: well, if all have called the same.
std::vector<Status> NullHub::move(const Round& round) {
    std::vector<Fingerprint> prints;
    std::vector<const FlatCall*> calls;
    for (const Posted& one : round) {
        calls.push_back(&one.request.call);
        prints.push_back(one.request.call.fingerprint);
    }
    const auto differs = [&](const Fingerprint& print) { return print != prints.front(); };
    const auto other = std::ranges::find_if(prints, differs);
    std::vector<Status> how(round.size());
    if (other == prints.end()) {
        move_data(calls);
        return how;
    }
    for (size_t rank = 0; rank < round.size(); ++rank) {
        const size_t peer = differs(prints[rank]) ? 0 : static_cast<size_t>(other - prints.begin());
        how[rank] = mismatch(static_cast<int>(peer), prints[peer], static_cast<int>(rank),
                             prints[rank], round[rank].request.sequence);
    }
    return how;
}

Status NullHub::hopeless(int rank, const Round& round) const {
    if (const Status& end = members_[static_cast<size_t>(rank)].end; !end.ok()) return end;
    for (size_t peer = 0; peer < round.size(); ++peer) {
        if (round[peer].work || !members_[peer].has_left) continue;
        return {TUTTI_ERR_PEER_LOST, static_cast<int>(peer), 0,
                cat("rank ", peer, " has left the group")};
    }
    return {};
}

// Those of the rank that can no longer come to a good end.
void NullHub::end_hopeless(int rank) {
    const auto own = static_cast<size_t>(rank);
    for (auto& [sequence, round] : rounds_) {
        if (!round[own].work) continue;
        Status why = hopeless(rank, round);
        if (why.ok()) continue;
        members_[own].ended.push_back({std::exchange(round[own].work, nullptr), std::move(why)});
    }
}

void NullHub::end(int rank, const Status& status) noexcept {
    const Lock lock(mutex_);
    Member& member = members_[static_cast<size_t>(rank)];
    if (member.end.ok()) member.end = status;
    news_ = true;
    changed_.notify_all();
}

void NullHub::leave(int rank) noexcept {
    const Lock lock(mutex_);
    members_[static_cast<size_t>(rank)].has_left = true;
    news_ = true;
    changed_.notify_all();
}

}  // namespace tutti::test
