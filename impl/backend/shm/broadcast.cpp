// The source shows its data, a piece a step; it does not wait for those who read unless they are a
// whole ring behind.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void broadcast(Team& team, Bytes data, int source) {
    const size_t length = chunk_for(data.size(), team.size());
    const size_t steps = pieces_of(data.size(), length);
    const Stores stores = stores_for(data.size());
    const uint64_t first = team.take(steps);
    for (size_t index = 0; index < steps; ++index) {
        const uint64_t step = first + index;
        const Bytes piece = piece_of(data, index, length);
        if (team.rank() == source) {
            algorithm::copy(team.stage(step, piece.size()), piece);
            team.post(step);
        } else {
            copy_out(piece, team.await(source, step, piece.size()), stores);
        }
        team.finish(step, piece.size());
    }
}

}  // namespace tutti::shm
