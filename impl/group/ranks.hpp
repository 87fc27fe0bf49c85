// Lists of ranks: as text, and checked. Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace tutti {

// 0 to size - 1.
std::vector<int> all_ranks(int size);

// "0-3, 7".
std::string ranks_text(std::span<const int> ranks);

// TIMEOUT of the first of them: "timed out waiting for ranks 1-3, which have not called barrier",
// with `not_done` "called barrier".
Status awaited_in_vain(std::span<const int> ranks, const std::string& not_done);

// Sorted. INVALID_ARGUMENT naming the element ("ranks[2] is 9; ...") for one that is not a rank of
// a group of `size`, or occurs twice. `first` is the index of the first in the caller's array,
// which is called `name`.
std::vector<int> checked_ranks(std::span<const int> ranks, int size, size_t first = 0,
                               const char* name = "ranks");

}  // namespace tutti
