// reduce_scatter_tensor, as data.
#pragma once

#include "fingerprint.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct ReduceScatterTensor {
    ConstView input;  // one part for each rank
    View output;      // the same memory as this rank's part of input: in place
    ReduceOp op = TUTTI_SUM;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const ReduceScatterTensor& call, int rank, int size);
inline const char* call_name(const ReduceScatterTensor&) {
    return "reduce_scatter_tensor";
}
inline Fingerprint fingerprint(const ReduceScatterTensor& call) {
    return {CallKind::ReduceScatterTensor, call.output.dtype, call.op.fingerprint(), -1,
            call.output.count};
}

}  // namespace tutti
