// The ranks of a host signal to one of them; it signals to the other hosts' and, after all of
// those, to its own.
#include "collectives.hpp"

namespace tutti::hierarchy {

void barrier(const CallContext& context) {
    const std::vector<Bytes> nothing(context.hosts.here().size());
    gather_inside(context, {}, nothing, 0, 0);
    if (context.hosts.local_rank() == 0) {
        Exchange exchange = context.between(context.hosts.lane(0));
        algorithm::dissemination_barrier(exchange);
    }
    broadcast_inside(context, {}, 0);
}

}  // namespace tutti::hierarchy
