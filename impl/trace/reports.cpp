#include "reports.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "alignment.hpp"
#include "base/text.hpp"
#include "dump_writer.hpp"
#include "whereabouts.hpp"
#include "words.hpp"

namespace tutti::trace {

namespace {

const char* process_text(const Member& member) {
    if (member.has_ended()) return "ended";
    switch (member.record.process) {
        case ProcessState::Running:
            return "running";
        case ProcessState::Stopped:
            return "stopped";
        case ProcessState::Traced:
            return "traced";
        case ProcessState::Ended:
            return "ended";
        case ProcessState::Unknown:
            break;
    }
    return "unknown";
}

std::string seconds_before(int64_t now, int64_t time) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%12.6f s", static_cast<double>(time - now) / 1e9);
    return text.data();
}

std::string call_line(const Job& job, const Member& member, const Call& call) {
    const Group& group = member.record.group_of(call);
    std::string line = cat(full_title(call, group), ", ", state_text(call));
    if (call.has_failed()) line += cat(" with ", status_text(call.status()));
    const int64_t begin = call.started != 0 ? call.started : call.created;
    const int64_t end = call.completed != 0 ? call.completed : job.now;
    line += cat(call.is_open() ? " for " : " after ", duration_text(end - begin));
    return call.is_in_background() ? line + ", in the background" : line;
}

void put_ranks(DumpWriter& to, const char* name, const std::vector<int>& ranks) {
    to.key(name);
    to.begin_list();
    for (const int rank : ranks) to.number(rank);
    to.end_list();
}

void put_text(DumpWriter& to, const char* name, const std::string& value) {
    to.key(name);
    to.text(value);
}

void put_number(DumpWriter& to, const char* name, int64_t value) {
    to.key(name);
    to.number(value);
}

void put_trouble(DumpWriter& to, const Trouble& trouble) {
    to.begin_dict();
    put_text(to, "kind", trouble.kind);
    put_text(to, "sentence", trouble.sentence);
    put_ranks(to, "ranks", trouble.ranks);
    put_ranks(to, "waiting", trouble.waiting);
    put_text(to, "group", trouble.group);
    put_text(to, "call", trouble.call);
    put_number(to, "sequence", static_cast<int64_t>(trouble.sequence));
    put_number(to, "since_ns", trouble.since);
    to.key("is_root");
    to.boolean(trouble.is_root);
    to.end_dict();
}

void put_member(DumpWriter& to, const Job& job, const Member& member) {
    to.begin_dict();
    put_number(to, "rank", member.rank);
    put_text(to, "process", process_text(member));
    put_text(to, "file", member.record.file);
    put_text(to, "host", member.record.host);
    put_number(to, "pid", static_cast<int64_t>(member.record.pid));
    put_number(to, "calls", static_cast<int64_t>(member.record.calls.size()));
    put_text(to, "where", whereabouts(job, member, -1, ""));
    to.end_dict();
}

}  // namespace

std::string troubles_text(const Job& job, const std::vector<Trouble>& troubles) {
    std::string text;
    for (const Trouble& trouble : troubles) text += cat(trouble.sentence, "\n");
    if (!troubles.empty()) return text;
    size_t calls = 0;
    size_t records = 0;
    for (const Member& member : job.members) {
        calls += member.record.calls.size();
        records += member.has_record ? 1 : 0;
    }
    return cat("no trouble: ", calls, " calls of ", records, records == 1 ? " rank" : " ranks",
               " in ", job.groups.size(), job.groups.size() == 1 ? " group\n" : " groups\n");
}

std::string troubles_json(const Job& job, const std::vector<Trouble>& troubles) {
    JsonWriter to;
    to.begin_dict();
    put_number(to, "now_ns", job.now);
    to.key("troubles");
    to.begin_list();
    for (const Trouble& trouble : troubles) put_trouble(to, trouble);
    to.end_list();
    to.key("ranks");
    to.begin_list();
    for (const Member& member : job.members) put_member(to, job, member);
    to.end_list();
    to.key("remarks");
    to.begin_list();
    for (const std::string& remark : job.remarks) to.text(remark);
    to.end_list();
    to.end_dict();
    return to.take() + "\n";
}

std::string table_text(const Job& job, size_t last) {
    std::string text;
    for (const Member& member : job.members) {
        text += cat("rank ", member.rank, ": ");
        if (!member.has_record) {
            text += "no record\n";
            continue;
        }
        const Recording& record = member.record;
        text += cat("process ", record.pid, " on ", record.host, ", ", process_text(member), "\n");
        const size_t first = record.calls.size() - std::min(last, record.calls.size());
        for (size_t i = first; i < record.calls.size(); ++i) {
            const Call& call = record.calls[i];
            text += cat(seconds_before(job.now, call.created), "  ", call_line(job, member, call),
                        "\n");
        }
    }
    return text;
}

std::string timeline_text(const Job& job, size_t last) {
    struct Line {
        int64_t time;
        const Member* member;
        const Call* call;
    };
    const Alignment alignment(job);
    std::vector<Line> lines;
    for (const Member& member : job.members) {
        for (const Call& call : member.record.calls) {
            lines.push_back({alignment.time(member.record, call.created), &member, &call});
        }
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.time < b.time; });
    std::string text;
    for (size_t i = lines.size() - std::min(last, lines.size()); i < lines.size(); ++i) {
        text += cat(seconds_before(job.now, lines[i].time), "  rank ", lines[i].member->rank, "  ",
                    call_line(job, *lines[i].member, *lines[i].call), "\n");
    }
    return text;
}

}  // namespace tutti::trace
