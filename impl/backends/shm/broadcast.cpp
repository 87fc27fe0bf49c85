// The source shows the data piece by piece, or where they are, and the others copy them.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

void broadcast_by_slots(Team& team, Bytes data, int source) {
    team.log_algorithm(OperationKind::Broadcast, data.size(), "staged");
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

// False: the source has the data where the others do not read them.
bool broadcast_directly(Team& team, Bytes data, int source) {
    DirectRead direct(team, OperationKind::Broadcast, data.size());
    if (team.rank() == source) direct.show(data);
    if (direct.find(source) == DirectRead::Reach::None) return false;
    if (team.rank() == source) {
        direct.finish_unread();
    } else {
        direct.read(source, 0, data, stores_for(data.size(), team.size()));
        direct.finish();
    }
    return true;
}

}  // namespace

void broadcast(Team& team, Bytes data, int source) {
    const bool looks = DirectRead::is_for(team, OperationKind::Broadcast, data.size());
    if (!looks || !broadcast_directly(team, data, source)) broadcast_by_slots(team, data, source);
}

}  // namespace tutti::shm
