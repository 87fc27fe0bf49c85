#include "null_hub.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "null_moves.hpp"

namespace null {

Hub::Hub(int32_t size, bool has_thread, const tutti_backend_host* host)
    : size_(size), host_(host), members_(static_cast<size_t>(size)) {
    if (has_thread) thread_ = std::thread([this] { serve(); });
}

Hub::~Hub() {
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

End Hub::post(int32_t rank, const tutti_backend_call* call) {
    const Lock lock(mutex_);
    const auto own = static_cast<size_t>(rank);
    if (members_[own].end.status != TUTTI_OK) return members_[own].end;
    Round& round = rounds_[call->sequence];
    round.resize(static_cast<size_t>(size_));
    round[own].call = call;
    news_ = true;
    changed_.notify_all();
    return {};
}

End Hub::run(int32_t rank, const tutti_backend_call* call) {
    Member& member = members_[static_cast<size_t>(rank)];
    {
        const Lock lock(mutex_);
        member.awaited = call;
    }
    End refused = post(rank, call);
    Lock lock(mutex_);
    if (refused.status != TUTTI_OK) {
        member.awaited = nullptr;
        return refused;
    }
    const auto has_ended = [&] { return member.awaited == nullptr; };
    if (call->timeout_ms < 0) {
        changed_.wait(lock, has_ended);
    } else if (!changed_.wait_for(lock, std::chrono::milliseconds(call->timeout_ms), has_ended)) {
        lock.unlock();
        end(rank,
            {TUTTI_ERR_TIMEOUT, -1, "timed out after " + std::to_string(call->timeout_ms) + " ms"});
        lock.lock();
        changed_.wait(lock, has_ended);
    }
    return member.how;
}

bool Hub::test(int32_t rank) {
    Lock lock(mutex_);
    bool moved = false;
    if (Round round = take_round(); !round.empty()) {
        lock.unlock();
        std::vector<End> how = move(round);
        lock.lock();
        for (size_t member = 0; member < round.size(); ++member) {
            members_[member].ended.push_back({round[member].call, std::move(how[member])});
        }
        moving_ = false;
        moved = true;
    }
    end_hopeless(rank);
    Member& member = members_[static_cast<size_t>(rank)];
    std::deque<Ended> ended;
    ended.swap(member.ended);
    for (const Ended& one : ended) {
        if (one.call == member.awaited) {
            member.awaited = nullptr;
            member.how = one.how;
            changed_.notify_all();
        } else {
            lock.unlock();
            tell(member, one);
            lock.lock();
        }
    }
    return moved || !ended.empty();
}

// Without a lock: the host may abort from within.
void Hub::tell(Member& /*member*/, const Ended& one) {
    tutti_error error = TUTTI_ERROR_INIT;
    error.rank = one.how.rank;
    std::strncpy(error.message, one.how.message.c_str(), sizeof error.message - 1);
    host_->finish(one.call, one.how.status, -1, &error);
}

void Hub::serve() {
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
            for (int32_t rank = 0; rank < size_; ++rank) moved = test(rank) || moved;
        }
        lock.lock();
    }
}

// All ranks pass through the rounds in one order, so no other one can be complete before the first.
// One that never will be ends in time: whoever has ended or left is said to have.
Hub::Round Hub::take_round() {
    if (moving_ || rounds_.empty()) return {};
    const auto first = rounds_.begin();
    const auto has_come = [](const Posted& one) { return one.call != nullptr; };
    if (!std::all_of(first->second.begin(), first->second.end(), has_come)) return {};
    Round round = std::move(first->second);
    rounds_.erase(first);
    moving_ = true;
    return round;
}

// How the round ends for each rank: well, if all have called the same.
std::vector<End> Hub::move(const Round& round) const {
    std::vector<const tutti_backend_call*> calls;
    for (const Posted& one : round) calls.push_back(one.call);
    const auto differs = [&](const tutti_backend_call* call) {
        return std::memcmp(call->fingerprint, calls.front()->fingerprint, call->fingerprint_size) !=
               0;
    };
    const auto other = std::find_if(calls.begin(), calls.end(), differs);
    std::vector<End> how(round.size());
    if (other == calls.end()) {
        move_data(*host_, calls);
        return how;
    }
    for (size_t rank = 0; rank < round.size(); ++rank) {
        const size_t peer = differs(calls[rank]) ? 0 : static_cast<size_t>(other - calls.begin());
        tutti_error error = TUTTI_ERROR_INIT;
        how[rank].status = host_->mismatch(calls[rank], static_cast<int32_t>(peer),
                                           calls[peer]->fingerprint, &error);
        how[rank].rank = error.rank;
        how[rank].message = error.message;
    }
    return how;
}

End Hub::hopeless(int32_t rank, const Round& round) const {
    if (const End& end = members_[static_cast<size_t>(rank)].end; end.status != TUTTI_OK) {
        return end;
    }
    for (size_t peer = 0; peer < round.size(); ++peer) {
        if (round[peer].call != nullptr || !members_[peer].has_left) continue;
        return {TUTTI_ERR_PEER_LOST, static_cast<int32_t>(peer),
                "rank " + std::to_string(peer) + " has left the group"};
    }
    return {};
}

// The rank's calls that can no longer come to a good end.
void Hub::end_hopeless(int32_t rank) {
    const auto own = static_cast<size_t>(rank);
    for (auto& [sequence, round] : rounds_) {
        if (round[own].call == nullptr) continue;
        End why = hopeless(rank, round);
        if (why.status == TUTTI_OK) continue;
        members_[own].ended.push_back({std::exchange(round[own].call, nullptr), std::move(why)});
    }
}

void Hub::end(int32_t rank, const End& how) {
    const Lock lock(mutex_);
    Member& member = members_[static_cast<size_t>(rank)];
    if (member.end.status == TUTTI_OK) member.end = how;
    news_ = true;
    changed_.notify_all();
}

void Hub::leave(int32_t rank) {
    const Lock lock(mutex_);
    members_[static_cast<size_t>(rank)].has_left = true;
    news_ = true;
    changed_.notify_all();
}

}  // namespace null
