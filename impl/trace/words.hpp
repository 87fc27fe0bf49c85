// The words for calls, ranks and times that the sentences are made of. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording.hpp"

namespace tutti::trace {

// "all_reduce", "send".
std::string call_name(const Call& call);
// "all_reduce #17", "recv from rank 3 with tag 7"; ranks are those of the first group.
std::string title(const Call& call, const Group& group);
// The same with " of group world", where the call has one, and the user's tag.
std::string full_title(const Call& call, const Group& group);
// With dtype, count, op and root: "all_reduce #17 (float32 × 100, SUM)".
std::string description(const Call& call);

// "of group world".
std::string of_group(const std::string& name);
// "rank 2", "ranks 0, 1 and 3", "ranks 0 to 62 and 64". `ranks` is in order.
std::string ranks_text(const std::vector<int>& ranks);
// "has waited" or "have waited".
const char* has(const std::vector<int>& ranks);
const char* is(const std::vector<int>& ranks);
// "12.3 s", "45 ms".
std::string duration_text(int64_t nanoseconds);
// "TIMEOUT".
std::string status_text(int status);
const char* state_text(const Call& call);
// "a, b and c".
std::string enumerate(const std::vector<std::string>& texts);

}  // namespace tutti::trace
