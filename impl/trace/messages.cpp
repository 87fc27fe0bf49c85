// Troubles of messages: receives that nobody sends to, sends that nobody receives, those that
// failed, waits for keys of the store, and messages that were never received.
#include <algorithm>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "findings.hpp"
#include "traffic.hpp"
#include "whereabouts.hpp"

namespace tutti::trace {

namespace {

// The seats that the call waits for.
std::vector<size_t> peers_of(const Call& call, const Place& place) {
    std::vector<size_t> peers;
    for (size_t other = 0; other < place.group.seats.size(); ++other) {
        const bool is_meant =
            call.peer == anybody ? other != place.rank : static_cast<size_t>(call.peer) == other;
        if (is_meant) peers.push_back(other);
    }
    return peers;
}

// "rank 3 has sent it 2 messages with tag 9 that it does not receive": a wrong tag, perhaps.
std::string other_tags(const Findings& findings, const Traffic& traffic, const Call& call,
                       const Place& place) {
    if (!call.is(record::Kind::Receive) || call.peer == anybody) return "";
    const int own = static_cast<int>(place.rank);
    std::string text;
    for (const auto& [route, sent] : traffic.sends) {
        const auto [from, to, tag] = route;
        if (from != call.peer || to != own || tag == call.tag) continue;
        const int received = Traffic::of(traffic.receives, route).begun;
        if (sent.begun <= received) continue;
        const size_t member = place.group.seats[static_cast<size_t>(from)].member;
        text += cat("; rank ", findings.job.members[member].rank, " has sent it ",
                    sent.begun - received, " with tag ", tag, " that it does not receive");
    }
    return text;
}

std::string need_of(const Call& call) {
    if (call.is(record::Kind::Send)) return "not receiving it";
    return call.peer == anybody ? "not sending to it" : "not sending it";
}

// A message that has not begun to move.
void look_at_open(Findings& findings, const Traffic& traffic, const Call& call, const Place& place,
                  int more) {
    const Job& job = findings.job;
    const Member& member = job.members[place.seat().member];
    const std::string where = full_title(call, member.record.group_of(call));
    const auto peers = peers_of(call, place);
    std::vector<size_t> members;
    std::vector<int> slots;
    bool is_urgent = false;
    for (const size_t peer : peers) {
        const Seat& seat = place.group.seats[peer];
        members.push_back(seat.member);
        slots.push_back(seat.has_group ? seat.slot : -1);
        is_urgent |= call.peer != anybody && job.members[seat.member].is_held();
    }
    if (waits_in(member, call)) findings.add_waits(place.seat().member, members, where);
    const int64_t since = call.started != 0 ? call.started : call.created;
    if (!is_urgent && !findings.is_long(since)) return;
    if (member.has_ended()) return;
    Trouble trouble;
    trouble.kind = "message";
    trouble.waiting = {member.rank};
    trouble.group = place.group.name;
    trouble.call = call_name(call);
    trouble.since = since;
    trouble.stuck = members;
    const std::string others = more > 0 ? cat(", with ", more, " more like it") : "";
    trouble.sentence =
        cat(where, others, ": rank ", member.rank, " has waited ", duration_text(job.now - since),
            "; ", explain(findings, members, slots, "", need_of(call)),
            other_tags(findings, traffic, call, place));
    findings.add(std::move(trouble));
}

void look_at_seat(Findings& findings, const Traffic& traffic, const Place& place) {
    std::map<Route, std::vector<const Call*>> lonely;
    each_message(findings.job, place, [&](const Call& call) {
        if (!call.is_open() || is_met(traffic, call, place.rank, place.group.seats.size())) return;
        lonely[route_of(call, place.rank)].push_back(&call);
    });
    for (const auto& [route, calls] : lonely) {
        look_at_open(findings, traffic, *calls.front(), place, static_cast<int>(calls.size()) - 1);
    }
}

// The last message of a rank with another one failed.
void look_at_failed(Findings& findings, const Place& place) {
    const Job& job = findings.job;
    std::map<std::pair<int, bool>, const Call*> last;
    each_message(job, place, [&](const Call& call) {
        last[{call.peer, call.is(record::Kind::Send)}] = &call;
    });
    for (const auto& [key, call] : last) {
        if (!call->has_failed()) continue;
        const Member& member = job.members[place.seat().member];
        Trouble trouble;
        trouble.kind = "message";
        trouble.group = place.group.name;
        trouble.call = call_name(*call);
        std::string peer_text;
        if (call->peer != anybody && static_cast<size_t>(call->peer) < place.group.seats.size()) {
            const Seat& seat = place.group.seats[static_cast<size_t>(call->peer)];
            trouble.stuck = {seat.member};
            peer_text = cat(
                "; rank ", job.members[seat.member].rank, ": ",
                whereabouts(job, job.members[seat.member], seat.has_group ? seat.slot : -1, ""));
        }
        trouble.sentence =
            cat(full_title(*call, member.record.group_of(*call)), ": it failed with ",
                status_text(call->status()), " on rank ", member.rank, " ",
                duration_text(job.now - call->completed), " ago", peer_text);
        findings.add(std::move(trouble));
    }
}

// Messages that are lost, since who should receive them has left.
void look_at_unreceived(Findings& findings, const Traffic& traffic, const JobGroup& group) {
    if (!traffic.is_complete) return;
    std::map<std::pair<int, int>, int> from_anybody;
    for (const auto& [route, count] : traffic.receives) {
        const auto [from, to, tag] = route;
        if (from == anybody) from_anybody[{to, tag}] += count.begun;
    }
    for (const auto& [route, sent] : traffic.sends) {
        const auto [from, to, tag] = route;
        if (to < 0 || static_cast<size_t>(to) >= group.seats.size()) continue;
        const Seat& seat = group.seats[static_cast<size_t>(to)];
        const Member& receiver = findings.job.members[seat.member];
        const bool has_left =
            receiver.has_ended() || (seat.has_group && receiver.record.groups[seat.slot].has_ended);
        int received = Traffic::of(traffic.receives, route).begun;
        int& others = from_anybody[{to, tag}];
        const int taken = std::clamp(sent.begun - received, 0, others);
        others -= taken;
        received += taken;
        if (!has_left || sent.begun <= received) continue;
        const int lost = sent.begun - received;
        const Seat& sender = group.seats[static_cast<size_t>(from)];
        Trouble trouble;
        trouble.kind = "unreceived";
        trouble.group = group.name;
        trouble.stuck = {seat.member};
        trouble.is_root = false;
        trouble.sentence =
            cat(lost, lost == 1 ? " message" : " messages", " from rank ",
                findings.job.members[sender.member].rank, " to rank ", receiver.rank, " with tag ",
                tag, " ", of_group(group.name), lost == 1 ? " was" : " were", " never received");
        trouble.ranks = {receiver.rank};
        if (findings.is_wording) findings.troubles.push_back(std::move(trouble));
    }
}

void look_at_store(Findings& findings) {
    std::map<std::string, std::vector<size_t>> waiting;
    std::map<std::string, int64_t> since;
    for (size_t i = 0; i < findings.job.members.size(); ++i) {
        const Member& member = findings.job.members[i];
        if (member.is_held()) continue;
        for (const Call& call : member.record.calls) {
            if (!call.is(record::Kind::StoreWait) || !call.is_open()) continue;
            if (!findings.is_long(call.created)) continue;
            waiting[call.text].push_back(i);
            const auto at = since.try_emplace(call.text, call.created).first;
            at->second = std::min(at->second, call.created);
        }
    }
    for (const auto& [key, members] : waiting) {
        Trouble trouble;
        trouble.kind = "store";
        trouble.waiting = findings.ranks_of(members);
        trouble.call = "store wait";
        trouble.since = since[key];
        trouble.sentence =
            cat("key \"", key, "\" of the store: ", ranks_text(trouble.waiting), " ",
                has(trouble.waiting), " waited ", duration_text(findings.job.now - trouble.since),
                ", and nobody has set it");
        findings.add(std::move(trouble));
    }
}

}  // namespace

void find_in_messages(Findings& findings) {
    for (const JobGroup& group : findings.job.groups) {
        const Traffic traffic = traffic_of(findings.job, group);
        for (size_t rank = 0; rank < group.seats.size(); ++rank) {
            look_at_seat(findings, traffic, {group, rank});
            look_at_failed(findings, {group, rank});
        }
        look_at_unreceived(findings, traffic, group);
    }
    look_at_store(findings);
}

}  // namespace tutti::trace
