#include "alignment.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::trace {

namespace {

// No rank ends one of these before the last has come.
bool ends_at_once(const Call& call) {
    if (call.state != record::state::completed || call.sequence == 0) return false;
    switch (static_cast<CallKind>(call.kind)) {
        case CallKind::AllReduce:
        case CallKind::Barrier:
        case CallKind::AllGather:
        case CallKind::AllGatherIntoTensor:
            return true;
        default:
            return false;
    }
}

// The earliest end on each host, by group and number.
using Ends = std::map<std::pair<size_t, uint64_t>, std::map<uint64_t, int64_t>>;

Ends ends_of(const Job& job) {
    Ends ends;
    for (size_t group = 0; group < job.groups.size(); ++group) {
        for (const Seat& seat : job.groups[group].seats) {
            if (!seat.has_group) continue;
            const Recording& record = job.members[seat.member].record;
            for (const Call& call : record.calls) {
                if (call.group != seat.slot || !call.is_collective()) continue;
                if (!ends_at_once(call)) continue;
                auto& of_call = ends[{group, call.sequence}];
                const auto at = of_call.try_emplace(record.boot, call.completed).first;
                at->second = std::min(at->second, call.completed);
            }
        }
    }
    return ends;
}

}  // namespace

Alignment::Alignment(const Job& job) {
    std::set<uint64_t> hosts;
    uint64_t reference = 0;
    for (const Member& member : job.members) {
        if (!member.has_record) continue;
        if (hosts.empty()) reference = member.record.boot;
        hosts.insert(member.record.boot);
    }
    if (hosts.size() < 2) return;
    const Ends ends = ends_of(job);
    for (const uint64_t host : hosts) {
        std::vector<int64_t> differences;
        for (const auto& [call, by_host] : ends) {
            const auto one = by_host.find(reference);
            const auto other = by_host.find(host);
            if (one == by_host.end() || other == by_host.end()) continue;
            differences.push_back(one->second - other->second);
        }
        if (differences.empty()) continue;
        const auto middle =
            differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
        std::nth_element(differences.begin(), middle, differences.end());
        shifts_[host] = *middle;
    }
}

int64_t Alignment::shift_of(const Recording& recording) const {
    const auto at = shifts_.find(recording.boot);
    return at == shifts_.end() ? 0 : at->second;
}

}  // namespace tutti::trace
