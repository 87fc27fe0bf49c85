// Every pair computes op(lower ranks' part, higher ranks' part), both in that order, so all ranks
// get the same bits. Ranks beyond the largest power of two hand their data to a neighbour first and
// get the result last.
#include <bit>

#include "algorithm.hpp"

namespace tutti::algorithm {

void recursive_doubling_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const Bytes theirs = exchange.room(data.size());

    // The first 2 * extra ranks pair up: the odd one hands over to the even one.
    const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int extra = size - active;
    const bool paired = rank < 2 * extra;
    if (paired && rank % 2 == 1) {
        const auto result = exchange.receive(rank - 1, theirs);
        const auto going = exchange.send(rank - 1, data);
        exchange.wait(result);  // first, for what comes tells whether both are in the same call
        exchange.wait(going);
        copy(data, theirs);
        return;
    }
    if (paired) {
        exchange.wait(exchange.receive(rank + 1, theirs));
        reduction.combine(data, data, theirs);
    }
    const int place = paired ? rank / 2 : rank - extra;
    const auto rank_at = [&](int other) { return other < extra ? 2 * other : other + extra; };
    for (int distance = 1; distance < active; distance *= 2) {
        const int partner = rank_at(place ^ distance);
        const auto coming = exchange.receive(partner, theirs);
        const auto going = exchange.send(partner, data);
        exchange.wait(coming);
        exchange.wait(going);  // before the data change
        const bool lower = (place & distance) == 0;
        reduction.combine(data, lower ? data : theirs, lower ? theirs : data);
    }
    reduction.finish(data, size);
    if (paired) exchange.wait(exchange.send(rank + 1, data));
}

}  // namespace tutti::algorithm
