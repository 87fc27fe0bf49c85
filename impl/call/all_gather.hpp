// all_gather, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct AllGather {
    ConstView input;  // the same memory as outputs[rank]: in place
    Views outputs;    // of every rank; they may differ in count
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllGather& call, int rank, int size);
inline const char* call_name(const AllGather&) {
    return "all_gather";
}
Fingerprint fingerprint(const AllGather& call);

}  // namespace tutti
