// Memory of the CPU that devices copy to and from by themselves. Locking pages takes long, so what
// is given back is kept for the next, up to a limit. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/mutex.hpp"
#include "driver.hpp"

namespace tutti::device {

class PinnedPool;

// A piece of it; given back when it ends.
class Pinned {
public:
    Pinned() = default;
    Pinned(Pinned&& other) noexcept { *this = std::move(other); }
    Pinned& operator=(Pinned&& other) noexcept;
    ~Pinned() { give_back(); }

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] size_t size() const { return size_; }
    // The last use of it by a device: nobody else gets the memory before that has passed.
    void used_until(EventPointer event) { last_use_ = std::move(event); }
    [[nodiscard]] const EventPointer& last_use() const { return last_use_; }

private:
    friend class PinnedPool;
    void give_back() noexcept;

    PinnedPool* pool_ = nullptr;
    int device_ = 0;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
    EventPointer last_use_;
};

class PinnedPool {
public:
    // The one of a driver; as long as the process.
    static PinnedPool& of(Driver& driver);
    explicit PinnedPool(Driver& driver) : driver_(driver) {}

    // At least so many bytes, at a multiple of 4096. Throws OUT_OF_MEMORY.
    Pinned take(int device, size_t bytes);
    // The bytes that are kept for later use.
    [[nodiscard]] size_t unused_bytes() const;

    static constexpr size_t max_unused = size_t{128} << 20;

private:
    friend class Pinned;
    static constexpr size_t smallest = size_t{64} << 10;
    static constexpr int sizes = 12;  // powers of two from the smallest to 128 MiB
    static int size_index(size_t bytes);
    struct Block {
        int device;
        std::byte* data;
        size_t size;
        EventPointer last_use;
    };
    void give(Block block) noexcept;
    void keep_or_free(const Block& block) TUTTI_REQUIRES(mutex_);
    void sort_out_used() TUTTI_REQUIRES(mutex_);

    Driver& driver_;
    mutable Mutex mutex_;
    std::array<std::vector<Block>, sizes> unused_ TUTTI_GUARDED_BY(mutex_);
    size_t unused_bytes_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::vector<Block> used_ TUTTI_GUARDED_BY(mutex_);  // by a device, still
};

}  // namespace tutti::device
