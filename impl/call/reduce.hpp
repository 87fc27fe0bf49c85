// reduce, as data.
#pragma once

#include "fingerprint.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct Reduce {
    ConstView input;  // the same memory as output: in place
    View output;      // of the destination; elsewhere of no account
    ReduceOp op = TUTTI_SUM;
    int destination = 0;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const Reduce& call, int rank, int size);
inline const char* call_name(const Reduce&) {
    return "reduce";
}
inline Fingerprint fingerprint(const Reduce& call) {
    return {CallKind::Reduce, call.input.dtype, call.op.fingerprint(), call.destination,
            call.input.count};
}

}  // namespace tutti
