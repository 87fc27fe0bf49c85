// In each step a rank posts a piece for every other, all of one length. That works in place as
// well: memory is overwritten after it was posted. Or a rank publishes the address of all its
// pieces.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

void all_to_all_by_slots(Team& team, std::span<const ConstBytes> inputs,
                         std::span<const Bytes> outputs) {
    const auto ranks = static_cast<size_t>(team.size());
    const auto own = static_cast<size_t>(team.rank());
    const size_t length = share_of(chunk_bytes, team.size());
    const size_t total = inputs.front().size();
    team.log_algorithm(OperationKind::AllToAll, total * ranks, "staged");
    const Stores stores = stores_for(total * ranks, team.size());
    const auto all_of = [&](size_t index) { return ranks * stride_of(total, index, length); };
    const auto stage = [&](uint64_t step, size_t index) {
        const Bytes mine = team.stage(step, all_of(index));
        for (size_t rank = 0; rank < ranks; ++rank) {
            if (rank == own) continue;
            const ConstBytes piece = piece_of(inputs[rank], index, length);
            copy_in(mine.subspan(rank * piece.size(), piece.size()), piece);
        }
        team.post(step);
    };
    const auto read = [&](uint64_t step, size_t index) {
        for (int turn = 1; turn < team.size(); ++turn) {
            const int peer = algorithm::around(team.rank(), turn, team.size());
            const Bytes piece = piece_of(outputs[static_cast<size_t>(peer)], index, length);
            const ConstBytes all = team.await(peer, step, all_of(index));
            copy_out(piece, all.subspan(own * piece.size(), piece.size()), stores);
        }
        team.finish(step, all_of(index));
    };
    pipeline(team, pieces_of(total, length), stage, read);
    copy_data(outputs[own], inputs[own], stores);
}

// False if some rank has its inputs in the place of its outputs, or not in one piece of memory.
bool all_to_all_directly(Team& team, std::span<const ConstBytes> inputs,
                         std::span<const Bytes> outputs) {
    const auto own = static_cast<size_t>(team.rank());
    const size_t bytes = algorithm::total_size<const std::byte>(inputs);
    const std::byte* const begin = inputs.front().data();
    DirectRead direct(team, OperationKind::AllToAll, bytes);
    if (begin != outputs.front().data() && algorithm::follow_each_other(inputs)) {
        direct.show({begin, bytes});
    } else {
        direct.show_nothing();
    }
    if (direct.find_all() == DirectRead::Reach::None) return false;
    const size_t length = inputs[own].size();
    const Stores stores = stores_for(bytes, team.size());
    copy_data(outputs[own], inputs[own], stores);
    for (int turn = 1; turn < team.size(); ++turn) {
        const int peer = algorithm::around(team.rank(), turn, team.size());
        direct.read(peer, own * length, outputs[static_cast<size_t>(peer)], stores);
    }
    direct.finish_together();
    return true;
}

}  // namespace

void all_to_all(Team& team, std::span<const ConstBytes> inputs, std::span<const Bytes> outputs) {
    const size_t bytes = algorithm::total_size<const std::byte>(inputs);
    const bool looks = DirectRead::is_for(team, OperationKind::AllToAll, bytes);
    if (!looks || !all_to_all_directly(team, inputs, outputs))
        all_to_all_by_slots(team, inputs, outputs);
}

}  // namespace tutti::shm
