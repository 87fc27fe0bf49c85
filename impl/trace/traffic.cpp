#include "traffic.hpp"

namespace tutti::trace {

Route route_of(const Call& call, size_t rank) {
    const int own = static_cast<int>(rank);
    return call.is(record::Kind::Send) ? Route{own, call.peer, call.tag}
                                       : Route{call.peer, own, call.tag};
}

Traffic traffic_of(const Job& job, const JobGroup& group) {
    Traffic traffic;
    for (size_t rank = 0; rank < group.seats.size(); ++rank) {
        const Member& member = job.members[group.seats[rank].member];
        traffic.is_complete &= member.has_record && member.record.is_complete;
        each_message(job, {group, rank}, [&](const Call& call) {
            auto& messages = call.is(record::Kind::Send) ? traffic.sends : traffic.receives;
            Count& count = messages[route_of(call, rank)];
            if (!call.has_failed()) ++count.begun;
            if (call.is_open()) ++count.open;
        });
        for (const Call& call : member.record.calls) {
            if (call.is(record::Kind::MessageBatch)) traffic.is_complete = false;
        }
    }
    return traffic;
}

bool is_met(const Traffic& traffic, const Call& call, size_t rank, size_t ranks) {
    const auto [from, to, tag] = route_of(call, rank);
    if (call.is(record::Kind::Send)) {
        return Traffic::of(traffic.receives, {from, to, tag}).open > 0 ||
               Traffic::of(traffic.receives, {anybody, to, tag}).open > 0;
    }
    if (from != anybody) return Traffic::of(traffic.sends, {from, to, tag}).open > 0;
    for (size_t other = 0; other < ranks; ++other) {
        const Route route{static_cast<int>(other), to, tag};
        if (Traffic::of(traffic.sends, route).open > 0) return true;
    }
    return false;
}

}  // namespace tutti::trace
