// Memory that all ranks of a host see, as of tutti_memory_alloc. All ranks make it.
#pragma once

#include <cstddef>

#include "group/group.hpp"

namespace tutti {

class SharedMemory {
public:
    SharedMemory(Group& group, size_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }

private:
    std::byte* const data_;
};

}  // namespace tutti
