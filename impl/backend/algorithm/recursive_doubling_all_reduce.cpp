// Every pair computes op(lower ranks' part, higher ranks' part), both in that order, so all ranks
// get the same bits. Ranks beyond the largest power of two hand their data to a neighbour first and
// get the result last.
#include <bit>
#include <memory>

#include "algorithm.hpp"
#include "reduce/reduce.hpp"

namespace tutti::algorithm {

void recursive_doubling_all_reduce(Exchange& exchange, const AllReduce& call) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const auto mine = call.output.bytes();
    const auto count = static_cast<size_t>(call.output.count);
    const auto room = std::make_unique_for_overwrite<std::byte[]>(mine.size());
    const std::span<std::byte> theirs(room.get(), mine.size());

    const auto combine = [&](bool mine_is_lower) {
        reduce_to(mine.data(), mine_is_lower ? mine.data() : theirs.data(),
                  mine_is_lower ? theirs.data() : mine.data(), count, call.output.dtype, call.op);
    };

    // The first 2 * extra ranks pair up: the odd one hands over to the even one.
    const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int extra = size - active;
    const bool paired = rank < 2 * extra;
    if (paired && rank % 2 == 1) {
        const auto result = exchange.receive(rank - 1, theirs);
        const auto going = exchange.send(rank - 1, mine);
        exchange.wait(result);  // first, for what comes tells whether both are in the same call
        exchange.wait(going);
        if (!mine.empty()) std::copy(theirs.begin(), theirs.end(), mine.begin());
        return;
    }
    if (paired) {
        exchange.wait(exchange.receive(rank + 1, theirs));
        combine(true);
    }
    const int place = paired ? rank / 2 : rank - extra;
    const auto rank_at = [&](int other) { return other < extra ? 2 * other : other + extra; };
    for (int distance = 1; distance < active; distance *= 2) {
        const int partner = rank_at(place ^ distance);
        const auto coming = exchange.receive(partner, theirs);
        const auto going = exchange.send(partner, mine);
        exchange.wait(coming);
        exchange.wait(going);  // before `mine` changes
        combine((place & distance) == 0);
    }
    if (call.op == TUTTI_AVG) divide_by(mine.data(), count, call.output.dtype, size);
    if (paired) exchange.wait(exchange.send(rank + 1, mine));
}

}  // namespace tutti::algorithm
