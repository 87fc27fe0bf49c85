// What the null backend does to memory when all ranks of a collective have come. Any thread.
#pragma once

#include <vector>

#include "call/flat.hpp"

namespace tutti::test {

// The calls of all ranks, by rank, which are alike; of the kinds that null_capabilities() has.
void move_data(const std::vector<const FlatCall*>& calls);

}  // namespace tutti::test
