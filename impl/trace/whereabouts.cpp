#include "whereabouts.hpp"

#include "base/text.hpp"
#include "words.hpp"

namespace tutti::trace {

namespace {

// "#16" where the name of the call and the group go without saying.
std::string short_title(const Member& member, const Call& call, int slot, const std::string& name) {
    const Group& group = member.record.group_of(call);
    if (call.group != slot) return full_title(call, group);
    if (call.sequence != 0 && call_name(call) == name) return cat("#", call.sequence);
    return title(call, group);
}

std::string ending_of(const Job& job, const Call& call) {
    const std::string ago = cat(" ", duration_text(job.now - call.completed), " ago");
    if (call.has_failed()) return cat("failed with ", status_text(call.status()), ago);
    return "completed" + ago;
}

std::string place_of(const Job& job, const Member& member, int slot, const std::string& name) {
    if (!member.has_record) return "it has left no record";
    const Recording& record = member.record;
    if (const Call* const call = call_of(member)) {
        const std::string where = short_title(member, *call, slot, name);
        const int64_t since = call->started != 0 ? call->started : call->created;
        if (member.has_ended()) return cat("its last call was ", where, ", which did not end");
        if (call->is(record::Kind::Breakpoint)) return "it is at a breakpoint";
        const char* const how = call->is_in_background() ? ", in the background," : "";
        return cat("it has been in ", where, how, " for ", duration_text(job.now - since));
    }
    if (record.calls.empty()) return "it has made no call";
    const Call& last = record.calls.back();
    return cat("its last call, ", short_title(member, last, slot, name), ", ",
               ending_of(job, last));
}

std::string group_of_slot(const Job& job, const Member& member, int slot) {
    if (slot < 0 || static_cast<size_t>(slot) >= member.record.groups.size()) return "";
    const Group& group = member.record.groups[static_cast<size_t>(slot)];
    if (!group.has_ended) return "";
    return cat("it ended the group ", duration_text(job.now - group.ended), " ago");
}

}  // namespace

const Call* call_of(const Member& member) {
    const Call* in_background = nullptr;
    for (const Call& call : member.record.calls) {
        if (!call.is_open()) continue;
        if (!call.is_in_background()) return &call;
        if (in_background == nullptr) in_background = &call;
    }
    return in_background;
}

std::string fate(const Member& member) {
    if (member.ending) return cat("it ", describe(*member.ending));
    switch (member.record.process) {
        case ProcessState::Ended:
            return member.record.has_exited ? "its process has exited" : "its process has ended";
        case ProcessState::Stopped:
            return "its process is stopped";
        case ProcessState::Traced:
            return "a debugger holds its process";
        case ProcessState::Running:
        case ProcessState::Unknown:
            break;
    }
    return "";
}

std::string whereabouts(const Job& job, const Member& member, int slot, const std::string& name) {
    std::string text = place_of(job, member, slot, name);
    for (const std::string& more : {group_of_slot(job, member, slot), fate(member)}) {
        if (!more.empty()) text += cat("; ", more);
    }
    return text;
}

}  // namespace tutti::trace
