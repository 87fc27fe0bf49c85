// The source shows the ranks of its host their pieces, and sends the others theirs straight.
#include "collectives.hpp"
#include "lanes.hpp"

namespace tutti::hierarchy {

void scatter(const Trip& trip, const Scatter& call) {
    const Hosts& hosts = trip.hosts;
    const Bytes output = call.output.bytes();
    const int host = hosts.host_of(call.source);
    const int place = hosts.place_of(call.source);
    if (hosts.host() != host) {
        Exchange exchange = trip.among_all();
        return exchange.wait(exchange.receive(call.source, output));
    }
    if (hosts.rank() != call.source) return scatter_inside(trip, {}, output, output.size(), place);
    const std::vector<ConstBytes> inputs = bytes_of(call.inputs);
    Exchange exchange = trip.among_all();
    for (int rank = 0; rank < hosts.ranks(); ++rank) {
        if (hosts.host_of(rank) != host) exchange.send(rank, inputs[static_cast<size_t>(rank)]);
    }
    // In place the output is an input, but this rank's own, which is not sent.
    scatter_inside(trip, column<const std::byte>(hosts, host, 0, 1, inputs), output, output.size(),
                   place);
    exchange.wait_all();
}

}  // namespace tutti::hierarchy
