// Where an address that the program gave is: in memory of ours, or in other memory of the host.
#pragma once

#include "model.hpp"

namespace tutti::cuda {

struct Place {
    std::shared_ptr<Allocation> allocation;  // null: other memory
    size_t offset = 0;
    char* real = nullptr;  // where this library finds it

    Touch touch(size_t bytes, bool writes) const {
        return {allocation, {offset, offset + bytes, writes, false}};
    }
};

// These bytes. Those outside of an allocation, or of one that was freed, are reported.
Result find(DevicePointer address, size_t bytes, Place* place);
// The same, where other memory of the host is wrong too.
Result find_ours(DevicePointer address, size_t bytes, Place* place);

}  // namespace tutti::cuda
