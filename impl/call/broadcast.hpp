// broadcast, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct Broadcast {
    View buffer;  // read on the source, written elsewhere
    int source = 0;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const Broadcast& call, int rank, int size);
inline const char* call_name(const Broadcast&) {
    return "broadcast";
}
inline Fingerprint fingerprint(const Broadcast& call) {
    return {CallKind::Broadcast, call.buffer.dtype, 0, call.source, call.buffer.count};
}

}  // namespace tutti
