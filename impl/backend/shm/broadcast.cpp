// The source shows its data, a piece a step; it does not wait for those who read unless they are a
// whole ring behind.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void broadcast(Team& team, Bytes data, int source) {
    const size_t length = chunk_for(data.size(), team.size());
    const Stores stores = stores_for(data.size());
    in_steps(team, pieces_of(data.size(), length), [&](uint64_t step, size_t index) {
        const Bytes piece = piece_of(data, index, length);
        if (team.rank() == source) {
            show(team, step, piece);
        } else {
            copy_out(piece, team.await(source, step, piece.size()), stores);
        }
        team.finish(step, piece.size());
    });
}

}  // namespace tutti::shm
