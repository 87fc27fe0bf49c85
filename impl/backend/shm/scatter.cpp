// In each step the source shows a piece for every rank.
#include "collectives.hpp"
#include "pieces.hpp"

namespace tutti::shm {

void scatter(Team& team, const Scatter& call) {
    const Bytes output = call.output.bytes();
    const auto ranks = static_cast<size_t>(team.size());
    const size_t length = share_of(chunk_bytes, team.size());
    const size_t steps = pieces_of(output.size(), length);
    const uint64_t first = team.take(steps);
    for (size_t index = 0; index < steps; ++index) {
        const uint64_t step = first + index;
        const Bytes piece = piece_of(output, index, length);
        const size_t all = ranks * piece.size();
        if (team.rank() == call.source) {
            const Bytes mine = team.stage(step, all);
            for (size_t rank = 0; rank < ranks; ++rank) {
                algorithm::copy(mine.subspan(rank * piece.size(), piece.size()),
                                piece_of(call.inputs[rank].bytes(), index, length));
            }
            team.post(step);
        } else {
            algorithm::copy(
                piece, team.await(call.source, step, all)
                           .subspan(static_cast<size_t>(team.rank()) * piece.size(), piece.size()));
        }
        team.finish(step, all);
    }
    if (team.rank() == call.source) {
        algorithm::copy(output, call.inputs[static_cast<size_t>(team.rank())].bytes());
    }
}

}  // namespace tutti::shm
