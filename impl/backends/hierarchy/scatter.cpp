// The root shows the ranks of its host their pieces, and sends the others theirs straight.
#include "collectives.hpp"
#include "lanes.hpp"

namespace tutti::hierarchy {

void scatter(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
             int root) {
    const Hosts& hosts = context.hosts;
    const int host = hosts.host_of(root);
    const int local_rank = hosts.local_rank_of(root);
    if (hosts.host() != host) {
        Exchange exchange = context.among_all();
        return exchange.wait(exchange.receive(root, output));
    }
    if (hosts.rank() != root) return scatter_inside(context, {}, output, output.size(), local_rank);
    Exchange exchange = context.among_all();
    for (int rank = 0; rank < hosts.ranks(); ++rank) {
        if (hosts.host_of(rank) != host) exchange.send(rank, inputs[static_cast<size_t>(rank)]);
    }
    // In place the output is an input, but this rank's own, which is not sent.
    scatter_inside(context, column<const std::byte>(hosts, host, 0, 1, inputs), output,
                   output.size(), local_rank);
    exchange.wait_all();
}

}  // namespace tutti::hierarchy
