#include "pinned.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"

namespace tutti::device {

namespace {

bool has_passed(const EventPointer& event) noexcept {
    try {
        return !event || event->passed();
    } catch (const Error&) {  // the device is lost, and uses nothing any more
        return true;
    }
}

}  // namespace

Pinned& Pinned::operator=(Pinned&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    pool_ = std::exchange(other.pool_, nullptr);
    device_ = other.device_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    last_use_ = std::move(other.last_use_);
    return *this;
}

void Pinned::give_back() noexcept {
    if (pool_ == nullptr) return;
    std::exchange(pool_, nullptr)->give({device_, data_, size_, std::move(last_use_)});
}

PinnedPool& PinnedPool::of(Driver& driver) {
    static PinnedPool& cuda = *new PinnedPool(driver);  // never destroyed, as the driver
    return cuda;
}

// -1: too large to be kept.
int PinnedPool::size_index(size_t bytes) {
    const size_t steps = std::bit_width((std::max(bytes, smallest) - 1) / smallest);
    return steps < sizes ? static_cast<int>(steps) : -1;
}

Pinned PinnedPool::take(int device, size_t bytes) {
    const int index = size_index(bytes);
    constexpr size_t page = 4096;
    const size_t size = index < 0 ? (bytes + page - 1) / page * page : smallest << index;
    Pinned pinned;
    pinned.device_ = device;
    pinned.size_ = size;
    {
        const Lock lock(mutex_);
        sort_out_used();
        if (index >= 0 && !unused_[static_cast<size_t>(index)].empty()) {
            auto& unused = unused_[static_cast<size_t>(index)];
            pinned.device_ = unused.back().device;
            pinned.data_ = unused.back().data;
            unused.pop_back();
            unused_bytes_ -= size;
        }
    }
    if (pinned.data_ == nullptr) {
        pinned.data_ = static_cast<std::byte*>(driver_.alloc_host(device, size));
    }
    pinned.pool_ = this;
    return pinned;
}

size_t PinnedPool::unused_bytes() const {
    const Lock lock(mutex_);
    return unused_bytes_;
}

void PinnedPool::keep_or_free(const Block& block) {
    const int index = size_index(block.size);
    if (index >= 0 && unused_bytes_ + block.size <= max_unused) {
        try {
            unused_[static_cast<size_t>(index)].push_back(
                {block.device, block.data, block.size, nullptr});
            unused_bytes_ += block.size;
            return;
        } catch (const std::bad_alloc&) {
        }
    }
    driver_.free_host(block.device, block.data);
}

void PinnedPool::sort_out_used() {
    std::erase_if(used_, [this](const Block& block) TUTTI_REQUIRES(mutex_) {
        if (!has_passed(block.last_use)) return false;
        keep_or_free(block);
        return true;
    });
}

void PinnedPool::give(Block block) noexcept {
    const Lock lock(mutex_);
    if (has_passed(block.last_use)) return keep_or_free(block);
    try {
        used_.push_back(block);
    } catch (const std::bad_alloc&) {  // it stays lost: a device may write to it
    }
}

}  // namespace tutti::device
