// In each step a rank shows a piece for every rank, and combines those for itself; or it shows
// where all of them are.
#include "collectives.hpp"
#include "pieces.hpp"
#include "reduce_remote.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

using algorithm::Reduction;

void reduce_scatter_by_slots(Team& team, std::span<const ConstBytes> inputs, Bytes out,
                             const Reduction& reduction) {
    size_t longest = 0;
    for (const ConstBytes& input : inputs) longest = std::max(longest, input.size());
    team.log_algorithm(OperationKind::ReduceScatter, algorithm::total_size<const std::byte>(inputs),
                       "staged");
    const size_t length = share_of(chunk_bytes, team.size());
    const auto ranks = static_cast<size_t>(team.size());
    const auto own = static_cast<size_t>(team.rank());
    const Stores stores = stores_for(out.size(), team.size());
    const auto stage = [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        const Bytes mine = team.stage(step, ranks * stride);
        for (size_t rank = 0; rank < ranks; ++rank) {
            if (rank == own && !reduction.changes_input()) continue;
            const ConstBytes piece = piece_of(inputs[rank], index, length);
            bring(mine.subspan(rank * stride, piece.size()), piece, reduction);
        }
        team.post(step);
    };
    const auto read = [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        const ConstBytes mine = piece_of(inputs[own], index, length);
        team.await_all(step);
        combine_shown(
            team, reduction, piece_of(out, index, reduction.combined_size(length)), mine,
            [&](int rank) {
                return team.posted(rank, step, ranks * stride).subspan(own * stride, mine.size());
            },
            stores);
        team.finish(step, ranks * stride);
    };
    pipeline(team, pieces_of(longest, length), stage, read);
}

// False if the inputs of some rank are not one piece of memory. Also in place: a rank writes memory
// that no other reads.
bool reduce_scatter_directly(Team& team, std::span<const ConstBytes> inputs, Bytes out,
                             const Reduction& reduction) {
    const auto own = static_cast<size_t>(team.rank());
    const size_t bytes = algorithm::total_size<const std::byte>(inputs);
    DirectRead direct(team, OperationKind::ReduceScatter, bytes);
    if (algorithm::follow_each_other(inputs)) {
        direct.show({inputs.front().data(), bytes});
    } else {
        direct.show_nothing();
    }
    if (direct.find_all() == DirectRead::Reach::None) return false;
    const size_t begin = algorithm::total_size<const std::byte>(inputs.first(own));
    const ConstBytes mine = inputs[own];
    const size_t length = direct.sees() ? mine.size() : share_of(chunk_bytes, team.size());
    const Bytes workplace = direct.sees() ? Bytes{} : direct.workplace();
    for (size_t at = 0; at < mine.size(); at += length) {
        const ConstBytes piece = mine.subspan(at, std::min(length, mine.size() - at));
        const Bytes combined =
            out.subspan(reduction.combined_size(at), reduction.combined_size(piece.size()));
        reduce_remote(direct, reduction, combined, piece, begin + at, workplace,
                      stores_for(out.size(), team.size()));
    }
    direct.finish_together();
    return true;
}

}  // namespace

void reduce_scatter(Team& team, std::span<const ConstBytes> inputs, Bytes out,
                    const Reduction& reduction) {
    const size_t bytes = algorithm::total_size<const std::byte>(inputs);
    const bool looks = DirectRead::is_for(team, OperationKind::ReduceScatter, bytes, reduction);
    if (!looks || !reduce_scatter_directly(team, inputs, out, reduction))
        reduce_scatter_by_slots(team, inputs, out, reduction);
}

}  // namespace tutti::shm
