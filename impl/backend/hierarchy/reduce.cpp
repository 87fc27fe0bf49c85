// One rank of each host combines what its ranks bring, and the destination what those have.
#include "base/block.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

void reduce(const Trip& trip, const Reduce& call) {
    const Hosts& hosts = trip.hosts;
    const Ranks speakers = hosts.speakers(call.destination);
    const int speaker = speakers[static_cast<size_t>(hosts.host())];
    const bool speaks = hosts.rank() == speaker;
    const bool is_destination = hosts.rank() == call.destination;
    Block room;
    View sum = call.output;
    if (speaks && !is_destination) {
        room.grow(call.input.size());
        sum = {room.data(), call.input.count, call.input.dtype};
    }
    reduce_inside(trip, {call.input, sum, inside(call.op), hosts.place_of(speaker)});
    if (!speaks) return;
    Exchange exchange = trip.between(speakers);
    algorithm::run(exchange, Reduce{sum, sum, between(call.op), hosts.host_of(call.destination)});
    if (!is_destination) return;
    algorithm::Reduction{sum.dtype, call.op}.finish(sum.bytes(), hosts.ranks());
}

}  // namespace tutti::hierarchy
