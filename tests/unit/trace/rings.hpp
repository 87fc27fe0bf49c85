// Records as the ranks of a job would leave them, with the times that a test wants. Ticks are
// nanoseconds, and the present is `now`.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "call/fingerprint.hpp"
#include "record/format.hpp"
#include "trace/job.hpp"

namespace tutti::test {

constexpr int64_t second = 1'000'000'000;
constexpr int64_t now = 1'700'000'000 * second;

inline trace::Clock clock_of_tests() {
    trace::Clock clock;
    clock.boot = 1;
    clock.host = "here";
    clock.monotonic = static_cast<uint64_t>(now);
    clock.realtime = now;
    return clock;
}

// A call, by default one that was completed; seconds before now.
struct Made {
    uint8_t kind = static_cast<uint8_t>(CallKind::AllReduce);
    uint64_t sequence = 0;
    double created = 0;
    double completed = -1;  // < 0: not yet
    uint8_t failed = 0;     // with this status
    bool is_scheduled = false;
    bool is_in_background = false;
    uint16_t group = 1;
    int64_t count = 100;
    uint8_t dtype = TUTTI_FLOAT32;
    uint8_t op = TUTTI_SUM;
    int32_t peer = -1;
    int32_t tag = 0;
    std::string text{};
    double started = -1;
};

class Ring {
public:
    Ring(int rank, int size, uint64_t entries = 64)
        : size_(record::file_size(entries)),
          memory_(static_cast<char*>(std::aligned_alloc(4096, (size_ + 4095) / 4096 * 4096))) {
        std::memset(memory_.get(), 0, size_);
        record::Head& one = head();
        one.magic = record::magic;
        one.version = record::version;
        one.entries = entries;
        one.pid = static_cast<uint64_t>(1000 + rank);
        one.boot = 2;
        one.rank = static_cast<uint64_t>(int64_t{rank});
        one.world_size = static_cast<uint64_t>(size);
        one.next = 1;
        one.opened.ticks = one.opened.realtime_ns = ticks(1000);
        one.later.ticks = one.later.realtime_ns = ticks(0);
        std::strcpy(one.host, "here");
        std::strcpy(one.program, "program");
        if (size > 0) group(1, "world", rank, size);
    }

    [[nodiscard]] record::Head& head() { return *reinterpret_cast<record::Head*>(memory_.get()); }
    [[nodiscard]] record::GroupSlot& slot(uint16_t number) {
        return reinterpret_cast<record::GroupSlot*>(memory_.get() + sizeof(record::Head))[number];
    }
    [[nodiscard]] record::Entry& entry(uint64_t id) {
        auto* const ring = reinterpret_cast<record::Entry*>(memory_.get() + record::file_size(0));
        return ring[id & (head().entries - 1)];
    }
    [[nodiscard]] char* bytes() { return memory_.get(); }
    [[nodiscard]] size_t size() const { return size_; }

    Ring& group(uint16_t number, const char* name, int rank, int size, int first = 0,
                int step = 1) {
        record::GroupSlot& group = slot(number);
        group.state = 1;
        group.rank_and_size = static_cast<uint64_t>(size) << 32 | static_cast<uint64_t>(rank);
        group.members = static_cast<uint64_t>(100 * size + 10 * first + step);
        group.first_and_step = static_cast<uint64_t>(step) << 32 | static_cast<uint64_t>(first);
        group.made = ticks(900);
        std::strcpy(group.name, name);
        std::strcpy(group.backend, "shm");
        return *this;
    }

    Ring& add(const Made& call) {
        using namespace record;
        const uint64_t id = head().next++;
        Entry& into = entry(id);
        uint64_t state = call.is_scheduled ? state::scheduled : state::started;
        if (call.completed >= 0) state = state::completed;
        if (call.failed != 0) state = state::failed + call.failed;
        into.word[field::created] = ticks(call.created);
        into.word[field::started] = call.started < 0 ? 0 : ticks(call.started);
        into.word[field::completed] = call.completed < 0 ? 0 : ticks(call.completed);
        into.word[field::sequence] = call.sequence;
        into.word[field::count] = static_cast<uint64_t>(call.count);
        into.word[field::input_bytes] = static_cast<uint64_t>(call.count) * 4;
        into.word[field::output_bytes] = static_cast<uint64_t>(call.count) * 4;
        into.word[field::group_and_terms] = call.group | uint64_t{call.kind} << 16 |
                                            uint64_t{call.is_in_background} << 24 |
                                            uint64_t{call.dtype} << 32 | uint64_t{call.op} << 40;
        into.word[field::peer_and_tag] =
            static_cast<uint32_t>(call.peer) | uint64_t{static_cast<uint32_t>(call.tag)} << 32;
        into.word[field::timeout_ms] = UINT64_MAX;
        into.word[field::thread_and_layout] = 7;
        char text[text_words * 8]{};
        std::memcpy(text, call.text.data(), std::min(call.text.size(), sizeof text));
        for (size_t i = 0; i < text_words; ++i) {
            uint64_t word = 0;
            std::memcpy(&word, text + i * 8, 8);
            into.word[field::text + i] = word;
        }
        into.word[field::id_and_state] = id << 8 | state;
        if (call.sequence != 0) {
            slot(call.group).last_enqueued = call.sequence;
            if (state == state::completed) slot(call.group).last_completed = call.sequence;
        }
        return *this;
    }
    // Completed all_reduces up to this number, the last so many seconds ago.
    Ring& all_reduces(uint64_t last, double ago, uint16_t group = 1) {
        for (uint64_t i = 1; i <= last; ++i) {
            const double end = ago + 0.1 * static_cast<double>(last - i);
            add({.sequence = i, .created = end + 0.05, .completed = end, .group = group});
        }
        return *this;
    }

    [[nodiscard]] trace::Recording recording(
        trace::ProcessState process = trace::ProcessState::Running) {
        trace::Recording made = trace::parse_recording(bytes(), size(), "a.ring", clock_of_tests());
        made.process = process;
        return made;
    }

    static uint64_t ticks(double ago) {
        return static_cast<uint64_t>(now - static_cast<int64_t>(ago * 1e9));
    }

private:
    struct Free {
        void operator()(char* memory) const { std::free(memory); }
    };
    size_t size_;
    std::unique_ptr<char, Free> memory_;
};

constexpr uint8_t kind(CallKind one) {
    return static_cast<uint8_t>(one);
}
constexpr uint8_t kind(record::Kind one) {
    return static_cast<uint8_t>(one);
}

}  // namespace tutti::test
