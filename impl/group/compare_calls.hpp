// Steps that the ranks of a group take by its membership, without a backend, in the turn of a
// collective. The caller's thread.
#pragma once

#include <cstdint>

#include "base/deadline.hpp"
#include "call/fingerprint.hpp"
#include "core.hpp"

namespace tutti {

// All ranks learn what each has called, before any data move. Throws MISMATCH if they differ.
void compare_calls(GroupCore& group, const Fingerprint& call, uint64_t sequence,
                   const Deadline& until);

// All ranks arrive. TIMEOUT names the rank that has not, or, of rank 0 that waits for all of them,
// all that have not: rank 0 decides when to give up.
void take_barrier_step(GroupCore& group, const Fingerprint& call, uint64_t sequence,
                       bool wait_all_ranks, const Deadline& until);

// All ranks arrive, whenever that is.
void await_breakpoint_end(GroupCore& group, const Fingerprint& call, uint64_t sequence);

}  // namespace tutti
