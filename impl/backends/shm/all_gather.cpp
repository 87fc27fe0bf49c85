// Every rank shows its data, or where they are, and copies what the others show. The lengths may
// differ.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

void all_gather_by_slots(Team& team, ConstBytes input, std::span<const Bytes> outputs,
                         size_t longest) {
    team.log_algorithm(OperationKind::AllGather, longest, "staged");
    const size_t length = chunk_for(longest, team.size());
    const Stores stores = stores_for(algorithm::total_size<std::byte>(outputs), team.size());
    const Bytes place = outputs[static_cast<size_t>(team.rank())];
    const auto stage = [&](uint64_t step, size_t index) {
        show(team, step, piece_of(input, index, length));
    };
    const auto read = [&](uint64_t step, size_t index) {
        copy_data(piece_of(place, index, length), piece_of(input, index, length), stores);
        for (int turn = 1; turn < team.size(); ++turn) {
            const int peer = algorithm::around(team.rank(), turn, team.size());
            const Bytes piece = piece_of(outputs[static_cast<size_t>(peer)], index, length);
            copy_out(piece, team.await(peer, step, piece.size()), stores);
        }
        team.finish(step, std::min(longest, length));
    };
    pipeline(team, pieces_of(longest, length), stage, read);
}

// Also in place: a rank posts its own part, which no other writes. False: some rank has its data
// where the others do not read them.
bool all_gather_directly(Team& team, ConstBytes input, std::span<const Bytes> outputs,
                         size_t longest) {
    DirectRead direct(team, OperationKind::AllGather, longest);
    direct.show(input);
    if (direct.find_all() == DirectRead::Reach::None) return false;
    const Stores stores = stores_for(algorithm::total_size<std::byte>(outputs), team.size());
    copy_data(outputs[static_cast<size_t>(team.rank())], input, stores);
    for (int turn = 1; turn < team.size(); ++turn) {
        const int peer = algorithm::around(team.rank(), turn, team.size());
        direct.read(peer, 0, outputs[static_cast<size_t>(peer)], stores);
    }
    direct.finish_together();
    return true;
}

}  // namespace

void all_gather(Team& team, ConstBytes input, std::span<const Bytes> outputs) {
    size_t longest = 0;
    for (const Bytes& output : outputs) longest = std::max(longest, output.size());
    const bool looks = DirectRead::is_for(team, OperationKind::AllGather, longest);
    if (!looks || !all_gather_directly(team, input, outputs, longest)) {
        all_gather_by_slots(team, input, outputs, longest);
    }
}

}  // namespace tutti::shm
