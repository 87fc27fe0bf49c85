// The source shows the data piece by piece, or where they are, and the others copy them.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

namespace {

void broadcast_by_slots(Team& team, Bytes data, int source) {
    const size_t length = one_way_chunk_for(data.size(), team.size());
    const Stores stores = stores_for(data.size(), team.size());
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

void broadcast_directly(Team& team, Bytes data, int source) {
    Direct direct(team);
    if (team.rank() == source) {
        direct.show(data.data());
        direct.finish_unread();
    } else {
        direct.find(source);
        direct.read(source, 0, data);
        direct.finish();
    }
}

}  // namespace

void broadcast(Team& team, Bytes data, int source) {
    const bool direct = team.way(Op::Broadcast, data.size()) == Way::Direct;
    (direct ? broadcast_directly : broadcast_by_slots)(team, data, source);
}

}  // namespace tutti::shm
