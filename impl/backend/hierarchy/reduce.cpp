// One rank of each host combines what its ranks bring, and the root what those have.
#include "base/block.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

void reduce(const Trip& trip, ConstBytes input, Bytes output, int root,
            const Reduction& reduction) {
    const Hosts& hosts = trip.hosts;
    const Ranks leaders = hosts.leaders(root);
    const int leader = leaders[static_cast<size_t>(hosts.host())];
    const bool speaks = hosts.rank() == leader;
    const bool is_root = hosts.rank() == root;
    Block room;
    Bytes sum = output;
    if (speaks && !is_root) {
        room.grow(input.size());
        sum = {room.data(), input.size()};
    }
    reduce_inside(trip, input, sum, hosts.place_of(leader), inside(reduction));
    if (!speaks) return;
    Exchange exchange = trip.between(leaders);
    algorithm::reduce(exchange, sum, sum, hosts.host_of(root), between(reduction));
    if (is_root) reduction.finish(sum, hosts.ranks());
}

}  // namespace tutti::hierarchy
