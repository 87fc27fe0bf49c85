// Several collectives that are issued as one, as data: each of them was checked and lowered before,
// and none is a Coalesced.
#pragma once

#include <vector>

#include "flat.hpp"

namespace tutti {

struct Coalesced {
    std::vector<FlatCall> calls;
};

inline void check(const Coalesced& /*call*/, int /*rank*/, int /*size*/) {}
inline const char* call_name(const Coalesced&) {
    return "coalesced";
}
Fingerprint fingerprint(const Coalesced& call);

}  // namespace tutti
