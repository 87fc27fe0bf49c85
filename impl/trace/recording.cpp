#include "recording.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "base/text.hpp"
#include "copies.hpp"
#include "entries.hpp"
#include "process_state.hpp"
#include "record/recorder.hpp"

namespace tutti::trace {

namespace {

using record::Entry;
using record::GroupSlot;
using record::Head;

constexpr int attempts = 3;

// The number of entries.
uint64_t check_head(const Copies& copies, const std::string& name) {
    if (copies.size() < sizeof(Head)) {
        refuse_record(name, cat("it has ", copies.size(), " bytes, fewer than a head has"));
    }
    const View head(copies.of[0], 0);
    const uint64_t magic = head.word(offsetof(Head, magic));
    if (magic == 0) refuse_record(name, "its process has not finished making it");
    if (magic != record::magic) refuse_record(name, "it does not begin as one does");
    const uint64_t version = head.word(offsetof(Head, version));
    if (version != record::version) {
        refuse_record(
            name, cat("it has version ", version, ", where this program knows ", record::version));
    }
    const uint64_t entries = head.word(offsetof(Head, entries));
    if (!std::has_single_bit(entries) || entries > max_entries) {
        refuse_record(
            name, cat("its ring of ", entries, " calls is no power of two up to ", max_entries));
    }
    if (copies.size() < record::file_size(entries)) {
        refuse_record(name,
                      cat("it has ", copies.size(), " of ", record::file_size(entries), " bytes"));
    }
    return entries;
}

Scale scale_of(const View& head, const Clock& clock) {
    const bool is_counter = head.word(offsetof(Head, is_counter)) != 0;
    const auto at = [&](size_t moment) {
        return Instant{head.word(moment), static_cast<int64_t>(head.word(moment + 8))};
    };
    const Instant opened = at(offsetof(Head, opened));
    Instant second = at(offsetof(Head, later));
    if (head.word(offsetof(Head, boot)) == clock.boot) {
        second = {is_counter ? clock.counter : clock.monotonic, clock.realtime};
    }
    if (second.ticks == 0 || second.realtime <= 0) second = opened;
    if (second.realtime < 0) second.realtime = 0;
    return {opened, second, is_counter};
}

// A slot may have been another group's before.
void check_group(Call& call, const std::vector<Group>& groups) {
    if (call.group >= groups.size()) call.group = 0;
    const Group& group = groups[call.group];
    const bool is_of_group = call.is_collective() || call.is_message();
    if (is_of_group && group.is_known && call.created < group.made) call.group = 0;
}

// Collectives get their number with their turn; until then it is known by the order.
void number_waiting(std::vector<Call>& calls, const std::vector<Group>& groups) {
    std::vector<uint64_t> last(record::group_slots, 0);
    for (size_t i = 0; i < last.size(); ++i) last[i] = groups[i].last_enqueued;
    for (Call& call : calls) {
        const bool waits = call.is_collective() && call.state == record::state::scheduled;
        if (waits && call.sequence == 0 && groups[call.group].is_known) {
            call.sequence = ++last[call.group];
        }
    }
}

// A call that had to wait for its turn, and has no time for that, started when the one before it in
// its group ended.
void find_starts(std::vector<Call>& calls) {
    std::vector<int64_t> ends(record::group_slots, 0);
    for (Call& call : calls) {
        int64_t& end = ends[call.group];
        if (call.started == 0 && call.state != record::state::scheduled) {
            const int64_t before = call.is_collective() ? end : 0;
            call.started = std::max(call.created, before);
            if (call.completed != 0) call.started = std::min(call.started, call.completed);
        }
        if (call.is_collective()) end = std::max(end, call.completed);
    }
}

// False: calls were overwritten meanwhile.
bool parse_calls(const Copies& copies, uint64_t entries, const Scale& scale, Recording& out) {
    bool is_whole = true;
    out.calls.clear();
    const uint64_t next = View(copies.of[2], 0).word(offsetof(Head, next));
    out.is_complete = next <= entries + 1;
    for (uint64_t slot = 0; slot < entries; ++slot) {
        const size_t offset = record::file_size(slot);
        const uint64_t before = View(copies.of[0], offset).word(0);
        const uint64_t after = View(copies.of[2], offset).word(0);
        if (before >> 8 != after >> 8 || (before & 0xff) == 0) {
            is_whole &= before == after;
            continue;
        }
        const uint64_t id = before >> 8;
        if (id == 0 || id >= next || (id & (entries - 1)) != slot) continue;
        Call call = parse_call(View(copies.of[1], offset), before, scale);
        check_group(call, out.groups);
        out.calls.push_back(std::move(call));
    }
    std::sort(out.calls.begin(), out.calls.end(),
              [](const Call& a, const Call& b) { return a.id < b.id; });
    number_waiting(out.calls, out.groups);
    find_starts(out.calls);
    return is_whole;
}

bool parse(const Copies& copies, const std::string& name, const Clock& clock, Recording& out) {
    const uint64_t entries = check_head(copies, name);
    const View head(copies.of[1], 0);
    const Scale scale = scale_of(head, clock);
    out.file = name;
    out.host = head.text(offsetof(Head, host), sizeof Head::host);
    out.program = head.text(offsetof(Head, program), sizeof Head::program);
    out.boot = head.word(offsetof(Head, boot));
    out.pid = head.word(offsetof(Head, pid));
    out.rank = rank_from(head.word(offsetof(Head, rank)));
    out.world_size = std::max(0, rank_from(head.word(offsetof(Head, world_size))));
    out.restarts = head.word(offsetof(Head, restarts));
    out.has_exited = head.word(offsetof(Head, exited)) == 1;
    out.opened = scale.time_of(head.word(offsetof(Head, opened)));
    out.taken = clock.realtime;
    if (out.boot == clock.boot && out.host == clock.host) {
        out.process = process_state(out.pid, head.word(offsetof(Head, process_start)));
    }
    out.groups.clear();
    for (size_t i = 0; i < record::group_slots; ++i) {
        const View slot(copies.of[1], sizeof(Head) + i * sizeof(GroupSlot));
        out.groups.push_back(parse_group(slot, scale, out.rank));
    }
    return parse_calls(copies, entries, scale, out);
}

Words words_of(const void* bytes, size_t size) {
    Words words(size / sizeof(uint64_t));
    if (!words.empty()) std::memcpy(words.data(), bytes, words.size() * sizeof(uint64_t));
    return words;
}

// `copy` makes one more copy of all words.
Recording parse_often(const std::function<Words()>& copy, const std::string& name,
                      const Clock& clock) {
    Recording recording;
    for (int i = 0; i < attempts; ++i) {
        Copies copies;
        for (Words& words : copies.of) words = copy();
        if (parse(copies, name, clock, recording)) break;
    }
    return recording;
}

}  // namespace

Fingerprint Call::fingerprint() const {
    return {static_cast<CallKind>(kind), dtype, op, peer, count, uint64_t{layout} << 32, device};
}

int64_t Recording::last_sign() const {
    int64_t last = opened;
    for (const Call& call : calls)
        last = std::max({last, call.created, call.started, call.completed});
    for (const Group& group : groups) last = std::max({last, group.made, group.ended});
    return last;
}

Recording read_recording(const std::string& file, const Clock& clock) {
    const RecordFile opened(file);
    return parse_often([&] { return opened.words(); }, file, clock);
}

Recording parse_recording(const void* bytes, size_t size, const std::string& name,
                          const Clock& clock) {
    const Words words = words_of(bytes, size);
    return parse_often([&] { return words; }, name, clock);
}

Recording own_recording(const Clock& clock) {
    const auto copy = [] {
        const std::string bytes = record::copy();
        return words_of(bytes.data(), bytes.size());
    };
    return parse_often(copy, "the record of this process", clock);
}

}  // namespace tutti::trace
