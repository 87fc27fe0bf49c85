// The flight recorder of this process: its last calls, in a file that outlives it. On from the
// first group on, unless TORCH_FR_BUFFER_SIZE is 0. What it cannot have, room or a file, costs the
// record and nothing else. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ring.hpp"
#include "tutti/types.h"

namespace tutti::record {

// Null: nothing is recorded. Set once, and stays; in a child of fork there is none.
inline constinit std::atomic<Ring*> ring{nullptr};

// Before the first call that is to be recorded. The first rank counts, and a launcher's before
// all; -1: not known yet. Malformed settings throw INVALID_ARGUMENT, naming the variable.
void turn_on(int rank = -1, int world_size = 0);

// The path of the file; empty: the record is in memory, or there is none.
std::string path();
// Its bytes as they are in this moment, for readers; empty: there is none.
std::string copy();

// A group of this rank, from its making to its end.
class GroupRecord {
public:
    GroupRecord(std::string_view name, std::string_view backend, int rank, int size,
                const std::vector<int>& members) noexcept;
    ~GroupRecord() { end(); }
    GroupRecord(const GroupRecord&) = delete;
    GroupRecord& operator=(const GroupRecord&) = delete;
    void end() noexcept;

    [[nodiscard]] uint16_t slot() const { return slot_; }

private:
    uint16_t slot_ = 0;
};

// A call that ends where it began, or, once it is detached, elsewhere.
class Call {
public:
    Call() = default;
    Call(const Note& note, state::State first, uint64_t sequence = 0) noexcept {
        Ring* const to = ring.load(std::memory_order_acquire);
        if (to != nullptr) [[likely]]
            id_ = to->begin(note, sequence, first);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    Call& operator=(Call&& other) noexcept {
        id_ = std::exchange(other.id_, id_);
        return *this;
    }
    // Without an end: an exception left it.
    ~Call() {
        if (id_ != 0) [[unlikely]]
            failed(given_up);
    }

    void start(uint64_t sequence, bool has_waited) noexcept {
        if (id_ == 0) return;
        if (Ring* const to = ring.load(std::memory_order_relaxed)) {
            to->start(id_, sequence, has_waited);
        }
    }
    // The rank that a message of any came from.
    void came_from(int rank) noexcept {
        if (id_ == 0) return;
        if (Ring* const to = ring.load(std::memory_order_relaxed)) to->set_peer(id_, rank);
    }
    void completed() noexcept { end(state::completed); }
    void ended(int32_t status) noexcept {
        if (status == TUTTI_OK) return completed();
        failed(status);
    }
    // As the exception in flight says.
    void failed() noexcept;
    void failed(int32_t status) noexcept {
        end(static_cast<uint8_t>(state::failed + status));
        note_failure();
    }

private:
    static constexpr int32_t given_up = TUTTI_ERR_ABORTED;
    static void note_failure() noexcept;
    void end(uint8_t last) noexcept {
        if (id_ == 0) return;
        if (Ring* const to = ring.load(std::memory_order_relaxed)) to->end(id_, last);
        id_ = 0;
    }

    uint64_t id_ = 0;  // 0: it is not recorded, or has ended
};

// Does it, as a call on this thread.
template <typename Act>
decltype(auto) as_call(const Note& note, state::State first, Act&& act) {
    Call call(note, first);
    try {
        if constexpr (std::is_void_v<decltype(act(call))>) {
            act(call);
            call.completed();
        } else {
            auto result = act(call);
            call.completed();
            return result;
        }
    } catch (...) {
        call.failed();
        throw;
    }
}

}  // namespace tutti::record
