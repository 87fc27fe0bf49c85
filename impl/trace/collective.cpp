#include "collective.hpp"

#include <algorithm>

#include "words.hpp"

namespace tutti::trace {

namespace {

const Group* group_at(const Job& job, const Seat& seat) {
    return seat.has_group ? &job.members[seat.member].record.groups[seat.slot] : nullptr;
}

bool is_of(const Call& call, const Seat& seat) {
    return call.is_collective() && call.group == seat.slot && call.sequence != 0;
}

Share share_of(const Job& job, const Seat& seat, uint64_t sequence) {
    Share share{seat.member, seat.has_group ? seat.slot : -1};
    const Group* const group = group_at(job, seat);
    if (group == nullptr) return share;
    for (const Call& call : job.members[seat.member].record.calls) {
        if (!is_of(call, seat) || call.sequence != sequence) continue;
        share.call = &call;
        share.part = call.is_open() ? Part::Open : call.has_failed() ? Part::Failed : Part::Done;
        return share;
    }
    // It may have been overwritten.
    if (std::max(group->last_enqueued, group->last_completed) >= sequence) share.part = Part::Done;
    return share;
}

}  // namespace

First first_of(const Job& job, const Seat& seat) {
    First first;
    if (!seat.has_group) return first;
    const Member& member = job.members[seat.member];
    for (const Call& call : member.record.calls) {
        if (!is_of(call, seat)) continue;
        if (call.is_open()) {
            if (first.open == nullptr || call.sequence < first.open->sequence) first.open = &call;
        } else if (!call.has_failed()) {
            first.failed = nullptr;
        } else if (first.failed == nullptr) {
            first.failed = &call;
        }
    }
    return first;
}

Collective collective_of(const Job& job, const JobGroup& group, uint64_t sequence) {
    Collective made{group, sequence};
    for (const Seat& seat : group.seats) {
        made.shares.push_back(share_of(job, seat, sequence));
        const Share& share = made.shares.back();
        if (share.call != nullptr && made.call == nullptr) {
            made.call = share.call;
            made.title = full_title(*share.call, *group_at(job, seat));
        }
    }
    return made;
}

std::vector<std::vector<const Share*>> kinds_of(const Collective& collective) {
    std::vector<std::vector<const Share*>> kinds;
    for (const Share& share : collective.shares) {
        if (share.call == nullptr) continue;
        const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
            return kind.front()->call->fingerprint() == share.call->fingerprint();
        });
        if (same == kinds.end()) {
            kinds.push_back({&share});
        } else {
            same->push_back(&share);
        }
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return kinds;
}

int64_t start_of(const Call& call) {
    return call.started != 0 ? call.started : call.created;
}

int64_t first_start(const Collective& collective) {
    int64_t first = INT64_MAX;
    for (const Share& share : collective.shares) {
        if (share.part == Part::Open) first = std::min(first, start_of(*share.call));
    }
    return first == INT64_MAX ? 0 : first;
}

bool have_all_ended(const Job& job, const Collective& collective) {
    const auto& shares = collective.shares;
    const auto has_ended = [&](const Share& share) {
        return job.members[share.member].has_ended();
    };
    const auto is_open = [](const Share& share) { return share.part == Part::Open; };
    return std::all_of(shares.begin(), shares.end(), has_ended) &&
           std::any_of(shares.begin(), shares.end(), is_open);
}

}  // namespace tutti::trace
