// Every rank shows all of its addends, a short piece of each at a time, and combines everybody's by
// itself.
#include <numeric>

#include "call/all_reduce_addends.hpp"
#include "collectives.hpp"
#include "memory/table.hpp"
#include "pieces.hpp"

namespace tutti::shm {

namespace {

// How many addends each rank has.
std::vector<size_t> tell_numbers(Team& team, size_t own) {
    const auto mine = static_cast<uint64_t>(own);
    const uint64_t step = team.take(1);
    show(team, step, std::as_bytes(std::span(&mine, 1)));
    std::vector<size_t> numbers;
    for (int rank = 0; rank < team.size(); ++rank) {
        uint64_t number = 0;
        const ConstBytes told = team.await(rank, step, sizeof number);
        std::ranges::copy(told, std::as_writable_bytes(std::span(&number, 1)).begin());
        numbers.push_back(checked_number_of_inputs(number, team.group_rank(rank)));
    }
    team.finish(step, sizeof mine);
    return numbers;
}

}  // namespace

void all_reduce_addends(Team& team, std::span<const ConstBytes> inputs, Bytes output,
                        const algorithm::Reduction& reduction) {
    const auto numbers = tell_numbers(team, inputs.size());
    const size_t all = std::accumulate(numbers.begin(), numbers.end(), size_t{0});
    if (all == 0) {
        std::ranges::fill(output, std::byte{0});
        return;
    }
    const size_t most = *std::ranges::max_element(numbers);
    // As every rank knows it, and cuts by it.
    const size_t length = share_of(chunk_bytes, static_cast<int>(most));
    const auto stage = [&](uint64_t step, size_t index) {
        const size_t bytes = piece_of(output, index, length).size();
        const Bytes mine = team.stage(step, most * bytes);
        for (size_t i = 0; i < inputs.size(); ++i) {
            // Not bring(): an addend that is all there are must be as begin() makes it, bools too.
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
            for (size_t i = 0; i < numbers[static_cast<size_t>(rank)]; ++i) {
                addends.push_back(shown.subspan(i * piece.size()).data());
            }
        }
        reduction.combine_all(piece, addends, stores_for(output.size(), team.size()));
        team.finish(step, most * piece.size());
    };
    pipeline(team, pieces_of(output.size(), length), stage, read);
    reduction.finish(output, static_cast<int>(all));
}

}  // namespace tutti::shm
