// Where a rank is, in words: its call or its last one, and what became of its process. Any thread.
#pragma once

#include <string>

#include "job.hpp"

namespace tutti::trace {

// The call that a member waits in: the first that it began on no background's behalf, else the
// first in the background. Null: it is in none.
const Call* call_of(const Member& member);

// "its last call, #16, completed 12.1 s ago; it was killed by signal 9 (SIGKILL)"; `name`: the call
// that is asked for, in the group of `slot`, or -1.
std::string whereabouts(const Job& job, const Member& member, int slot, const std::string& name);

// "it was killed by signal 9 (SIGKILL)"; empty if it runs, as far as is known.
std::string fate(const Member& member);

}  // namespace tutti::trace
