// In each step a rank shows a piece for every rank, and combines those for itself.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void reduce_scatter(Team& team, std::span<const ConstBytes> inputs, const View& output,
                    const ReduceOp& op) {
    const algorithm::Reduction reduction{output.dtype, op};
    const Bytes out = output.bytes();
    size_t longest = 0;
    for (const ConstBytes& input : inputs) longest = std::max(longest, input.size());
    const size_t length = share_of(chunk_bytes, team.size());
    const auto ranks = static_cast<size_t>(team.size());
    const Stores stores = stores_for(out.size());
    const auto stage = [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        const Bytes mine = team.stage(step, ranks * stride);
        for (size_t rank = 0; rank < ranks; ++rank) {
            const ConstBytes piece = piece_of(inputs[rank], index, length);
            reduction.begin(mine.subspan(rank * stride, piece.size()), piece);
        }
        team.post(step);
    };
    const auto read = [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        const Bytes piece = piece_of(out, index, length);
        const size_t begin = static_cast<size_t>(team.rank()) * stride;
        team.await_all(step);
        combine_all(
            reduction, piece, team.size(),
            [&](int rank) {
                return team.posted(rank, step, ranks * stride).subspan(begin, piece.size());
            },
            stores);
        team.finish(step, ranks * stride);
    };
    pipeline(team, pieces_of(longest, length), stage, read);
    reduction.finish(out, team.size());
}

}  // namespace tutti::shm
