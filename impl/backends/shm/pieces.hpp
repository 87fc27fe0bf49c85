// Data cut into the pieces of successive steps, and the order in which a rank stages its own and
// reads the others'. Any thread; touches only its arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "algorithm/reduction.hpp"
#include "memory/copying.hpp"
#include "team.hpp"
#include "tuning.hpp"

namespace tutti::shm {

using algorithm::piece_of;
using algorithm::pieces_of;

// How long the pieces of that index are, at most.
constexpr size_t stride_of(size_t longest, size_t index, size_t length) {
    return std::min(length, longest - std::min(longest, index * length));
}

// The length of a piece in a slot that has one for every rank, each on cache lines of its own.
inline size_t share_of(size_t chunk, int ranks) {
    return chunk / static_cast<size_t>(ranks) / cache_line * cache_line;
}

// Where that rank's share of a piece begins and ends: whole cache lines but at the end.
struct Share {
    size_t begin;
    size_t bytes;
};
inline Share share_of_piece(size_t piece_bytes, int rank, int ranks) {
    const auto count = static_cast<size_t>(ranks);
    const size_t lines = (piece_bytes + cache_line - 1) / cache_line;
    const size_t most = (lines + count - 1) / count * cache_line;
    const size_t begin = std::min(static_cast<size_t>(rank) * most, piece_bytes);
    return {begin, std::min(most, piece_bytes - begin)};
}

// The same for a rank's contribution to a reduction.
inline void bring(Bytes to, ConstBytes from, const algorithm::Reduction& reduction) {
    if (reduction.changes_input()) {
        reduction.begin(to, from);
    } else {
        copy_in(to, from);
    }
}

// Posts a piece as it is.
inline void show(Team& team, uint64_t step, ConstBytes piece) {
    copy_in(team.stage(step, piece.size()), piece);
    team.post(step);
}
// Posts a rank's contribution to a reduction.
inline void show(Team& team, uint64_t step, ConstBytes piece,
                 const algorithm::Reduction& reduction) {
    bring(team.stage(step, piece.size()), piece, reduction);
    team.post(step);
}

// act(step, index) in one step after the other.
template <typename Act>
void in_steps(Team& team, size_t steps, Act act) {
    const uint64_t first = team.take(steps);
    for (size_t index = 0; index < steps; ++index) act(first + index, index);
}

// Stages the next piece before it waits for the others' last one, so that both sides work.
// stage(step, index) of the first piece, ..; read(step, index); both in order.
template <typename Stage, typename Read>
void pipeline(Team& team, size_t steps, Stage stage, Read read) {
    const uint64_t first = team.take(steps);
    stage(first, 0);
    for (size_t index = 0; index < steps; ++index) {
        if (index + 1 < steps) stage(first + index + 1, index + 1);
        read(first + index, index);
    }
}

// out = all contributions, combined in rank order, and finished. `input(rank)` is as long as `out`,
// which may be one of them.
template <typename Input>
void combine_all(const algorithm::Reduction& reduction, Bytes out, int ranks, Input input,
                 Stores stores = Stores::Ordinary) {
    std::array<const void*, max_ranks> inputs;
    for (int rank = 0; rank < ranks; ++rank) {
        inputs[static_cast<size_t>(rank)] = input(rank).data();
    }
    reduction.combine_and_finish(out, std::span(inputs).first(static_cast<size_t>(ranks)), stores);
}

// The same for posted pieces, `shown(rank)`, but with the rank's own input in place, which is
// nearer, unless the reduction changes it.
template <typename Shown>
void combine_shown(const Team& team, const algorithm::Reduction& reduction, Bytes out,
                   ConstBytes own, Shown shown, Stores stores = Stores::Ordinary) {
    const auto input = [&](int rank) -> ConstBytes {
        return rank == team.rank() && !reduction.changes_input() ? own : shown(rank);
    };
    combine_all(reduction, out, team.size(), input, stores);
}

}  // namespace tutti::shm
