// Every rank but the destination shows its data, or where they are, and the destination copies
// them.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

// False: some rank has its data where the destination does not read them.
bool gather_directly(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
                     int destination) {
    DirectRead direct(team, OperationKind::Gather, longest);
    const bool is_destination = team.rank() == destination;
    direct.show(is_destination ? ConstBytes{} : input);
    if (direct.find_all() == DirectRead::Reach::None) return false;
    const Stores stores = stores_for(longest * static_cast<size_t>(team.size()), team.size());
    for (int peer = 0; is_destination && peer < team.size(); ++peer) {
        if (peer != destination) direct.read(peer, 0, outputs[static_cast<size_t>(peer)], stores);
    }
    direct.finish_together();
    return true;
}

void gather_by_slots(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
                     int destination) {
    team.log_algorithm(OperationKind::Gather, longest, "staged");
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
}

}  // namespace

void gather(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
            int destination) {
    const bool looks = DirectRead::is_for(team, OperationKind::Gather, longest);
    if (!looks || !gather_directly(team, input, outputs, longest, destination)) {
        gather_by_slots(team, input, outputs, longest, destination);
    }
    if (team.rank() == destination) {
        copy(outputs[static_cast<size_t>(destination)], input);
    }
}

}  // namespace tutti::shm
