// In each step the source shows a piece for every rank.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void scatter(Team& team, std::span<const ConstBytes> inputs, Bytes output, size_t longest,
             int source) {
    const auto ranks = static_cast<size_t>(team.size());
    const auto own = static_cast<size_t>(team.rank());
    const size_t length = share_of(chunk_bytes, team.size());
    const Stores stores = stores_for(output.size(), team.size());
    in_steps(team, pieces_of(longest, length), [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        if (team.rank() == source) {
            const Bytes mine = team.stage(step, ranks * stride);
            for (size_t rank = 0; rank < ranks; ++rank) {
                if (rank == own) continue;
                const ConstBytes piece = piece_of(inputs[rank], index, length);
                copy_in(mine.subspan(rank * stride, piece.size()), piece);
            }
            team.post(step);
        } else {
            const Bytes piece = piece_of(output, index, length);
            const ConstBytes all = team.await(source, step, ranks * stride);
            copy_out(piece, all.subspan(own * stride, piece.size()), stores);
        }
        team.finish(step, ranks * stride);
    });
    if (team.rank() == source) algorithm::copy(output, inputs[own]);
}

}  // namespace tutti::shm
