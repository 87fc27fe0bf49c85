// all_to_all, as data.
#pragma once

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct AllToAll {
    ConstViews inputs;  // for every rank; all of them the same memory as outputs: in place
    Views outputs;      // of every rank

    [[nodiscard]] bool is_in_place() const;
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllToAll& call, int rank, int size);
inline const char* call_name(const AllToAll&) {
    return "all_to_all";
}
// Only two ranks know what goes between them; Exchange::swap compares it.
Fingerprint fingerprint(const AllToAll& call);

}  // namespace tutti
