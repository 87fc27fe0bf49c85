// Every rank but the destination shows its data, which the destination copies.
#include "collectives.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

void gather(Team& team, const Gather& call) {
    const ConstBytes input = call.input.bytes();
    const size_t length = chunk_for(input.size(), team.size());
    const size_t steps = pieces_of(input.size(), length);
    const uint64_t first = team.take(steps);
    const bool is_destination = team.rank() == call.destination;
    for (size_t index = 0; index < steps; ++index) {
        const uint64_t step = first + index;
        const ConstBytes piece = piece_of(input, index, length);
        if (is_destination) {
            for (int peer = 0; peer < team.size(); ++peer) {
                if (peer == team.rank()) continue;
                const Bytes output = call.outputs[static_cast<size_t>(peer)].bytes();
                algorithm::copy(piece_of(output, index, length),
                                team.await(peer, step, piece.size()));
            }
        } else {
            algorithm::copy(team.stage(step, piece.size()), piece);
            team.post(step);
        }
        team.finish(step, piece.size());
    }
    if (is_destination) {
        algorithm::copy(call.outputs[static_cast<size_t>(team.rank())].bytes(), input);
    }
}

}  // namespace tutti::shm
