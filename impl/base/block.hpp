// Bytes that grow without being cleared or, where the system can, moved. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tutti {

class Block {
public:
    Block() = default;
    explicit Block(size_t size) { grow(size); }

    // Bytes that are new are as they come.
    void grow(size_t size) {
        if (size <= size_) return;
        void* moved = std::realloc(memory_.get(), size);
        if (moved == nullptr) throw std::bad_alloc();
        static_cast<void>(memory_.release());
        memory_.reset(static_cast<std::byte*>(moved));
        size_ = size;
    }

    [[nodiscard]] std::byte* data() const { return memory_.get(); }
    [[nodiscard]] size_t size() const { return size_; }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::unique_ptr<std::byte[], Free> memory_;
    size_t size_ = 0;
};

// Bytes that came from elsewhere. The block has at least one more, so that a NUL may stand behind
// them.
struct OwnedBytes {
    Block block;
    size_t size = 0;

    OwnedBytes() = default;
    explicit OwnedBytes(size_t size_) : block(size_ + 1), size(size_) {}

    [[nodiscard]] std::span<std::byte> bytes() const { return {block.data(), size}; }
};

}  // namespace tutti
