// The ring of a rank's flight recorder: each call begins, starts and ends an entry. An entry is
// kept until as many others have begun as the ring has; an end that comes later is forgotten. No
// lock, no call of the system. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "format.hpp"
#include "ticks.hpp"

namespace tutti::record {

// The facts of a call that are known when it begins.
struct Note {
    uint16_t group = 0;  // its slot
    uint8_t kind = 0;    // CallKind or Kind
    uint8_t flags = 0;
    uint8_t dtype = 0;
    uint8_t op = 0;
    uint8_t device = 0;
    int32_t peer = -1;  // or the root
    int32_t tag = 0;
    int64_t count = 0;
    uint64_t input_bytes = 0;
    uint64_t output_bytes = 0;
    int64_t timeout_ms = -1;
    uint32_t layout = 0;
    std::string_view text{};
};

class Ring {
public:
    // `entries`: a power of two.
    Ring(Head& head, GroupSlot* groups, Entry* ring, uint64_t entries, Ticks ticks)
        : head_(head), groups_(groups), ring_(ring), mask_(entries - 1), ticks_(ticks) {}

    // The entry's id.
    uint64_t begin(const Note& note, uint64_t sequence, state::State first) noexcept {
        if (head_.next.load(std::memory_order_relaxed) % moments_apart == 0) note_moment();
        const uint64_t id = head_.next.fetch_add(1, std::memory_order_relaxed);
        Entry& entry = at(id);
        set(entry, field::id_and_state, id << 8);
        set(entry, field::created, ticks_.now());
        set(entry, field::started, 0);
        set(entry, field::completed, 0);
        set(entry, field::sequence, sequence);
        set(entry, field::count, static_cast<uint64_t>(note.count));
        set(entry, field::input_bytes, note.input_bytes);
        set(entry, field::output_bytes, note.output_bytes);
        set(entry, field::group_and_terms,
            note.group | uint64_t{note.kind} << 16 | uint64_t{note.flags} << 24 |
                uint64_t{note.dtype} << 32 | uint64_t{note.op} << 40 | uint64_t{note.device} << 48);
        set(entry, field::peer_and_tag,
            static_cast<uint32_t>(note.peer) | uint64_t{static_cast<uint32_t>(note.tag)} << 32);
        set(entry, field::timeout_ms, static_cast<uint64_t>(note.timeout_ms));
        set(entry, field::thread_and_layout, thread_number() | uint64_t{note.layout} << 32);
        set_text(entry, note.text);
        if (sequence != 0) set(groups_[note.group].last_enqueued, sequence);
        entry.word[field::id_and_state].store(id << 8 | first, std::memory_order_release);
        return id;
    }

    // A collective's turn has come.
    void start(uint64_t id, uint64_t sequence, bool has_waited) noexcept {
        Entry& entry = at(id);
        if (!is_of(entry, id)) return;
        set(entry, field::sequence, sequence);
        set(groups_[group_of(entry)].last_enqueued, sequence);
        if (has_waited) set(entry, field::started, ticks_.now());
        entry.word[field::id_and_state].store(id << 8 | state::started, std::memory_order_release);
    }

    void set_peer(uint64_t id, int32_t peer) noexcept {
        Entry& entry = at(id);
        if (!is_of(entry, id)) return;
        const uint64_t tag = get(entry, field::peer_and_tag) >> 32;
        set(entry, field::peer_and_tag, static_cast<uint32_t>(peer) | tag << 32);
    }

    void end(uint64_t id, uint8_t last) noexcept {
        Entry& entry = at(id);
        if (!is_of(entry, id)) return;
        set(entry, field::completed, ticks_.now());
        const uint64_t sequence = get(entry, field::sequence);
        if (sequence != 0 && last == state::completed) {
            set(groups_[group_of(entry)].last_completed, sequence);
        }
        entry.word[field::id_and_state].store(id << 8 | last, std::memory_order_release);
    }

    [[nodiscard]] GroupSlot& group(uint16_t slot) noexcept { return groups_[slot]; }
    // The whole file as it is in this moment. Entries that are written meanwhile may be torn.
    [[nodiscard]] std::string copy(size_t size) const;
    [[nodiscard]] Head& head() noexcept { return head_; }
    [[nodiscard]] const Ticks& ticks() const { return ticks_; }

    // Reads both clocks, by which readers turn ticks into times.
    void note_moment() noexcept { write_moment(head_.later); }
    void write_moment(Moment& moment) noexcept {
        set(moment.ticks, ticks_.now());
        set(moment.realtime_ns, nanoseconds_of(CLOCK_REALTIME));
    }

    // The present thread, as the system numbers it.
    static uint32_t thread_number() noexcept {
        static thread_local constinit uint32_t number = 0;
        if (number == 0) number = ask_thread_number();
        return number;
    }

private:
    static constexpr uint64_t moments_apart = 4096;  // calls
    static uint32_t ask_thread_number() noexcept;

    [[nodiscard]] Entry& at(uint64_t id) noexcept { return ring_[id & mask_]; }
    // Another may take it over in this moment, if a whole ring of calls begins meanwhile: then that
    // one is lost, and readers see it.
    static bool is_of(const Entry& entry, uint64_t id) noexcept {
        return entry.word[field::id_and_state].load(std::memory_order_relaxed) >> 8 == id;
    }
    // In order: whoever sees a word sees that the entry is being written.
    static void set(Word& word, uint64_t value) noexcept {
        word.store(value, std::memory_order_release);
    }
    static uint64_t get(const Entry& entry, field::Field field) noexcept {
        return entry.word[field].load(std::memory_order_relaxed);
    }
    static uint16_t group_of(const Entry& entry) noexcept {
        return static_cast<uint16_t>(get(entry, field::group_and_terms) % group_slots);
    }
    static void set(Entry& entry, field::Field field, uint64_t value) noexcept {
        set(entry.word[field], value);
    }
    static void set_text(Entry& entry, std::string_view text) noexcept {
        if (text.empty()) [[likely]]
            return set(entry, field::text, 0);
        uint64_t words[text_words]{};
        std::memcpy(words, text.data(), std::min(text.size(), sizeof words));
        for (size_t i = 0; i < text_words; ++i) set(entry.word[field::text + i], words[i]);
    }

    Head& head_;
    GroupSlot* const groups_;
    Entry* const ring_;
    const uint64_t mask_;
    const Ticks ticks_;
};

}  // namespace tutti::record
