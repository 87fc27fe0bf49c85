// In every round a rank gives its partner the half of the parts that the partner's side is to have,
// and adds the half it gets. Ranks beyond the largest power of two hand their data to a neighbour
// first and get their part last.
#include <bit>

#include "algorithm.hpp"
#include "partial_sums.hpp"

namespace tutti::algorithm {

namespace {

// All parts in one row.
struct Row {
    Bytes data;
    std::vector<size_t> begins;  // elements
    [[nodiscard]] PartialSums::Range parts(int from, int to) const {
        return {begins[static_cast<size_t>(from)], begins[static_cast<size_t>(to)]};
    }
};

Row collect(Exchange& exchange, std::span<const ConstBytes> inputs, size_t element) {
    Row row{exchange.room(total_size(inputs)), {0}};
    for (const ConstBytes& input : inputs) {
        const size_t begin = row.begins.back();
        copy(row.data.subspan(begin * element, input.size()), input);
        row.begins.push_back(begin + input.size() / element);
    }
    return row;
}

}  // namespace

void recursive_halving_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs,
                                      Bytes output, const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const Row row = collect(exchange, inputs, reduction.element());
    const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int extra = size - active;
    const bool paired = rank < 2 * extra;
    if (paired && rank % 2 == 1) {
        const auto result = exchange.receive(rank - 1, output);
        const auto going = exchange.send(rank - 1, row.data);
        exchange.wait(result);  // first: it shows whether both are in the same call
        exchange.wait(going);
        return;
    }
    PartialSums sums(exchange, row.data, reduction);
    if (paired) {
        exchange.wait(exchange.receive(rank + 1, sums.theirs(sums.all())));
        sums.add(sums.all());
    } else if (extra > 0) {
        sums.add_nothing();
    }
    // A place stands for one rank or for a pair; those of a place are neighbours.
    const auto rank_at = [&](int place) { return place < extra ? 2 * place : place + extra; };
    const int place = paired ? rank / 2 : rank - extra;
    int begin = 0;
    for (int half = active / 2; half > 0; half /= 2) {
        const int middle = begin + half;
        const auto lower = row.parts(rank_at(begin), rank_at(middle));
        const auto upper = row.parts(rank_at(middle), rank_at(middle + half));
        const auto kept = place < middle ? lower : upper;
        const int partner = rank_at(place ^ half);
        const auto coming = exchange.receive(partner, sums.theirs(kept));
        exchange.send(partner, sums.of(place < middle ? upper : lower));
        exchange.wait(coming);
        sums.add(kept);
        if (place >= middle) begin = middle;
    }
    if (paired) exchange.send(rank + 1, sums.finished(row.parts(rank + 1, rank + 2)));
    sums.finish(output, row.parts(rank, rank + 1));
    exchange.wait_all();
}

}  // namespace tutti::algorithm
