// The ranks of a host show one of them that they are there; it tells the other hosts' and, when
// they have all told it, its own.
#include "collectives.hpp"

namespace tutti::hierarchy {

void barrier(const Trip& trip) {
    const std::vector<Bytes> nothing(trip.hosts.here().size());
    gather_inside(trip, {}, nothing, 0, 0);
    if (trip.hosts.place() == 0) {
        Exchange exchange = trip.between(trip.hosts.lane(0));
        algorithm::dissemination_barrier(exchange);
    }
    broadcast_inside(trip, {}, 0);
}

}  // namespace tutti::hierarchy
