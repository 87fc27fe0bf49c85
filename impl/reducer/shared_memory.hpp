// Memory that all ranks of a host see, as of tutti_memory_alloc. All ranks make it.
#pragma once

#include <cstddef>
#include <memory>

#include "group/group.hpp"
#include "memory/segment.hpp"

namespace tutti {

class SharedMemory {
public:
    SharedMemory(Group& group, size_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(segment_->data()); }
    // Frees its pages, and is not shared any more. Who still reads here finds zeros.
    void give_up() noexcept { segment_->give_up(); }

private:
    const std::shared_ptr<shm::Segment> segment_;
};

}  // namespace tutti
