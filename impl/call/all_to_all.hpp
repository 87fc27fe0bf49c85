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

// Throws INVALID_ARGUMENT, naming the argument, for what can be known before anything moves.
void check(const AllToAll& call, int rank, int size);
inline const char* call_name(const AllToAll&) {
    return "all_to_all";
}
// What goes from one rank to another only these two know; Exchange::swap compares it.
Fingerprint fingerprint(const AllToAll& call);

}  // namespace tutti
