// all_to_all_single, as data.
#pragma once

#include <vector>

#include "fingerprint.hpp"
#include "view.hpp"

namespace tutti {

struct AllToAllSingle {
    ConstView input;  // the same memory as output: in place
    View output;
    std::vector<int64_t> input_splits;  // elements for every rank; none: equal parts
    std::vector<int64_t> output_splits;

    // All ranks must agree on it.
    [[nodiscard]] bool is_even() const { return input_splits.empty() && output_splits.empty(); }
    [[nodiscard]] bool is_in_place() const {
        return input.data == output.data && input.count == output.count;
    }
};

// Throws INVALID_ARGUMENT, naming the argument, for errors known before any data move.
void check(const AllToAllSingle& call, int rank, int size);
inline const char* call_name(const AllToAllSingle&) {
    return "all_to_all_single";
}
Fingerprint fingerprint(const AllToAllSingle& call);

}  // namespace tutti
