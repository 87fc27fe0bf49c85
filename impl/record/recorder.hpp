// The flight recorder of this process: its last calls, in a file that outlives it. On from the
// first group on, unless TORCH_FR_BUFFER_SIZE is 0. What it cannot have, room or a file, costs the
// record and nothing else. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "observers.hpp"
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

// A call, from its beginning to its end, for the record and for whoever watches.
class Call {
public:
    Call() = default;
    Call(const Note& note, state::State first) noexcept {
        Ring* const to = ring.load(std::memory_order_acquire);
        if (to != nullptr) [[likely]]
            id_ = to->begin(note, 0, first);
    }
    // describe() returns the Operation, and is called if somebody watches, or for a tag.
    template <typename Describe>
    Call(const Note& note, state::State first, Describe&& describe) : Call(note, first) {
        const bool is_watched = observer_count.load(std::memory_order_relaxed) != 0;
        if (is_watched || !note.text.empty()) [[unlikely]]
            watched_ = std::make_unique<Watched>(std::forward<Describe>(describe)());
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&& other) noexcept
        : id_(std::exchange(other.id_, 0)), watched_(std::move(other.watched_)) {}
    Call& operator=(Call&& other) noexcept {
        std::swap(id_, other.id_);
        watched_.swap(other.watched_);
        return *this;
    }
    // Without an end: it was given up.
    ~Call() {
        if (id_ != 0) [[unlikely]]
            end(static_cast<uint8_t>(state::failed + int{TUTTI_ERR_ABORTED}));
    }

    // Its turn has come. Throws what somebody who watches has against it.
    void start(uint64_t sequence, bool has_waited) {
        if (id_ != 0) {
            if (Ring* const to = ring.load(std::memory_order_relaxed)) {
                to->start(id_, sequence, has_waited);
            }
        }
        if (watched_) [[unlikely]]
            watched_->begin(sequence);
    }
    // The same of one that waits for no turn.
    void start() {
        if (watched_) [[unlikely]]
            watched_->begin(0);
    }
    // The program's own name for it: empty, mostly.
    [[nodiscard]] std::string_view tag() const {
        return watched_ ? std::string_view(watched_->tag()) : std::string_view();
    }
    // The rank that a message of any came from.
    void came_from(int rank) noexcept {
        if (id_ == 0) return;
        if (Ring* const to = ring.load(std::memory_order_relaxed)) to->set_peer(id_, rank);
    }
    void completed() noexcept {
        end(state::completed);
        if (watched_) [[unlikely]]
            watched_->end({});
    }
    void ended(const Status& status) noexcept {
        if (status.ok()) return completed();
        failed(status);
    }
    void failed(const Status& status) noexcept;
    // As the exception in flight says.
    void failed() noexcept;

private:
    void end(uint8_t last) noexcept {
        if (id_ == 0) return;
        if (Ring* const to = ring.load(std::memory_order_relaxed)) to->end(id_, last);
        id_ = 0;
    }

    uint64_t id_ = 0;  // 0: it is not recorded, or has ended
    std::unique_ptr<Watched> watched_;
};

// Does it, as a call on this thread.
template <typename Act>
decltype(auto) as_call(Call call, Act&& act) {
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
