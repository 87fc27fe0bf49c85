// The table of handles. It grows in chunks that never move and are never freed; looking up a slot,
// taking one and giving it back touch atomics only. Any thread.
#include "handle.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/mutex.hpp"
#include "reaper.hpp"
#include "refusal.hpp"

namespace tutti::capi {

namespace {

constexpr uint64_t one_pin = 1;
constexpr int pin_bits = 26;
constexpr uint64_t pins_mask = (uint64_t{1} << pin_bits) - 1;
constexpr uint64_t kind_mask = uint64_t{15} << pin_bits;
constexpr uint64_t held = uint64_t{1} << 30;
constexpr uint64_t live = uint64_t{1} << 31;
constexpr int generation_shift = 32;

constexpr uint64_t bits_of(Kind kind) {
    return uint64_t{static_cast<uint32_t>(kind)} << pin_bits;
}
// With no pins.
constexpr uint64_t published(uint32_t generation, Kind kind) {
    return uint64_t{generation} << generation_shift | live | held | bits_of(kind);
}
constexpr uint64_t after(uint64_t word) {
    return uint64_t{static_cast<uint32_t>(word >> generation_shift) + 1} << generation_shift;
}

// Chunk k has 64 << k slots.
constexpr uint32_t first_chunk = 64;
constexpr size_t chunk_count = 21;  // 2^27 slots
static_assert(uint64_t{first_chunk} << chunk_count == uint64_t{1} << 27);

class Table {
public:
    Slot* find(uint32_t index) const noexcept {
        const uint32_t shifted = index + first_chunk;
        const auto chunk = static_cast<size_t>(std::bit_width(shifted / first_chunk) - 1);
        if (chunk >= chunk_count) return nullptr;
        Slot* slots = chunks_[chunk].load(std::memory_order_acquire);
        return slots == nullptr ? nullptr : slots + (shifted - (first_chunk << chunk));
    }

    Slot* take() {
        uint64_t first = free_.load(std::memory_order_acquire);
        for (;;) {
            if (index_in(first) == 0) {
                grow();
                first = free_.load(std::memory_order_acquire);
                continue;
            }
            Slot* const slot = find(index_in(first) - 1);
            const uint32_t next = slot->next_free.load(std::memory_order_relaxed);
            if (replace_first(first, next)) return slot;
        }
    }

    void give_back(Slot& slot) noexcept { give_back(slot, slot); }

    size_t count(Kind kind) noexcept {
        const Lock lock(mutex_);
        size_t found = 0;
        for (size_t chunk = 0; chunk < used_chunks_; ++chunk) {
            const Slot* slots = chunks_[chunk].load(std::memory_order_acquire);
            const size_t size = size_t{first_chunk} << chunk;
            found += static_cast<size_t>(std::count_if(slots, slots + size, [&](const Slot& slot) {
                const uint64_t word = slot.word.load(std::memory_order_acquire);
                return (word & held) != 0 && (word & kind_mask) == bits_of(kind);
            }));
        }
        return found;
    }

private:
    // The list of free slots is one word: the index of the first and 1, or 0, and how often the
    // word has changed, so that a thread that was held up sees that it has.
    static uint32_t index_in(uint64_t first) { return static_cast<uint32_t>(first); }
    bool replace_first(uint64_t& first, uint32_t by) noexcept {
        const uint64_t next = ((first >> 32) + 1) << 32 | by;
        return free_.compare_exchange_weak(first, next, std::memory_order_acq_rel,
                                           std::memory_order_acquire);
    }
    // A chain of slots, from the first to the last.
    void give_back(const Slot& head, Slot& last) noexcept {
        uint64_t first = free_.load(std::memory_order_acquire);
        do {
            last.next_free.store(index_in(first), std::memory_order_relaxed);
        } while (!replace_first(first, head.index + 1));
    }

    void grow() {
        const Lock lock(mutex_);
        if (index_in(free_.load(std::memory_order_acquire)) != 0) return;  // another thread did
        if (used_chunks_ == chunk_count) {
            throw Refusal(TUTTI_ERR_OUT_OF_MEMORY, "all of the 134,217,664 handles are in use");
        }
        const uint32_t size = first_chunk << used_chunks_;
        Slot* slots = new Slot[size];
        for (uint32_t place = 0; place < size; ++place) {
            slots[place].index = size - first_chunk + place;
            slots[place].next_free.store(slots[place].index + 2, std::memory_order_relaxed);
        }
        chunks_[used_chunks_++].store(slots, std::memory_order_release);
        give_back(slots[0], slots[size - 1]);
    }

    std::array<std::atomic<Slot*>, chunk_count> chunks_{};
    std::atomic<uint64_t> free_{0};
    Mutex mutex_;
    size_t used_chunks_ TUTTI_GUARDED_BY(mutex_) = 0;
};

constinit Table table;

// A value: 1, kind (4 bits), slot (27), generation (32).
constexpr uintptr_t top_bit = uintptr_t{1} << 63;
constexpr int kind_shift = 59;
constexpr int slot_shift = 32;

uintptr_t value_of(Kind kind, uint32_t index, uint32_t generation) {
    return top_bit | uintptr_t{static_cast<uint32_t>(kind)} << kind_shift |
           uintptr_t{index} << slot_shift | generation;
}
uint64_t kind_number(uintptr_t value) {
    return value >> kind_shift & 15;
}
uint32_t generation_of(uintptr_t value) {
    return static_cast<uint32_t>(value);
}
uint32_t index_of(uintptr_t value) {
    return static_cast<uint32_t>(value >> slot_shift & 0x07ff'ffff);
}

// The slot of such a value, which may be stale; null: it is no handle of that kind.
Slot* find_slot(uintptr_t value, Kind kind) noexcept {
    const bool is_such =
        (value & top_bit) != 0 && kind_number(value) == static_cast<uint64_t>(kind);
    return is_such ? table.find(index_of(value)) : nullptr;
}

// The generation has ended.
void end_object(Slot& slot) noexcept {
    if (slot.slow_to_end) {
        reap(slot);
    } else {
        slot.object.reset();
        give_slot_back(slot);
    }
}

// Ends the generation of a released slot that nobody pins. Of several threads that come here at
// once one succeeds; one that fails has met a passing pin, whose owner comes here in turn.
void end_generation(Slot& slot, uint64_t word) noexcept {
    if (slot.word.compare_exchange_strong(word, after(word), std::memory_order_acq_rel)) {
        end_object(slot);
    }
}

const char* name_of(uint64_t kind) {
    switch (static_cast<Kind>(kind)) {
        case Kind::Store:
            return "store";
        case Kind::Group:
            return "group";
        case Kind::Work:
            return "work";
        case Kind::Bytes:
            return "bytes";
        case Kind::Object:
            return "object";
        case Kind::Mesh:
            return "mesh";
        case Kind::Coalescing:
            return "coalescing";
        case Kind::Reducer:
            return "reducer";
    }
    return nullptr;
}

}  // namespace

Slot* reserve_slot() {
    return table.take();
}

void give_slot_back(Slot& slot) noexcept {
    // Generation 0 comes after all others are used up: the slot is retired, or old handles would
    // become valid again.
    if (slot.word.load(std::memory_order_relaxed) >> generation_shift != 0) table.give_back(slot);
}

uintptr_t publish_slot(Slot& slot, Kind kind, bool slow_to_end,
                       std::shared_ptr<const void> object) noexcept {
    slot.object = std::move(object);
    slot.slow_to_end = slow_to_end;
    // An addition: holders of stale handles may be adding and removing pins.
    const uint64_t before =
        slot.word.fetch_add(live | held | bits_of(kind), std::memory_order_acq_rel);
    return value_of(kind, slot.index, static_cast<uint32_t>(before >> generation_shift));
}

Slot* pin_slot(uintptr_t value, Kind kind) noexcept {
    Slot* const slot = find_slot(value, kind);
    if (slot == nullptr) return nullptr;
    const uint64_t before = slot->word.fetch_add(one_pin, std::memory_order_acq_rel);
    if ((before & ~pins_mask) == published(generation_of(value), kind)) return slot;
    unpin_slot(*slot);
    return nullptr;
}

void unpin_slot(Slot& slot) noexcept {
    const uint64_t before = slot.word.fetch_sub(one_pin, std::memory_order_acq_rel);
    const bool is_last_of_released =
        (before & (live | held)) == held && (before & pins_mask) == one_pin;
    if (is_last_of_released) end_generation(slot, before - one_pin);
}

void release_handle(uintptr_t value, Kind kind) noexcept {
    Slot* const slot = find_slot(value, kind);
    if (slot == nullptr) return;
    uint64_t word = published(generation_of(value), kind);
    if (slot->word.compare_exchange_strong(word, after(word), std::memory_order_acq_rel)) {
        return end_object(*slot);
    }
    if (pin_slot(value, kind) == nullptr) return;
    slot->word.fetch_and(~live, std::memory_order_acq_rel);
    unpin_slot(*slot);
}

size_t count_handles(Kind kind) noexcept {
    return table.count(kind);
}

void refuse_handle(uintptr_t value, Kind wanted, const std::string& argument) {
    const uint64_t kind = (value & top_bit) != 0 ? kind_number(value) : 0;
    std::string reason = " is not a handle, or one that was released";
    if (value == 0) {
        reason = " is NULL";
    } else if (kind != static_cast<uint64_t>(wanted) && name_of(kind) != nullptr) {
        reason = cat(" is a handle of kind ", name_of(kind), ", not ",
                     name_of(static_cast<uint64_t>(wanted)));
    }
    throw Refusal(TUTTI_ERR_INVALID_HANDLE, argument + reason);
}

}  // namespace tutti::capi
