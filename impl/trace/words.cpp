#include "words.hpp"

#include <array>
#include <cstdio>

#include "base/text.hpp"

namespace tutti::trace {

namespace {

constexpr std::array statuses{
    "OK",      "INVALID_ARGUMENT", "INVALID_HANDLE", "UNSUPPORTED", "TIMEOUT",
    "ABORTED", "PEER_LOST",        "MISMATCH",       "BACKEND",     "NETWORK",
    "STORE",   "QUEUE_EMPTY",      "OUT_OF_MEMORY",  "INTERNAL",    "PENDING"};

std::string peer_text(const Call& call, const Group& group) {
    if (call.peer < 0) return "any rank";
    const auto peer = static_cast<size_t>(call.peer);
    const int known = peer < group.ranks.size() ? group.ranks[peer] : -1;
    return cat("rank ", known >= 0 ? known : call.peer);
}

std::string with_tag(const Call& call) {
    return call.tag == 0 ? "" : cat(" with tag ", call.tag);
}

// A run of ranks takes less room if it is long.
std::vector<std::string> runs_of(const std::vector<int>& ranks) {
    constexpr size_t long_list = 6;
    constexpr int long_run = 3;
    std::vector<std::string> texts;
    for (size_t i = 0; i < ranks.size();) {
        size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        if (ranks.size() >= long_list && end - i >= long_run) {
            texts.push_back(cat(ranks[i], " to ", ranks[end - 1]));
            i = end;
        } else {
            texts.push_back(cat(ranks[i]));
            ++i;
        }
    }
    return texts;
}

}  // namespace

std::string call_name(const Call& call) {
    if (call.is_collective()) return name_of(static_cast<CallKind>(call.kind));
    switch (static_cast<record::Kind>(call.kind)) {
        case record::Kind::Send:
            return "send";
        case record::Kind::Receive:
            return "recv";
        case record::Kind::MessageBatch:
            return "batch_isend_irecv";
        case record::Kind::StoreWait:
            return "store wait";
        case record::Kind::InitGroup:
            return "init_process_group";
        case record::Kind::SplitGroup:
            return call.text.empty() ? "new_group" : call.text;
        case record::Kind::ShrinkGroup:
            return "shrink_group";
        case record::Kind::Agree:
            return "agree";
        case record::Kind::DestroyGroup:
            return "destroy_process_group";
        case record::Kind::Breakpoint:
            return "breakpoint";
    }
    return cat("unknown operation ", call.kind);
}

std::string title(const Call& call, const Group& group) {
    const std::string name = call_name(call);
    if (call.is(record::Kind::Send)) {
        return cat(name, " to ", peer_text(call, group), with_tag(call));
    }
    if (call.is(record::Kind::Receive)) {
        return cat(name, " from ", peer_text(call, group), with_tag(call));
    }
    if (call.is(record::Kind::StoreWait)) return cat("wait for the key \"", call.text, "\"");
    return call.sequence == 0 ? name : cat(name, " #", call.sequence);
}

std::string full_title(const Call& call, const Group& group) {
    std::string text = title(call, group);
    if (call.is(record::Kind::StoreWait)) return text + " of the store";
    if (call.is(record::Kind::InitGroup)) return cat(text, " ", of_group(call.text));
    if (group.is_known) text += cat(" ", of_group(group.name));
    const bool is_tagged = call.is_collective() || call.is_message();
    return is_tagged && !call.text.empty() ? cat(text, " (\"", call.text, "\")") : text;
}

std::string description(const Call& call) {
    return describe(call.fingerprint(), call.sequence);
}

std::string of_group(const std::string& name) {
    return name.empty() ? "of a group without a name" : cat("of group ", name);
}

std::string enumerate(const std::vector<std::string>& texts) {
    std::string out;
    for (size_t i = 0; i < texts.size(); ++i) {
        if (i > 0) out += i + 1 == texts.size() ? " and " : ", ";
        out += texts[i];
    }
    return out;
}

std::string ranks_text(const std::vector<int>& ranks) {
    if (ranks.empty()) return "a rank that is not known";
    return cat(ranks.size() == 1 ? "rank " : "ranks ", enumerate(runs_of(ranks)));
}

const char* has(const std::vector<int>& ranks) {
    return ranks.size() <= 1 ? "has" : "have";
}

const char* is(const std::vector<int>& ranks) {
    return ranks.size() <= 1 ? "is" : "are";
}

std::string duration_text(int64_t nanoseconds) {
    constexpr double second = 1e9;
    constexpr double millisecond = 1e6;
    const double time = nanoseconds > 0 ? static_cast<double>(nanoseconds) : 0;
    std::array<char, 48> text{};
    if (time < second / 10) {
        std::snprintf(text.data(), text.size(), "%.0f ms", time / millisecond);
    } else {
        std::snprintf(text.data(), text.size(), "%.1f s", time / second);
    }
    return text.data();
}

std::string status_text(int status) {
    const auto index = static_cast<size_t>(status);
    return status >= 0 && index < statuses.size() ? statuses[index] : cat("status ", status);
}

const char* state_text(const Call& call) {
    if (call.has_failed()) return "failed";
    if (call.state == record::state::scheduled) return "scheduled";
    return call.state == record::state::started ? "started" : "completed";
}

}  // namespace tutti::trace
