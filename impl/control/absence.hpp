// How it is worded that ranks did not come in time. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tutti::control {

// "1, 2".
std::string list_of_ranks(const std::vector<int>& ranks);
// TIMEOUT; `ranks` is such a list, of one or more; `refused` tells who came and did not belong.
Error have_not_come(const std::string& ranks, const std::string& refused = "");

}  // namespace tutti::control
