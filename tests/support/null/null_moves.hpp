// The moves of the null backend in memory when all ranks of a collective have come. Any thread.
#pragma once

#include <tutti/ext.h>

#include <vector>

namespace null {

using Calls = std::vector<const tutti_backend_call*>;

// The calls of all ranks, by rank, which are alike; of the kinds that the backend says it has.
void move_data(const tutti_backend_host& host, const Calls& calls);

}  // namespace null
