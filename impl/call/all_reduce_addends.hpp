// all_reduce_addends, as data: an all_reduce to which each rank contributes as many inputs as it
// has.
#pragma once

#include "fingerprint.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct AllReduceAddends {
    static constexpr size_t max_inputs = 2048;  // of a rank
    ConstViews inputs;                          // each like output, and one may be output itself
    View output;
    ReduceOp op = TUTTI_SUM;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllReduceAddends& call, int rank, int size);
// The number of inputs that this rank of the group sent; throws BACKEND if it is too high.
size_t checked_input_count(uint64_t count, int rank);
inline const char* call_name(const AllReduceAddends&) {
    return "all_reduce_addends";
}
// Ranks may differ in the number of inputs.
inline Fingerprint fingerprint(const AllReduceAddends& call) {
    return {CallKind::AllReduceAddends, call.output.dtype, call.op.fingerprint(), -1,
            call.output.count};
}

}  // namespace tutti
