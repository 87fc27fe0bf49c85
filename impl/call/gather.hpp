// gather, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct Gather {
    ConstView input;  // the same memory as outputs[destination]: in place
    Views outputs;    // of every rank, on the destination; elsewhere none
    int destination = 0;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const Gather& call, int rank, int size);
inline const char* call_name(const Gather&) {
    return "gather";
}
inline Fingerprint fingerprint(const Gather& call) {
    return {CallKind::Gather, call.input.dtype, 0, call.destination, call.input.count};
}

}  // namespace tutti
