#include "rooms.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

namespace {

// A sanitizer is to see who uses memory that was given back.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_watched = true;
#elif defined(__has_feature)
constexpr bool is_watched = __has_feature(address_sanitizer);
#else
constexpr bool is_watched = false;
#endif
constexpr size_t most_of_process = is_watched ? 0 : size_t{8} * 1024 * 1024;

}  // namespace

Rooms::Rooms(size_t most) : most_(most) {
    const Lock lock(mutex_);
    kept_.reserve(most / shortest + 1);  // to give back must not fail
}

// The shortest that is long enough, and not so long that another one would miss it.
Rooms::Room Rooms::take(size_t bytes) {
    if (bytes >= shortest) {
        const Lock lock(mutex_);
        auto best = kept_.end();
        for (auto one = kept_.begin(); one != kept_.end(); ++one) {
            if (one->bytes < bytes || one->bytes / 2 > bytes) continue;
            if (best == kept_.end() || one->bytes < best->bytes) best = one;
        }
        if (best != kept_.end()) {
            Room found(best->memory.release(), {this, best->bytes});
            kept_bytes_ -= best->bytes;
            kept_.erase(best);
            return found;
        }
    }
    return Room(std::make_unique_for_overwrite<std::byte[]>(bytes).release(), {this, bytes});
}

void Rooms::give_back(std::span<std::byte> room) noexcept {
    std::unique_ptr<std::byte[]> memory(room.data());
    if (room.size() < shortest || room.size() > most_) return;
    const Lock lock(mutex_);
    while (kept_bytes_ + room.size() > most_) {
        kept_bytes_ -= kept_.front().bytes;
        kept_.erase(kept_.begin());
    }
    kept_.push_back({std::move(memory), room.size()});
    kept_bytes_ += room.size();
}

size_t Rooms::kept_bytes() const {
    const Lock lock(mutex_);
    return kept_bytes_;
}

// Never destroyed: a call may still run on another thread when the process ends.
Rooms& rooms() {
    static Rooms& of_process = *new Rooms(most_of_process);
    return of_process;
}

}  // namespace tutti
