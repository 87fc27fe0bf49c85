// The choice of the algorithm for each call: the tables by size and number of ranks, and the
// algorithms that they choose from.
#include <climits>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t KiB = 1024;
constexpr size_t any_size = SIZE_MAX;

// The first rule that allows the size and the number of ranks. Each table documents its size, which
// must be the same on all ranks.
template <typename Algorithm>
struct Rule {
    size_t longest;
    int min_ranks;
    Algorithm* use;
    int max_ranks = INT_MAX;
};

template <typename Algorithm, size_t rules>
Algorithm* choose(const Rule<Algorithm> (&table)[rules], size_t bytes, int ranks) {
    for (const auto& rule : table) {
        const bool suits_ranks = ranks >= rule.min_ranks && ranks <= rule.max_ranks;
        if (bytes <= rule.longest && suits_ranks) return rule.use;
    }
    return table[rules - 1].use;
}

// tests/unit/algorithm/algorithm_bench measures them.

// The whole. The root's line carries it once for each rank.
constexpr Rule<decltype(tree_broadcast)> broadcasts[] = {
    {16 * KiB, 2, direct_broadcast, 4},
    {4 * KiB, 2, direct_broadcast, 8},
    {any_size, 2, tree_broadcast},
};
// The whole. Between two ranks both send as much.
constexpr Rule<decltype(ring_all_reduce)> all_reduces[] = {
    {512 * KiB, 16, recursive_doubling_all_reduce},
    {128 * KiB, 4, recursive_doubling_all_reduce},
    {64 * KiB, 3, recursive_doubling_all_reduce},
    {512 * KiB, 2, recursive_doubling_all_reduce, 2},
    {any_size, 2, ring_all_reduce},
};
// The same for sums of float16 and bfloat16 of three or more ranks.
constexpr Rule<decltype(ring_all_reduce)> short_float_all_reduces[] = {
    {512 * KiB, 16, recursive_doubling_all_reduce},
    {256 * KiB, 2, recursive_doubling_all_reduce},
    {any_size, 2, ordered_all_reduce},
};
// The whole. On one host the tree stays a little ahead, but over a network the root's line would
// carry long data log2(ranks) times.
constexpr Rule<decltype(ring_reduce)> reduces[] = {
    {4096 * KiB, 2, tree_reduce},
    {any_size, 3, ring_reduce},
    {any_size, 2, tree_reduce},
};
// All parts.
constexpr Rule<decltype(ring_all_gather)> all_gathers[] = {
    {256 * KiB, 16, bruck_all_gather},
    {128 * KiB, 4, bruck_all_gather},
    {any_size, 2, ring_all_gather},
};
// One part.
constexpr Rule<decltype(direct_gather)> gathers[] = {
    {512, 8, tree_gather},
    {any_size, 2, direct_gather},
};
// One part.
constexpr Rule<decltype(direct_scatter)> scatters[] = {
    {4 * KiB, 16, tree_scatter},
    {2 * KiB, 8, tree_scatter},
    {any_size, 2, direct_scatter},
};
// All parts.
constexpr Rule<decltype(ring_reduce_scatter)> reduce_scatters[] = {
    {512 * KiB, 16, recursive_halving_reduce_scatter},
    {128 * KiB, 8, recursive_halving_reduce_scatter},
    {64 * KiB, 4, recursive_halving_reduce_scatter},
    {16 * KiB, 3, recursive_halving_reduce_scatter},
    {1 * KiB, 2, recursive_halving_reduce_scatter},
    {any_size, 2, ring_reduce_scatter},
};
// The same for sums of float16 and bfloat16 of three or more ranks.
constexpr Rule<decltype(ring_reduce_scatter)> short_float_reduce_scatters[] = {
    {512 * KiB, 16, recursive_halving_reduce_scatter},
    {64 * KiB, 8, recursive_halving_reduce_scatter},
    {16 * KiB, 2, recursive_halving_reduce_scatter},
    {any_size, 2, ordered_reduce_scatter},
};
// One piece, where all have one size.
constexpr Rule<decltype(bruck_all_to_all)> all_to_alls[] = {
    {8 * KiB, 8, bruck_all_to_all},
    {4 * KiB, 4, bruck_all_to_all},
    {any_size, 2, pairwise_all_to_all},
};

bool is_ordered(const Reduction& reduction, int ranks) {
    return !reduction.op.is_commutative() || reduction.must_combine_at_once(ranks);
}

// Some of the algorithms in several rounds do not round between the rounds.
bool is_short_float_sum(const Reduction& reduction, int ranks) {
    return reduction.accumulates_in_float32() && reduction.must_combine_at_once(ranks);
}

// The data that this rank brings into a reduction.
ConstBytes contribution(Exchange& exchange, ConstBytes input, const Reduction& reduction) {
    if (!reduction.changes_input()) return input;
    const Bytes room = exchange.room(input.size());
    reduction.begin(room, input);
    return room;
}

}  // namespace

void broadcast(Exchange& exchange, Bytes data, int root) {
    choose(broadcasts, data.size(), exchange.size())(exchange, data, root);
}

void all_reduce(Exchange& exchange, ConstBytes input, Bytes output, const Reduction& reduction) {
    reduction.begin(output, input);
    if (is_short_float_sum(reduction, exchange.size())) {
        auto* const how = choose(short_float_all_reduces, output.size(), exchange.size());
        return how(exchange, output, reduction);
    }
    if (reduction.must_combine_at_once(exchange.size())) {
        return ordered_all_reduce(exchange, output, reduction);
    }
    if (!reduction.op.is_commutative()) {
        return recursive_doubling_all_reduce(exchange, output, reduction);
    }
    choose(all_reduces, output.size(), exchange.size())(exchange, output, reduction);
}

void reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
            const Reduction& reduction) {
    auto* const how = is_ordered(reduction, exchange.size())
                          ? ordered_reduce
                          : choose(reduces, input.size(), exchange.size());
    how(exchange, contribution(exchange, input, reduction), output, root, reduction);
}

void all_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs) {
    copy(outputs[static_cast<size_t>(exchange.rank())], input);
    choose(all_gathers, total_size(outputs), exchange.size())(exchange, outputs);
}

void gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root) {
    choose(gathers, input.size(), exchange.size())(exchange, input, outputs, root);
}

void scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output, int root) {
    choose(scatters, output.size(), exchange.size())(exchange, inputs, output, root);
}

void reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction) {
    auto* how = choose(reduce_scatters, total_size(inputs), exchange.size());
    if (is_ordered(reduction, exchange.size())) how = ordered_reduce_scatter;
    if (is_short_float_sum(reduction, exchange.size())) {
        how = choose(short_float_reduce_scatters, total_size(inputs), exchange.size());
    }
    std::vector<ConstBytes> brought;
    brought.reserve(inputs.size());
    for (const ConstBytes input : inputs) {
        brought.push_back(contribution(exchange, input, reduction));
    }
    how(exchange, brought, output, reduction);
}

void all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                std::span<const Bytes> outputs, bool in_place, bool are_even) {
    std::vector<ConstBytes> aside;  // what goes out where something comes in
    for (size_t rank = 0; in_place && rank < inputs.size(); ++rank) {
        const Bytes room = exchange.room(inputs[rank].size());
        copy(room, inputs[rank]);
        aside.push_back(room);
    }
    auto* const how = are_even ? choose(all_to_alls, outputs.front().size(), exchange.size())
                               : pairwise_all_to_all;
    how(exchange, in_place ? aside : inputs, outputs);
}

}  // namespace tutti::algorithm
