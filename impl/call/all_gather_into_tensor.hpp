// all_gather_into_tensor, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct AllGatherIntoTensor {
    ConstView input;  // the same memory as this rank's part of output: in place
    View output;      // one part for each rank
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllGatherIntoTensor& call, int rank, int size);
inline const char* call_name(const AllGatherIntoTensor&) {
    return "all_gather_into_tensor";
}
inline Fingerprint fingerprint(const AllGatherIntoTensor& call) {
    return {CallKind::AllGatherIntoTensor, call.input.dtype, 0, -1, call.input.count};
}

}  // namespace tutti
