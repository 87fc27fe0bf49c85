// The root copies what the ranks of its host show, and the others send theirs straight.
#include "collectives.hpp"
#include "lanes.hpp"

namespace tutti::hierarchy {

void gather(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs,
            int root) {
    const Hosts& hosts = context.hosts;
    const int host = hosts.host_of(root);
    const int local_rank = hosts.local_rank_of(root);
    if (hosts.host() != host) {
        Exchange exchange = context.among_all();
        return exchange.wait(exchange.send(root, input));
    }
    if (hosts.rank() != root) {
        return gather_inside(context, input, {}, input.size(), local_rank);
    }
    Exchange exchange = context.among_all();
    for (int rank = 0; rank < hosts.ranks(); ++rank) {
        if (hosts.host_of(rank) != host) {
            exchange.receive(rank, outputs[static_cast<size_t>(rank)]);
        }
    }
    gather_inside(context, input, column<std::byte>(hosts, host, 0, 1, outputs), input.size(),
                  local_rank);
    exchange.wait_all();
}

}  // namespace tutti::hierarchy
