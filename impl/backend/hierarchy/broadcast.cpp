// One rank of each host gets the data over the network, and gives them to the others there.
#include "backend/shm/collectives.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

void broadcast(const Trip& trip, Bytes data, int root) {
    const Hosts& hosts = trip.hosts;
    const Ranks speakers = hosts.speakers(root);
    const int speaker = speakers[static_cast<size_t>(hosts.host())];
    if (hosts.rank() == speaker) {
        Exchange exchange = trip.between(speakers);
        algorithm::tree_broadcast(exchange, data, hosts.host_of(root));
    }
    broadcast_inside(trip, data, hosts.place_of(speaker));
}

void broadcast_parcel(const Trip& trip, const Parcels& call) {
    const Hosts& hosts = trip.hosts;
    const Ranks speakers = hosts.speakers(call.root);
    const int speaker = speakers[static_cast<size_t>(hosts.host())];
    const bool speaks = hosts.rank() == speaker;
    if (speaks) {
        Parcels outside = call;
        outside.root = hosts.host_of(call.root);
        Exchange exchange = trip.between(speakers);
        algorithm::parcels(exchange, outside);
    }
    if (trip.team == nullptr) return;
    Parcels here = call;
    here.root = hosts.place_of(speaker);
    if (speaks) {
        here.received = std::make_shared<Parcels::Received>();  // nothing
        if (here.inputs.empty()) here.inputs = {call.received->front().bytes()};
    }
    shm::broadcast_parcel(*trip.team, here, call.root);
}

}  // namespace tutti::hierarchy
