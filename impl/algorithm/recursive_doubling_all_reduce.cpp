// Every pair computes op(lower ranks' part, higher ranks' part), both in that order, so all ranks
// get the same bits. Ranks beyond the largest power of two hand their data to a neighbour first and
// get the result last.
#include <bit>

#include "algorithm.hpp"
#include "partial_sums.hpp"

namespace tutti::algorithm {

void recursive_doubling_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();

    // The first 2 * extra ranks pair up: the odd one hands over to the even one.
    const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int extra = size - active;
    const bool paired = rank < 2 * extra;
    if (paired && rank % 2 == 1) {
        const Bytes room = exchange.room(data.size());
        const auto result = exchange.receive(rank - 1, room);
        const auto going = exchange.send(rank - 1, data);
        exchange.wait(result);  // first: it shows whether both are in the same call
        exchange.wait(going);
        copy(data, room);
        return;
    }
    PartialSums sums(exchange, data, reduction);
    const auto all = sums.all();
    if (paired) {
        exchange.wait(exchange.receive(rank + 1, sums.theirs(all)));
        sums.add(all);
    } else if (extra > 0) {
        sums.add_nothing();
    }
    const int place = paired ? rank / 2 : rank - extra;
    const auto rank_at = [&](int other) { return other < extra ? 2 * other : other + extra; };
    for (int distance = 1; distance < active; distance *= 2) {
        const int partner = rank_at(place ^ distance);
        const auto coming = exchange.receive(partner, sums.theirs(all));
        const auto going = exchange.send(partner, sums.of(all));
        exchange.wait(coming);
        exchange.wait(going);  // before the data change
        sums.add(all, (place & distance) == 0);
    }
    sums.finish(data, all);
    if (paired) exchange.wait(exchange.send(rank + 1, data));
}

}  // namespace tutti::algorithm
