#include "held_memory.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

class HeldMemory::Piece {
public:
    explicit Piece(std::shared_ptr<const void> memory) : memory_(std::move(memory)) {}

private:
    const std::shared_ptr<const void> memory_;
};

// Never destroyed: programs may give memory back when they end.
HeldMemory& HeldMemory::of_process() {
    static auto* const all = new HeldMemory;
    return *all;
}

void HeldMemory::add(std::shared_ptr<shm::Segment> segment) {
    const void* const data = segment->data();
    const size_t bytes = segment->size();
    add(std::shared_ptr<const void>(data, [segment](const void*) { segment->give_up(); }), bytes);
}

void HeldMemory::add(std::shared_ptr<const void> memory, size_t bytes) {
    const void* const data = memory.get();
    auto piece = std::make_shared<const Piece>(std::move(memory));
    const Lock lock(mutex_);
    forget_unused();  // whose addresses the new one may have
    std::weak_ptr<const Piece> known = piece;
    pieces_.insert_or_assign(data, Known{std::move(piece), std::move(known), bytes});
    any_ = true;
}

void HeldMemory::forget_unused() {
    std::erase_if(pieces_, [](const auto& one) { return one.second.piece.expired(); });
    any_ = !pieces_.empty();
}

size_t HeldMemory::count() const {
    const Lock lock(mutex_);
    return static_cast<size_t>(
        std::ranges::count_if(pieces_, [](const auto& one) { return one.second.held != nullptr; }));
}

void HeldMemory::release(void* memory) noexcept {
    std::shared_ptr<const Piece> last;  // ends without the lock
    const Lock lock(mutex_);
    const auto found = pieces_.find(memory);
    if (found == pieces_.end() || !found->second.held) return;
    last = std::move(found->second.held);
    if (last.use_count() > 1) return;  // operations use it, and more may begin to
    pieces_.erase(found);
    any_ = !pieces_.empty();
}

std::shared_ptr<const void> HeldMemory::find(const void* place) const {
    const Lock lock(mutex_);
    const auto after = pieces_.upper_bound(place);
    if (after == pieces_.begin()) return nullptr;
    const auto& [begin, known] = *std::prev(after);
    const auto offset = static_cast<const std::byte*>(place) - static_cast<const std::byte*>(begin);
    // A piece that is not meant is not held for a moment, either: its last operation may be ending,
    // and gives it back.
    return static_cast<size_t>(offset) < known.bytes ? known.piece.lock() : nullptr;
}

void MemoryUse::look_up(const void* place) {
    auto piece = HeldMemory::of_process().find(place);
    if (!piece) return;
    for (auto& one : pieces_) {
        if (one == piece) return;
        if (one) continue;
        one = std::move(piece);
        return;
    }
    if (std::ranges::find(more_, piece) == more_.end()) more_.push_back(std::move(piece));
}

}  // namespace tutti
