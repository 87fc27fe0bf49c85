// In every round a rank gives its partner the half of the parts that the partner's side is to have,
// and adds the half it gets. Ranks beyond the largest power of two hand their data to a neighbour
// first and get their part last.
#include <bit>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

// All parts in one row, this rank's sum so far.
struct Row {
    Bytes data;
    std::vector<size_t> begins;
    [[nodiscard]] Bytes parts(int from, int to) const {
        const size_t begin = begins[static_cast<size_t>(from)];
        return data.subspan(begin, begins[static_cast<size_t>(to)] - begin);
    }
};

Row collect(Exchange& exchange, std::span<const ConstBytes> inputs) {
    Row row{exchange.room(total_size(inputs)), {0}};
    for (const ConstBytes& input : inputs) {
        const size_t begin = row.begins.back();
        copy(row.data.subspan(begin, input.size()), input);
        row.begins.push_back(begin + input.size());
    }
    return row;
}

}  // namespace

void recursive_halving_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs,
                                      Bytes output, const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const Row row = collect(exchange, inputs);
    const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int extra = size - active;
    const bool paired = rank < 2 * extra;
    if (paired && rank % 2 == 1) {
        const auto result = exchange.receive(rank - 1, output);
        const auto going = exchange.send(rank - 1, row.data);
        exchange.wait(result);  // first, for what comes tells whether both are in the same call
        exchange.wait(going);
        reduction.finish(output, size);
        return;
    }
    const Bytes theirs = exchange.room(row.data.size());
    if (paired) {
        exchange.wait(exchange.receive(rank + 1, theirs));
        reduction.combine(row.data, theirs);
    }
    // A place stands for one rank or for a pair; those of a place are neighbours.
    const auto rank_at = [&](int place) { return place < extra ? 2 * place : place + extra; };
    const int place = paired ? rank / 2 : rank - extra;
    int begin = 0;
    for (int half = active / 2; half > 0; half /= 2) {
        const int middle = begin + half;
        const Bytes lower = row.parts(rank_at(begin), rank_at(middle));
        const Bytes upper = row.parts(rank_at(middle), rank_at(middle + half));
        const Bytes kept = place < middle ? lower : upper;
        const int partner = rank_at(place ^ half);
        const auto coming = exchange.receive(partner, theirs.first(kept.size()));
        exchange.send(partner, place < middle ? upper : lower);
        exchange.wait(coming);
        reduction.combine(kept, theirs.first(kept.size()));
        if (place >= middle) begin = middle;
    }
    if (paired) exchange.send(rank + 1, row.parts(rank + 1, rank + 2));
    copy(output, row.parts(rank, rank + 1));
    reduction.finish(output, size);
    exchange.wait_all();
}

}  // namespace tutti::algorithm
