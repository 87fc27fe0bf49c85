#include "size_matrix.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "call/fingerprint.hpp"

namespace tutti::shm {

namespace {

void check(const Team& team, const SizeMatrix& sizes, tutti_dtype dtype) {
    for (size_t from = 0; from < sizes.ranks(); ++from) {
        for (size_t to = 0; to < sizes.ranks(); ++to) {
            if (sizes.sent(from, to) == sizes.expected(from, to)) continue;
            const int sender = team.group_rank(static_cast<int>(from));
            const int receiver = team.group_rank(static_cast<int>(to));
            const bool is_sender = static_cast<int>(from) == team.rank();
            throw Error(size_mismatch(sender, sizes.sent(from, to), receiver,
                                      sizes.expected(from, to), dtype,
                                      is_sender ? receiver : sender));
        }
    }
}

}  // namespace

SizeMatrix agree_on_sizes(Team& team, std::span<const ConstBytes> inputs,
                          std::span<const Bytes> outputs, tutti_dtype dtype) {
    SizeMatrix sizes(inputs.size());
    const std::span<uint64_t> mine = sizes.row(static_cast<size_t>(team.rank()));
    std::ranges::transform(inputs, mine.begin(), &ConstBytes::size);
    std::ranges::transform(outputs, mine.subspan(inputs.size()).begin(), &Bytes::size);
    const uint64_t step = team.take(1);
    const size_t bytes = mine.size_bytes();
    std::ranges::copy(std::as_bytes(mine), team.stage(step, bytes).begin());
    team.post(step);
    for (int rank = 0; rank < team.size(); ++rank) {
        if (rank == team.rank()) continue;
        std::ranges::copy(team.await(rank, step, bytes),
                          std::as_writable_bytes(sizes.row(static_cast<size_t>(rank))).begin());
    }
    team.finish(step, bytes);
    check(team, sizes, dtype);
    return sizes;
}

}  // namespace tutti::shm
