// Memory of one value: pieces that never move and are freed together, and what it shares with
// others. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {

class Arena {
public:
    // Aligned for every dtype.
    std::byte* take(size_t size) {
        const size_t rounded = (size + alignment - 1) & ~(alignment - 1);
        if (rounded < size) throw std::bad_alloc();
        if (rounded > left_) return take_chunk(rounded);
        std::byte* place = next_;
        next_ += rounded;
        left_ -= rounded;
        return place;
    }

    // A copy with a NUL behind it.
    const char* copy_text(std::string_view text) {
        auto* place = reinterpret_cast<char*>(take(text.size() + 1));
        *std::copy(text.begin(), text.end(), place) = '\0';
        return place;
    }

    const void* copy_bytes(const void* data, size_t size) {
        std::byte* place = take(size);
        if (size > 0) std::memcpy(place, data, size);
        return place;
    }

    // Holds memory that the value lies in.
    void keep(std::shared_ptr<const void> memory) { kept_.push_back(std::move(memory)); }

private:
    static constexpr size_t alignment = 16;
    static constexpr size_t first_chunk = 512;
    static constexpr size_t largest_chunk = size_t{1} << 20;

    std::byte* take_chunk(size_t size) {
        // A large piece gets a chunk of its own, and the chunk that is in use stays so.
        const bool alone = size > chunk_ / 2;
        chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(alone ? size : chunk_));
        std::byte* place = chunks_.back().get();
        if (!alone) {
            next_ = place + size;
            left_ = chunk_ - size;
            chunk_ = std::min(2 * chunk_, largest_chunk);
        }
        return place;
    }

    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    std::vector<std::shared_ptr<const void>> kept_;
    std::byte* next_ = nullptr;
    size_t left_ = 0;
    size_t chunk_ = first_chunk;
};

}  // namespace tutti
