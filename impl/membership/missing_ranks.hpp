// Errors about ranks that are missing, have left or are lost. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tutti::membership {

// "1, 2".
std::string list_of_ranks(const std::vector<int>& ranks);
std::vector<int> ranks_of_text(const std::string& list);
// "timed out waiting for ranks 1, 2, which have not joined", with `not_done` "joined"; a list may
// have ranges ("1-3").
std::string text_of_wait(const std::string& ranks, const std::string& not_done);
// TIMEOUT; `ranks` is such a list, not empty; `refused` names the ranks that were refused.
Error missing_ranks_error(const std::string& ranks, const std::string& refused = "");

// PEER_LOST.
Status left_error(int rank);
Status all_others_left_error();
Status death_error(int rank, const Status& why);
Status silence_error(int rank, int64_t timeout_ms);
// With its whole host.
Status is_cut_off(int rank, const Status& why);

// Of a process that did not run, and may have been given up by others that have ended since.
Status slept_error();

// ABORTED: of a rank that lives, and was lost all the same.
Status ruled_out_error(int rank, const Status& loss);

}  // namespace tutti::membership
