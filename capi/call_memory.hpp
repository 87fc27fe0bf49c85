// Memory on the stack for the lists of one call, which seldom need more. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace tutti::capi {

class CallMemory {
public:
    [[nodiscard]] std::pmr::memory_resource* lists() { return &lists_; }

private:
    // Not cleared: calls are made often.
    alignas(std::max_align_t) std::array<std::byte, 2048> room_;
    std::pmr::monotonic_buffer_resource lists_{room_.data(), room_.size()};
};

}  // namespace tutti::capi
