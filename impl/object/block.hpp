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

// The bytes of a message, in a block that has one more for the NUL of a last string.
struct Message {
    Block block;
    size_t size = 0;

    [[nodiscard]] std::span<std::byte> bytes() const { return {block.data(), size}; }
};

}  // namespace tutti
