// Memory of tutti_memory_alloc in this process, by address: held by the program until it releases
// it, and by operations that use it until they are done. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "segment.hpp"

namespace tutti {

class HeldMemory {
public:
    static HeldMemory& of_process();

    void add(std::shared_ptr<shm::Segment> segment);
    // `bytes` at `memory`, which may be on a device.
    void add(std::shared_ptr<const void> memory, size_t bytes);
    // Its pages are freed once no operation uses it. Other addresses are ignored.
    void release(void* memory) noexcept;
    // Pieces that the program has not released.
    [[nodiscard]] size_t count() const;
    // Whether there may be any, also one that only operations still use.
    [[nodiscard]] bool may_have_any() const { return any_.load(std::memory_order_relaxed); }
    // The piece that `place` lies in, to be kept while it is used; null: it lies in none.
    [[nodiscard]] std::shared_ptr<const void> find(const void* place) const;

private:
    class Piece;
    struct Known {
        std::shared_ptr<const Piece> held;  // null once the program has released it
        std::weak_ptr<const Piece> piece;
        size_t bytes;
    };

    void forget_unused() TUTTI_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::map<const void*, Known> pieces_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> any_{false};
};

// Keeps the pieces that an operation uses. Costs nothing in a program that has none.
class MemoryUse {
public:
    MemoryUse() : is_off_(!HeldMemory::of_process().may_have_any()) {}
    void add(const void* place) {
        if (!is_off_ && place != nullptr) look_up(place);
    }
    // The program has none.
    [[nodiscard]] bool is_off() const { return is_off_; }
    [[nodiscard]] bool empty() const { return !pieces_.front() && more_.empty(); }

private:
    void look_up(const void* place);

    bool is_off_;
    std::array<std::shared_ptr<const void>, 2> pieces_;
    std::vector<std::shared_ptr<const void>> more_;
};

}  // namespace tutti
