// In each step the source shows a piece for every rank; or it shows where all of them are.
#include "collectives.hpp"
#include "direct.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

void scatter(Team& team, std::span<const ConstBytes> inputs, Bytes output, size_t longest,
             int source) {
    team.log_algorithm(OperationKind::Scatter, longest, "staged");
    const auto ranks = static_cast<size_t>(team.size());
    const auto own = static_cast<size_t>(team.rank());
    const size_t length = share_of(chunk_bytes, team.size());
    const Stores stores = stores_for(output.size(), team.size());
    in_steps(team, pieces_of(longest, length), [&](uint64_t step, size_t index) {
        const size_t stride = stride_of(longest, index, length);
        if (team.rank() == source) {
            const Bytes mine = team.stage(step, ranks * stride);
            for (size_t rank = 0; rank < ranks; ++rank) {
                if (rank == own) continue;
                const ConstBytes piece = piece_of(inputs[rank], index, length);
                copy_in(mine.subspan(rank * stride, piece.size()), piece);
            }
            team.post(step);
        } else {
            const Bytes piece = piece_of(output, index, length);
            const ConstBytes all = team.await(source, step, ranks * stride);
            copy_out(piece, all.subspan(own * stride, piece.size()), stores);
        }
        team.finish(step, ranks * stride);
    });
    if (team.rank() == source) copy(output, inputs[own]);
}

namespace {

// False: the source has the data where the others do not read them.
bool scatter_directly(Team& team, std::span<const ConstBytes> inputs, Bytes output, int source) {
    DirectRead direct(team, OperationKind::Scatter, output.size());
    if (team.rank() == source) {
        if (algorithm::follow_each_other(inputs)) {
            const size_t bytes = algorithm::total_size<const std::byte>(inputs);
            direct.show({inputs.front().data(), bytes});
        } else {
            direct.show_nothing();
        }
    }
    if (direct.find(source) == DirectRead::Reach::None) return false;
    if (team.rank() == source) {
        copy(output, inputs[static_cast<size_t>(source)]);
        direct.finish_unread();
    } else {
        const size_t offset = static_cast<size_t>(team.rank()) * output.size();
        direct.read(source, offset, output, stores_for(output.size(), team.size()));
        direct.finish();
    }
    return true;
}

}  // namespace

void scatter_evenly(Team& team, std::span<const ConstBytes> inputs, Bytes output, int source) {
    const bool looks = DirectRead::is_for(team, OperationKind::Scatter, output.size());
    if (!looks || !scatter_directly(team, inputs, output, source)) {
        scatter(team, inputs, output, output.size(), source);
    }
}

}  // namespace tutti::shm
