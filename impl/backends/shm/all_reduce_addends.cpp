// Every rank shows all of its addends, a short piece of each at a time, and combines everybody's by
// itself.
#include <numeric>

#include "base/plain.hpp"
#include "call/all_reduce_addends.hpp"
#include "collectives.hpp"
#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

// How many addends each rank has.
std::vector<size_t> exchange_counts(Team& team, size_t own) {
    const auto mine = static_cast<uint64_t>(own);
    const uint64_t step = team.take(1);
    show(team, step, wire_bytes(mine));
    std::vector<size_t> counts;
    for (int rank = 0; rank < team.size(); ++rank) {
        uint64_t count = 0;
        const ConstBytes bytes = team.await(rank, step, sizeof count);
        std::ranges::copy(bytes, std::as_writable_bytes(std::span(&count, 1)).begin());
        counts.push_back(checked_input_count(count, team.group_rank(rank)));
    }
    team.finish(step, sizeof mine);
    return counts;
}

}  // namespace

void all_reduce_addends(Team& team, std::span<const ConstBytes> inputs, Bytes output,
                        const algorithm::Reduction& reduction) {
    const auto counts = exchange_counts(team, inputs.size());
    const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
    if (all == 0) {
        std::ranges::fill(output, std::byte{0});
        return;
    }
    const size_t most = *std::ranges::max_element(counts);
    // As every rank knows it, and cuts by it.
    const size_t length = share_of(chunk_bytes, static_cast<int>(most));
    const auto stage = [&](uint64_t step, size_t index) {
        const size_t bytes = piece_of(output, index, length).size();
        const Bytes mine = team.stage(step, most * bytes);
        for (size_t i = 0; i < inputs.size(); ++i) {
            // Not bring(): a single addend must be as begin() makes it, also of bools.
            reduction.begin(mine.subspan(i * bytes, bytes), piece_of(inputs[i], index, length));
        }
        team.post(step);
    };
    const auto read = [&](uint64_t step, size_t index) {
        const Bytes piece = piece_of(output, index, length);
        std::vector<const void*> addends;
        addends.reserve(all);
        for (int rank = 0; rank < team.size(); ++rank) {
            const ConstBytes shown = team.await(rank, step, most * piece.size());
            for (size_t i = 0; i < counts[static_cast<size_t>(rank)]; ++i) {
                addends.push_back(shown.subspan(i * piece.size()).data());
            }
        }
        reduction.combine_and_finish(piece, addends, stores_for(output.size(), team.size()));
        team.finish(step, most * piece.size());
    };
    pipeline(team, pieces_of(output.size(), length), stage, read);
}

}  // namespace tutti::shm
