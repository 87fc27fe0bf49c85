// Handles: what C holds instead of pointers. A handle's value is its kind, a slot of the table and
// the generation of that slot, so a stale or foreign one is an error, not a crash; its top bit
// makes it an address that no machine maps.
// Any thread. Looking one up is wait-free (two atomic additions): a Pin keeps the object alive
// while others release the handle. The thread that drops the last pin of a released handle ends the
// object: here if that is cheap, through the reaper if it takes time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/argument.hpp"
#include "group/coalescing.hpp"
#include "group/group.hpp"
#include "mesh/mesh.hpp"
#include "reducer/reducer.hpp"
#include "store/store.hpp"
#include "tutti/types.h"
#include "work/work.hpp"

namespace tutti::capi {

static_assert(sizeof(uintptr_t) == 8, "a handle needs 64 bits; so does Gloo");

class Draft;  // object.hpp

enum class Kind : uint32_t {
    Store = 1,
    Group = 2,
    Work = 3,
    Bytes = 4,
    Object = 5,
    Mesh = 6,
    Coalescing = 7,
    Reducer = 8
};

// The object behind the tutti_group that tutti_coalescing_begin gives.
struct CoalescingHandle;

template <typename Handle>
struct HandleTraits;
template <>
struct HandleTraits<tutti_store> {
    using Object = Store;
    static constexpr Kind kind = Kind::Store;
    static constexpr bool slow_to_end = true;
};
template <>
struct HandleTraits<tutti_group> {
    using Object = Group;
    static constexpr Kind kind = Kind::Group;
    static constexpr bool slow_to_end = true;
};
template <>
struct HandleTraits<CoalescingHandle> {
    using Object = Coalescing;
    static constexpr Kind kind = Kind::Coalescing;
    static constexpr bool slow_to_end = true;  // it may hold the last reference to its group
};
template <>
struct HandleTraits<tutti_work> {
    using Object = Work;
    static constexpr Kind kind = Kind::Work;
    static constexpr bool slow_to_end = false;
};
template <>
struct HandleTraits<tutti_bytes> {
    using Object = const std::string;
    static constexpr Kind kind = Kind::Bytes;
    static constexpr bool slow_to_end = false;
};
template <>
struct HandleTraits<tutti_mesh> {
    using Object = Mesh;
    static constexpr Kind kind = Kind::Mesh;
    static constexpr bool slow_to_end = true;
};
template <>
struct HandleTraits<tutti_reducer> {
    using Object = Reducer;
    static constexpr Kind kind = Kind::Reducer;
    static constexpr bool slow_to_end = true;
};
template <>
struct HandleTraits<tutti_object> {
    using Object = Draft;
    static constexpr Kind kind = Kind::Object;
    static constexpr bool slow_to_end = false;
};

// One to a cache line, so threads that use different handles do not disturb each other.
struct alignas(64) Slot {
    // Generation (32 bits), live, held (1 bit each), kind (4), pins (26). Reserved or free: 0 after
    // the generation; published: live and held; released but still pinned: held.
    std::atomic<uint64_t> word{uint64_t{1} << 32};
    // The rest changes only while the slot is not held, or by the one who ended its generation.
    std::shared_ptr<const void> object;
    Slot* next = nullptr;                // in the reaper's queue
    std::atomic<uint32_t> next_free{0};  // in the table's list of free ones: an index and 1
    uint32_t index = 0;
    bool slow_to_end = false;
};

// The steps behind the typed face below.
Slot* reserve_slot();                      // throws OUT_OF_MEMORY
void give_slot_back(Slot& slot) noexcept;  // reserved, or its generation ended
uintptr_t publish_slot(Slot& slot, Kind kind, bool slow_to_end,
                       std::shared_ptr<const void> object) noexcept;
Slot* pin_slot(uintptr_t value, Kind kind) noexcept;  // nullptr: no living handle of this kind
void unpin_slot(Slot& slot) noexcept;
void release_handle(uintptr_t value, Kind kind) noexcept;
[[noreturn]] void refuse_handle(uintptr_t value, Kind wanted, const std::string& argument);

// How many handles of a kind there are, also released ones that a call still uses.
size_t count_handles(Kind kind) noexcept;

// A reference to the object of a handle, or nothing.
template <typename Handle>
class Pin {
    using Object = typename HandleTraits<Handle>::Object;

public:
    explicit Pin(const Handle* handle) noexcept
        : slot_(pin_slot(reinterpret_cast<uintptr_t>(handle), HandleTraits<Handle>::kind)) {}
    // Throws INVALID_HANDLE, naming the argument.
    Pin(const Handle* handle, const Argument& argument) : Pin(handle) {
        if (slot_ != nullptr) return;
        refuse_handle(reinterpret_cast<uintptr_t>(handle), HandleTraits<Handle>::kind,
                      argument.text());
    }
    Pin(const Handle* handle, const char* argument) : Pin(handle, Argument{argument}) {}
    ~Pin() {
        if (slot_ != nullptr) unpin_slot(*slot_);
    }
    Pin(Pin&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Pin& operator=(Pin&&) = delete;

    explicit operator bool() const { return slot_ != nullptr; }
    Object* get() const { return static_cast<Object*>(const_cast<void*>(slot_->object.get())); }
    Object* operator->() const { return get(); }
    Object& operator*() const { return *get(); }
    // For what outlives the call.
    [[nodiscard]] std::shared_ptr<Object> share() const { return {slot_->object, get()}; }

private:
    Slot* slot_;
};

// A slot taken before an operation starts, so that handing out its handle cannot fail afterwards.
template <typename Handle>
class Reserved {
public:
    Reserved() : slot_(reserve_slot()) {}
    ~Reserved() {
        if (slot_ != nullptr) give_slot_back(*slot_);
    }
    Reserved(Reserved&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Reserved& operator=(Reserved&&) = delete;

    Handle* publish(std::shared_ptr<typename HandleTraits<Handle>::Object> object) noexcept {
        Slot& slot = *std::exchange(slot_, nullptr);
        return reinterpret_cast<Handle*>(publish_slot(slot, HandleTraits<Handle>::kind,
                                                      HandleTraits<Handle>::slow_to_end,
                                                      std::move(object)));
    }

private:
    Slot* slot_;
};

// An owned handle for the object.
template <typename Handle>
Handle* hand_out(std::shared_ptr<typename HandleTraits<Handle>::Object> object) {
    return Reserved<Handle>().publish(std::move(object));
}

// Ends the handle, once; NULL and stale ones are ignored. Never blocks.
template <typename Handle>
void release(const Handle* handle) noexcept {
    release_handle(reinterpret_cast<uintptr_t>(handle), HandleTraits<Handle>::kind);
}

}  // namespace tutti::capi
