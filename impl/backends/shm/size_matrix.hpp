// The sizes that every rank sends to every other in an all_to_all. At first only the two ranks know
// each; ranks exchange their rows. On the thread of the call; throws what Team throws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "team.hpp"

namespace tutti::shm {

class SizeMatrix {
public:
    explicit SizeMatrix(size_t ranks) : ranks_(ranks), rows_(2 * ranks * ranks) {}

    [[nodiscard]] size_t ranks() const { return ranks_; }
    // In bytes, from `from` to `to`: as the sender says and as the receiver does.
    [[nodiscard]] uint64_t sent(size_t from, size_t to) const {
        return rows_[2 * ranks_ * from + to];
    }
    [[nodiscard]] uint64_t expected(size_t from, size_t to) const {
        return rows_[2 * ranks_ * to + ranks_ + from];
    }
    // The row of that rank: its sizes to every rank, then its expected sizes from each.
    std::span<uint64_t> row(size_t rank) {
        return std::span(rows_).subspan(2 * ranks_ * rank, 2 * ranks_);
    }

private:
    size_t ranks_;
    std::vector<uint64_t> rows_;
};

// The same on all ranks. Throws MISMATCH, also the same on all, if two of them disagree; `dtype` is
// for the wording.
SizeMatrix agree_on_sizes(Team& team, std::span<const ConstBytes> inputs,
                          std::span<const Bytes> outputs, tutti_dtype dtype);

}  // namespace tutti::shm
