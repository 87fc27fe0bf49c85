// Troubles where ranks meet outside of the order of collectives: they make a group, split or shrink
// one, agree, end it. The n-th of a kind on one rank meets the n-th on the others.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/text.hpp"
#include "findings.hpp"

namespace tutti::trace {

namespace {

struct Came {
    int count = 0;
    const Call* open = nullptr;
    const Call* failed = nullptr;  // the last one, if it has
};

// The members that are to meet, and what each has done.
struct Meeting {
    std::vector<size_t> members;
    std::vector<int> slots;
    std::vector<Came> came;
};

void note(Came& came, const Call& call) {
    ++came.count;
    came.open = call.is_open() ? &call : nullptr;
    came.failed = call.has_failed() ? &call : nullptr;
}

// Ranks that have ended take no part in these, and nobody waits for them.
bool goes_on_without_the_dead(const Call& call) {
    return call.is(record::Kind::ShrinkGroup) || call.is(record::Kind::Agree) ||
           call.is(record::Kind::DestroyGroup);
}

void look_at_meeting(Findings& findings, const Meeting& meeting) {
    const Job& job = findings.job;
    std::vector<size_t> waiting;
    std::vector<size_t> missing;
    std::vector<int> slots;
    const Call* first = nullptr;
    const Member* owner = nullptr;
    int most = 0;
    for (size_t i = 0; i < meeting.members.size(); ++i) {
        const Came& came = meeting.came[i];
        const Call* const call = came.open != nullptr ? came.open : came.failed;
        if (call == nullptr) continue;
        most = std::max(most, came.count);
        if (came.open != nullptr) waiting.push_back(meeting.members[i]);
        if (first != nullptr && first->created <= call->created) continue;
        first = call;
        owner = &job.members[meeting.members[i]];
    }
    if (first == nullptr) return;
    bool is_urgent = first->has_failed();
    for (size_t i = 0; i < meeting.members.size(); ++i) {
        const Member& member = job.members[meeting.members[i]];
        const bool has_come = meeting.came[i].count >= most || !member.record.is_complete;
        if (has_come && !(meeting.came[i].open != nullptr && member.is_held())) continue;
        if (member.has_ended() && goes_on_without_the_dead(*first)) continue;
        missing.push_back(meeting.members[i]);
        slots.push_back(meeting.slots[i]);
        is_urgent |= member.is_held();
    }
    const std::string where = full_title(*first, owner->record.group_of(*first));
    for (const size_t who : waiting) {
        if (!job.members[who].is_held()) findings.add_waits(who, missing, where);
    }
    if (missing.empty() || (!is_urgent && !findings.is_long(first->created))) return;
    std::erase_if(waiting, [&](size_t member) { return job.members[member].is_held(); });
    Trouble trouble;
    trouble.kind = "missing";
    trouble.waiting = findings.ranks_of(waiting);
    trouble.group =
        first->is(record::Kind::InitGroup) ? first->text : owner->record.group_of(*first).name;
    trouble.call = call_name(*first);
    trouble.since = first->created;
    trouble.stuck = missing;
    const std::string how =
        waiting.empty() ? cat("it failed with ", status_text(first->status()), " on rank ",
                              owner->rank, " ", duration_text(job.now - first->completed), " ago")
                        : cat(ranks_text(trouble.waiting), " ", has(trouble.waiting), " waited ",
                              duration_text(job.now - first->created));
    trouble.sentence =
        cat(where, ": ", how, "; ", explain(findings, missing, slots, trouble.call, "not in it"));
    findings.add(std::move(trouble));
}

// The meetings of a group, by kind and function.
void look_at_group(Findings& findings, const JobGroup& group) {
    std::map<std::pair<uint8_t, std::string>, Meeting> meetings;
    const auto is_one = [](const Call& call) {
        return call.kind >= static_cast<uint8_t>(record::Kind::SplitGroup) &&
               call.kind <= static_cast<uint8_t>(record::Kind::Breakpoint);
    };
    for (size_t rank = 0; rank < group.seats.size(); ++rank) {
        const Seat& seat = group.seats[rank];
        if (!seat.has_group) continue;
        for (const Call& call : findings.job.members[seat.member].record.calls) {
            if (!is_one(call) || call.group != seat.slot) continue;
            Meeting& meeting = meetings[{call.kind, call.text}];
            meeting.came.resize(group.seats.size());
            note(meeting.came[rank], call);
        }
    }
    for (auto& [key, meeting] : meetings) {
        if (key.first == static_cast<uint8_t>(record::Kind::Breakpoint)) continue;
        for (const Seat& seat : group.seats) {
            meeting.members.push_back(seat.member);
            meeting.slots.push_back(seat.has_group ? seat.slot : -1);
        }
        look_at_meeting(findings, meeting);
    }
}

// The meetings of a new first group, by its name: of all ranks of the job.
void look_at_beginnings(Findings& findings) {
    const auto& members = findings.job.members;
    std::map<std::string, Meeting> meetings;
    for (size_t i = 0; i < members.size(); ++i) {
        for (const Call& call : members[i].record.calls) {
            if (!call.is(record::Kind::InitGroup)) continue;
            Meeting& meeting = meetings[call.text];
            meeting.came.resize(members.size());
            note(meeting.came[i], call);
        }
    }
    for (auto& [name, meeting] : meetings) {
        for (size_t i = 0; i < members.size(); ++i) {
            meeting.members.push_back(i);
            meeting.slots.push_back(-1);
        }
        look_at_meeting(findings, meeting);
    }
}

}  // namespace

void find_in_meetings(Findings& findings) {
    look_at_beginnings(findings);
    for (const JobGroup& group : findings.job.groups) look_at_group(findings, group);
}

}  // namespace tutti::trace
