// One rank of each host gets the data over the network, and gives them to the others there.
#include "backends/shm/collectives.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

void broadcast(const CallContext& context, Bytes data, int root) {
    const Hosts& hosts = context.hosts;
    const Ranks leaders = hosts.leaders(root);
    const int leader = leaders[static_cast<size_t>(hosts.host())];
    if (hosts.rank() == leader) {
        Exchange exchange = context.between(leaders);
        algorithm::broadcast(exchange, data, hosts.host_of(root));
    }
    broadcast_inside(context, data, hosts.local_rank_of(leader));
}

void broadcast_byte_string(const CallContext& context, const ByteStrings& call) {
    const Hosts& hosts = context.hosts;
    const Ranks leaders = hosts.leaders(call.root);
    const int leader = leaders[static_cast<size_t>(hosts.host())];
    const bool speaks = hosts.rank() == leader;
    if (speaks) {
        ByteStrings outside = call;
        outside.root = hosts.host_of(call.root);
        Exchange exchange = context.between(leaders);
        algorithm::byte_strings(exchange, outside);
    }
    if (context.team == nullptr) return;
    ByteStrings here = call;
    here.root = hosts.local_rank_of(leader);
    if (speaks) {
        here.received = std::make_shared<ByteStrings::Received>();  // nothing
        if (here.inputs.empty()) here.inputs = {call.received->front().bytes()};
    }
    shm::broadcast_byte_string(*context.team, here, call.root);
}

}  // namespace tutti::hierarchy
