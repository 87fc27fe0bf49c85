// reduce_scatter, as data.
#pragma once

#include "fingerprint.hpp"
#include "reduce/reduce_op.hpp"
#include "view.hpp"

namespace tutti {

struct ReduceScatter {
    ConstViews inputs;  // for every rank; they may differ in count
    View output;        // the same memory as inputs[rank]: in place
    ReduceOp op = TUTTI_SUM;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const ReduceScatter& call, int rank, int size);
inline const char* call_name(const ReduceScatter&) {
    return "reduce_scatter";
}
Fingerprint fingerprint(const ReduceScatter& call);

}  // namespace tutti
