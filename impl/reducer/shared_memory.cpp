#include "shared_memory.hpp"

#include "group/alloc_memory.hpp"
#include "memory/held_memory.hpp"

namespace tutti {

SharedMemory::SharedMemory(Group& group, size_t size) : segment_(alloc_memory(group, size, 0)) {}

SharedMemory::~SharedMemory() {
    HeldMemory::of_process().release(data());
}

}  // namespace tutti
