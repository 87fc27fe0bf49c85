// Which calls go over hosts, and how a call becomes the memory that moves.
#include "backend/shm/collectives.hpp"
#include "base/assert.hpp"
#include "collectives.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

// An op that does not commute takes the ranks in their order, and sums that are rounded once are
// not made host by host.
bool can_combine(const Hosts& hosts, const ReduceOp& op, tutti_dtype dtype) {
    const algorithm::Reduction reduction{dtype, op};
    return !reduction.must_combine_at_once(hosts.ranks()) &&
           (op.is_commutative() || hosts.are_in_order());
}

// What only some ranks know, how much goes from one rank to another, or who is there, goes over the
// channel, and so do byte strings that differ from rank to rank.
bool is_served(const Hosts& hosts, const AllReduce& call) {
    return can_combine(hosts, call.op, call.output.dtype);
}
bool is_served(const Hosts& hosts, const Reduce& call) {
    return can_combine(hosts, call.op, call.input.dtype);
}
bool is_served(const Hosts& hosts, const ReduceScatter& call) {
    return can_combine(hosts, call.op, call.output.dtype);
}
bool is_served(const Hosts& hosts, const ReduceScatterTensor& call) {
    return can_combine(hosts, call.op, call.output.dtype);
}
bool is_served(const Hosts& hosts, const AllToAllSingle& call) {
    return call.is_even() &&
           call.input.size() / static_cast<size_t>(hosts.ranks()) >= shortest_straight_piece;
}
bool is_served(const Hosts&, const Parcels& call) {
    return call.pattern == Parcels::Pattern::Broadcast;
}
bool is_served(const Hosts&, const MonitoredBarrier&) {
    return false;
}
bool is_served(const Hosts&, const AllToAll&) {
    return false;
}
bool is_served(const Hosts&, const AllReduceAddends&) {
    return false;
}
template <typename Call>
bool is_served(const Hosts&, const Call&) {
    return true;
}

void serve(const Trip& trip, const Broadcast& call) {
    broadcast(trip, call);
}
void serve(const Trip& trip, const AllReduce& call) {
    all_reduce(trip, call);
}
void serve(const Trip& trip, const Barrier&) {
    barrier(trip);
}
void serve(const Trip& trip, const Reduce& call) {
    reduce(trip, call);
}
void serve(const Trip& trip, const AllGather& call) {
    all_gather(trip, call.input.bytes(), bytes_of(call.outputs), false);
}
void serve(const Trip& trip, const AllGatherIntoTensor& call) {
    all_gather(trip, call.input.bytes(), parts_of(call.output, trip.hosts.ranks()), true);
}
void serve(const Trip& trip, const Gather& call) {
    gather(trip, call);
}
void serve(const Trip& trip, const Scatter& call) {
    scatter(trip, call);
}
void serve(const Trip& trip, const ReduceScatter& call) {
    reduce_scatter(trip, bytes_of(call.inputs), call.output, call.op, false);
}
void serve(const Trip& trip, const ReduceScatterTensor& call) {
    reduce_scatter(trip, parts_of(call.input, trip.hosts.ranks()), call.output, call.op, true);
}
void serve(const Trip& trip, const AllToAllSingle& call) {
    all_to_all(trip, call);
}
void serve(const Trip& trip, const Parcels& call) {
    broadcast_parcel(trip, call);
}
// That all have some, all ranks must know before those of a host share theirs, and keep it.
void serve(const Trip& trip, const Alloc& call) {
    if (trip.team != nullptr) shm::refuse_excess(*trip.team, call);
    Exchange exchange = trip.among_all();
    algorithm::run(exchange, call);
    if (trip.team != nullptr && call.outcome->without < 0) shm::share(*trip.team, call);
}
void serve(const Trip&, const AllToAll&) {
    TUTTI_ASSERT(false);
}
void serve(const Trip&, const MonitoredBarrier&) {
    TUTTI_ASSERT(false);
}
void serve(const Trip&, const AllReduceAddends&) {
    TUTTI_ASSERT(false);
}
void serve(const Trip&, const Coalesced&) {
    TUTTI_ASSERT(false);  // each of its calls has a trip of its own
}

}  // namespace

void run(const Trip& trip, const Collective& call) {
    const Hosts& hosts = trip.hosts;
    const bool over_hosts =
        hosts.most() > 1 &&
        std::visit([&](const auto& one) { return is_served(hosts, one); }, call);
    if (over_hosts) return std::visit([&](const auto& one) { serve(trip, one); }, call);
    Exchange exchange = trip.among_all();
    algorithm::run(exchange, call);
}

}  // namespace tutti::hierarchy
