// Every rank but the destination shows its data, which the destination copies.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void gather(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
            int destination) {
    const size_t length = one_way_chunk_for(longest, team.size());
    const Stores stores = stores_for(longest * static_cast<size_t>(team.size()), team.size());
    in_steps(team, pieces_of(longest, length), [&](uint64_t step, size_t index) {
        if (team.rank() != destination) show(team, step, piece_of(input, index, length));
        for (int peer = 0; team.rank() == destination && peer < team.size(); ++peer) {
            if (peer == destination) continue;
            const Bytes piece = piece_of(outputs[static_cast<size_t>(peer)], index, length);
            copy_out(piece, team.await(peer, step, piece.size()), stores);
        }
        team.finish(step, std::min(longest, length));
    });
    if (team.rank() == destination) {
        algorithm::copy(outputs[static_cast<size_t>(destination)], input);
    }
}

}  // namespace tutti::shm
