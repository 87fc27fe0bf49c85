// The word of a launcher to the ranks of its job that still meet at its store: another rank has
// ended with exit code 0. They would wait for it. Any thread.
#pragma once

#include <optional>
#include <string>

#include "store.hpp"

namespace tutti {

// In front of the default group's keys, as PyTorch has it.
inline constexpr const char* default_group_prefix = "default_pg";

// To the store itself, once for each rank that ends; the first one counts.
void tell_end(Store& whole, int rank, const Deadline& deadline);
// By the store of the default group: the first rank that has ended, if there is one.
std::optional<int> read_end(Store& of_group, const Deadline& deadline);

}  // namespace tutti
