// One rank of each host combines what its ranks bring, and the root what those have.
#include "base/block.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

void reduce(const CallContext& context, ConstBytes input, Bytes output, int root,
            const Reduction& reduction) {
    const Hosts& hosts = context.hosts;
    const Ranks leaders = hosts.leaders(root);
    const int leader = leaders[static_cast<size_t>(hosts.host())];
    const bool speaks = hosts.rank() == leader;
    const bool is_root = hosts.rank() == root;
    const Reduction part = inside(reduction);
    Block room;
    Bytes sum = output;
    if (speaks && (!is_root || part.is_partial)) {
        room.grow(part.combined_size(input.size()));
        sum = {room.data(), room.size()};
    }
    reduce_inside(context, input, sum, hosts.local_rank_of(leader), part);
    if (!speaks) return;
    Exchange exchange = context.between(leaders);
    algorithm::reduce(exchange, sum, sum, hosts.host_of(root), between(reduction));
    if (!is_root) return;
    if (part.is_partial) return reduction.round(output, sum, hosts.ranks());
    reduction.finish(sum, hosts.ranks());
}

}  // namespace tutti::hierarchy
