// The file of a rank's flight recorder: a head, a table of groups, and a ring of entries, one for
// each call. The rank writes it through a mapping, so a rank that was killed leaves it complete.
// Words are little endian, aligned, and written and read whole. Any thread, any process.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::record {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);
static_assert(std::endian::native == std::endian::little);

constexpr uint64_t magic = 0x3172662d74747574;  // "tutt-fr1"
constexpr uint64_t version = 1;
constexpr size_t group_slots = 128;
constexpr size_t text_words = 4;

// One moment by the clock of the entries and by the system's.
struct Moment {
    Word ticks;
    Word realtime_ns;  // since 1970
};

// Texts end with a NUL, and are cut to fit.
struct alignas(4096) Head {
    Word magic;  // written last
    Word version;
    Word entries;        // of the ring: a power of two
    Word pid;            // with process_start and boot: which process wrote it
    Word process_start;  // field 22 of /proc/PID/stat
    Word boot;           // a hash of the boot's id, which tells hosts apart as well
    Word rank;           // of the process in its first group, or as its launcher says; -1: unknown
    Word world_size;     // likewise; 0: unknown
    Word restarts;       // of the job so far
    Word is_counter;     // ticks are a counter's of the processor; else nanoseconds
    Moment opened;
    Moment later;  // the last time that both clocks were read
    Word exited;   // 1: the process ended by exit() or by the end of main
    char host[64];
    char program[256];
    alignas(64) Word next;  // the id of the next entry, from 1 on
};
static_assert(sizeof(Head) == 4096);

namespace group_state {
enum State : uint8_t { free = 0, live = 1, ended = 2 };
}

// A group that this rank is in. Slot 0 has the groups that found none, and store calls.
struct alignas(256) GroupSlot {
    Word state;           // group_state
    Word rank_and_size;   // this rank there, and, from bit 32 on, all of them
    Word members;         // a digest of the members' ranks in the first group
    Word first_and_step;  // they are first, first + step, ...; step 0 (bits 32 to 63): irregular
    Word made;            // ticks
    Word ended;           // ticks
    Word last_enqueued;   // sequence numbers of its collectives
    Word last_completed;
    char name[128];
    char backend[64];
};
static_assert(sizeof(GroupSlot) == 256);

// The subject of an entry, beside the kinds of collectives, CallKind, which are below 64. Values
// are in files: never renumbered.
enum class Kind : uint8_t {
    Send = 64,
    Receive = 65,
    MessageBatch = 66,
    StoreWait = 67,   // of this rank, until the keys in `text` are there
    InitGroup = 68,   // ranks meet; `text` is the group's name
    SplitGroup = 69,  // new_group, split_group and meshes; `text`: the function
    ShrinkGroup = 70,
    Agree = 71,
    DestroyGroup = 72,
    Breakpoint = 73
};

// The op of a reduction that has no number below it: one of the program's.
constexpr uint32_t own_op = 255;

// In the lowest byte of an entry's first word; 0: the entry is being written.
namespace state {
enum State : uint8_t {
    scheduled = 1,  // it waits for this rank's earlier collectives
    started = 2,
    completed = 3,
    failed = 64  // plus the status
};
}

namespace flag {
enum Flag : uint8_t {
    in_background = 1  // the program has a work for it
};
}

// The words of an entry.
namespace field {
enum Field : size_t {
    id_and_state,
    created,    // ticks
    started,    // ticks; 0: when it was created, or when the call before it ended
    completed,  // ticks
    sequence,   // of a collective, in its group; else 0
    count,      // elements, or INT64_MIN where ranks may differ
    input_bytes,
    output_bytes,
    group_and_terms,    // by bytes: group (2), kind, flags, dtype, op, type of device
    peer_and_tag,       // root or peer or -1, and, from bit 32 on, a message's tag
    timeout_ms,         // -1: none
    thread_and_layout,  // its thread's number, and, from bit 32 on, a digest of counts of ranks
    text,               // text_words words: the user's tag of the call, or a key; may lack a NUL
    end = text + text_words
};
}  // namespace field

struct alignas(128) Entry {
    Word word[field::end];
};
static_assert(sizeof(Entry) == 128);

constexpr size_t file_size(uint64_t entries) {
    return sizeof(Head) + group_slots * sizeof(GroupSlot) + entries * sizeof(Entry);
}

}  // namespace tutti::record
