// scatter, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct Scatter {
    ConstViews inputs;  // for every rank, on the source; elsewhere none
    View output;        // the same memory as inputs[source]: in place
    int source = 0;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const Scatter& call, int rank, int size);
inline const char* call_name(const Scatter&) {
    return "scatter";
}
inline Fingerprint fingerprint(const Scatter& call) {
    return {CallKind::Scatter, call.output.dtype, 0, call.source, call.output.count};
}

}  // namespace tutti
