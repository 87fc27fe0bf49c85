// The layout of the memory that a rank of a group shares: it alone writes, the others read.
// Collectives are cut into steps that all ranks count alike; in a step a rank posts at most one
// piece of data, in a flag line or, if it is longer, in a slot. Lines and slots are reused when all
// have read them. Plain memory, mapped by several processes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "call/fingerprint.hpp"
#include "progress/doorbell.hpp"
#include "tuning.hpp"

namespace tutti::shm {

// A step's flag and all that must be known with it, in one cache line.
struct alignas(cache_line) Line {
    static constexpr size_t most = 40;
    std::byte data[most];
    std::atomic<uint64_t> step;  // counted from 1; 0: none yet
    uint64_t history;            // digest of the calls so far, this one included
    uint64_t finished;           // as in Part, when the line was written
};
static_assert(sizeof(Line) == cache_line);

// A call of the rank, for others to compare with theirs.
class alignas(cache_line) Record {
public:
    void write(uint64_t sequence, const Fingerprint& fingerprint) {
        sequence_.store(0, std::memory_order_relaxed);  // it is being written
        const auto words = std::bit_cast<Words>(fingerprint);
        for (size_t i = 0; i < words.size(); ++i) {
            words_[i].store(words[i], std::memory_order_release);
        }
        sequence_.store(sequence, std::memory_order_release);
    }
    // False if it has another call, or is overwritten meanwhile.
    bool read(uint64_t sequence, Fingerprint& fingerprint) const {
        if (sequence_.load(std::memory_order_acquire) != sequence) return false;
        Words words;
        for (size_t i = 0; i < words.size(); ++i) {
            words[i] = words_[i].load(std::memory_order_acquire);
        }
        fingerprint = std::bit_cast<Fingerprint>(words);
        return sequence_.load(std::memory_order_relaxed) == sequence;
    }

private:
    using Words = std::array<uint64_t, sizeof(Fingerprint) / sizeof(uint64_t)>;
    std::atomic<uint64_t> sequence_;
    std::atomic<uint64_t> words_[sizeof(Fingerprint) / sizeof(uint64_t)];
};

constexpr size_t max_lines = 16;
// A rank can be as many steps as there are lines ahead of one that waits: it still has the record
// of the call that that one is in.
constexpr size_t max_records = 2 * max_lines;
constexpr size_t max_slots = 4;
constexpr size_t result_bytes = size_t{64} * 1024;  // after the data: a rank's part of the result
constexpr size_t slot_bytes = chunk_bytes + result_bytes;

struct Part {
    Line lines[max_lines];
    // The rank reads no step before this one any more.
    alignas(cache_line) std::atomic<uint64_t> finished;
    std::atomic<int> processor;  // that it was running on when it last waited
    Doorbell doorbell;           // of those who wait for this rank
    Record records[max_records];
    alignas(4096) std::byte slots[max_slots][slot_bytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// Takes a cache line from its readers ahead of time.
inline void will_write(const Line& line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(line));
#else
    __builtin_prefetch(&line, 1);
#endif
}

}  // namespace tutti::shm
