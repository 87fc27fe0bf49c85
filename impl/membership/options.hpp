// Options that must be the same on all ranks: lines of "options.reproducible is 1". Any thread.
#pragma once

#include <string>
#include <vector>

namespace tutti::membership {

// Throws MISMATCH, showing both sides of the first line that differs.
void compare_options(const std::vector<std::string>& of_ranks);

}  // namespace tutti::membership
