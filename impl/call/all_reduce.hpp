// all_reduce, as data.
#pragma once

#include "fingerprint.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct AllReduce {
    ConstView input;  // the same memory as output: in place
    View output;
    ReduceOp op = TUTTI_SUM;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllReduce& call, int rank, int size);
inline const char* call_name(const AllReduce&) {
    return "all_reduce";
}
inline Fingerprint fingerprint(const AllReduce& call) {
    return {CallKind::AllReduce, call.output.dtype, call.op.fingerprint(), -1, call.output.count};
}

}  // namespace tutti
