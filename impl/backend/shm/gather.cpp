// Every rank but the destination shows its data, which the destination copies.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void gather(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
            int destination) {
    const size_t length = chunk_for(longest, team.size());
    const size_t steps = pieces_of(longest, length);
    const Stores stores = stores_for(longest * static_cast<size_t>(team.size()));
    const uint64_t first = team.take(steps);
    for (size_t index = 0; index < steps; ++index) {
        const uint64_t step = first + index;
        if (team.rank() != destination) {
            const ConstBytes piece = piece_of(input, index, length);
            algorithm::copy(team.stage(step, piece.size()), piece);
            team.post(step);
        }
        for (int peer = 0; team.rank() == destination && peer < team.size(); ++peer) {
            if (peer == destination) continue;
            const Bytes piece = piece_of(outputs[static_cast<size_t>(peer)], index, length);
            copy_out(piece, team.await(peer, step, piece.size()), stores);
        }
        team.finish(step, std::min(longest, length));
    }
    if (team.rank() == destination) {
        algorithm::copy(outputs[static_cast<size_t>(destination)], input);
    }
}

}  // namespace tutti::shm
