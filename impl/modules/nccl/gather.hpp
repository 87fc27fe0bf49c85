// What all ranks tell each other while the backend is opened or split.
#pragma once

#include <vector>

#include "library.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// The values of `size` ranks, in their order. Throws Failure.
template <typename Value>
std::vector<Value> all_gather(const tutti_backend_place& place, int size, const Value& mine) {
    std::vector<Value> all(static_cast<size_t>(size));
    tutti_error error{};
    error.struct_size = sizeof error;
    const tutti_status status =
        place.host->all_gather(&place, &mine, sizeof mine, all.data(), &error);
    if (status != TUTTI_OK) throw Failure{status, 0, error.message};
    return all;
}

}  // namespace tutti::nccl
