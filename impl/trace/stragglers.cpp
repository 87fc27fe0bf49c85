// The ranks that come late, by the times of the collectives that are in all records.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include "alignment.hpp"
#include "base/text.hpp"
#include "reports.hpp"
#include "words.hpp"

namespace tutti::trace {

namespace {

struct Lateness {
    size_t calls = 0;
    size_t last = 0;    // so often it was the last
    int64_t total = 0;  // after the first
    int64_t most = 0;
    int64_t waited_for = 0;  // by the one before it, where it was the last
};

std::map<uint64_t, std::map<int, int64_t>> arrivals_of(const Job& job, const JobGroup& group) {
    const Alignment alignment(job);
    std::map<uint64_t, std::map<int, int64_t>> arrivals;
    for (const Seat& seat : group.seats) {
        if (!seat.has_group) continue;
        const Member& member = job.members[seat.member];
        for (const Call& call : member.record.calls) {
            if (!call.is_collective() || call.group != seat.slot || call.sequence == 0) continue;
            arrivals[call.sequence][member.rank] = alignment.time(member.record, call.created);
        }
    }
    std::erase_if(arrivals,
                  [&](const auto& one) { return one.second.size() != group.seats.size(); });
    return arrivals;
}

std::map<int, Lateness> lateness_of(const std::map<uint64_t, std::map<int, int64_t>>& arrivals) {
    std::map<int, Lateness> late;
    for (const auto& [sequence, by_rank] : arrivals) {
        std::vector<std::pair<int64_t, int>> order;
        for (const auto& [rank, time] : by_rank) order.emplace_back(time, rank);
        std::sort(order.begin(), order.end());
        for (const auto& [time, rank] : order) {
            Lateness& one = late[rank];
            const int64_t after = time - order.front().first;
            ++one.calls;
            one.total += after;
            one.most = std::max(one.most, after);
        }
        if (order.size() < 2) continue;
        Lateness& last = late[order.back().second];
        ++last.last;
        last.waited_for += order.back().first - order[order.size() - 2].first;
    }
    return late;
}

std::string milliseconds(int64_t nanoseconds) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.3f ms", static_cast<double>(nanoseconds) / 1e6);
    return text.data();
}

}  // namespace

std::string stragglers_text(const Job& job) {
    std::string text;
    for (const JobGroup& group : job.groups) {
        const auto arrivals = arrivals_of(job, group);
        if (arrivals.empty() || group.seats.size() < 2) continue;
        const auto late = lateness_of(arrivals);
        std::vector<std::pair<int, Lateness>> order(late.begin(), late.end());
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return a.second.waited_for > b.second.waited_for;
        });
        text += cat(arrivals.size(), " collectives ", of_group(group.name), ":\n");
        for (const auto& [rank, one] : order) {
            text += cat("  rank ", rank, ": last in ", one.last, ", the others waited ",
                        milliseconds(one.waited_for), "; after the first by ",
                        milliseconds(one.total / static_cast<int64_t>(one.calls)),
                        " on average, at most ", milliseconds(one.most), "\n");
        }
    }
    return text.empty() ? "no collective is in the records of all ranks of a group\n" : text;
}

}  // namespace tutti::trace
