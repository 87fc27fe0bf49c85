// How it is worded that ranks did not come in time, or are gone. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tutti::membership {

// "1, 2".
std::string list_of_ranks(const std::vector<int>& ranks);
// TIMEOUT; `ranks` is such a list, of one or more; `refused` tells who came and did not belong.
Error have_not_come(const std::string& ranks, const std::string& refused = "");

// PEER_LOST.
Status has_left(int rank);
Status all_others_have_left();
Status has_died(int rank, const Status& why);
Status is_silent(int rank, int64_t limit_ms);

}  // namespace tutti::membership
