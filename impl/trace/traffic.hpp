// The messages of a group, counted by sender, receiver and tag. Any thread.
#pragma once

#include <map>
#include <tuple>

#include "job.hpp"

namespace tutti::trace {

constexpr int anybody = -1;

// From, to, tag.
using Route = std::tuple<int, int, int>;

struct Count {
    int begun = 0;
    int open = 0;
};

// The messages of a group, as far as the records have them.
struct Traffic {
    std::map<Route, Count> sends;
    std::map<Route, Count> receives;  // from `anybody` as well
    bool is_complete = true;          // no record has lost any

    [[nodiscard]] static Count of(const std::map<Route, Count>& messages, const Route& route) {
        const auto at = messages.find(route);
        return at == messages.end() ? Count{} : at->second;
    }
};

struct Place {
    const JobGroup& group;
    size_t rank;

    [[nodiscard]] const Seat& seat() const { return group.seats[rank]; }
};

// The messages that a rank has begun.
template <typename Visit>
void each_message(const Job& job, const Place& place, Visit&& visit) {
    if (!place.seat().has_group) return;
    for (const Call& call : job.members[place.seat().member].record.calls) {
        if (call.is_message() && call.group == place.seat().slot) visit(call);
    }
}

Route route_of(const Call& call, size_t rank);
Traffic traffic_of(const Job& job, const JobGroup& group);
// Whether the other side has begun its part.
bool is_met(const Traffic& traffic, const Call& call, size_t rank, size_t ranks);

}  // namespace tutti::trace
