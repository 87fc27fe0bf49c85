// What all ranks tell each other while the backend is opened or split, or shares memory.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "library.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// So many bytes of each rank, in the order of the ranks. Throws Failure.
inline void all_gather(const tutti_backend_place& place, const void* mine, size_t bytes,
                       void* all) {
    tutti_error error{};
    error.struct_size = sizeof error;
    const tutti_status status = place.host->all_gather(&place, mine, bytes, all, &error);
    if (status != TUTTI_OK) throw Failure{status, 0, error.message};
}

// The values of `size` ranks.
template <typename Value>
std::vector<Value> all_gather(const tutti_backend_place& place, int size, const Value& mine) {
    static_assert(std::has_unique_object_representations_v<Value>);  // no padding goes with it
    std::vector<Value> all(static_cast<size_t>(size));
    all_gather(place, &mine, sizeof mine, all.data());
    return all;
}

// The same, for as many bytes as all ranks give.
inline std::vector<std::string> all_gather(const tutti_backend_place& place, int size,
                                           const std::string& mine) {
    std::string all(mine.size() * static_cast<size_t>(size), '\0');
    all_gather(place, mine.data(), mine.size(), all.data());
    std::vector<std::string> parts;
    for (size_t at = 0; at < all.size(); at += mine.size()) {
        parts.push_back(all.substr(at, mine.size()));
    }
    return parts;
}

}  // namespace tutti::nccl
