// What serves which call over hosts: the one place in this folder that knows the kinds of calls.
#include "backend/shm/collectives.hpp"
#include "call/alloc.hpp"
#include "collectives.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

using Kind = FlatCall::Kind;
using Server = void (*)(const Trip& trip, const FlatCall& call);

bool is_whole(const FlatCall& call) {
    return call.sizes == FlatCall::Sizes::Even;
}

// That all have some, all ranks must know before those of a host share theirs, and keep it.
void alloc(const Trip& trip, const FlatCall& call) {
    if (trip.team != nullptr) shm::refuse_excess(*trip.team, *call.alloc);
    Exchange exchange = trip.among_all();
    algorithm::alloc(exchange, *call.alloc);
    if (trip.team != nullptr && call.alloc->outcome->without < 0) {
        shm::share(*trip.team, *call.alloc);
    }
}

// Null where ranks cannot combine host by host: an op that does not commute takes the ranks in
// their order, and sums that are rounded once are not made in steps.
Server reducer_of(const Hosts& hosts, const FlatCall& call) {
    const Reduction reduction = reduction_of(call);
    if (reduction.must_combine_at_once(hosts.ranks())) return nullptr;
    if (!reduction.op.is_commutative() && !hosts.are_in_order()) return nullptr;
    if (call.kind == Kind::AllReduce) {
        return [](const Trip& trip, const FlatCall& one) {
            all_reduce(trip, one.input(), one.output(), reduction_of(one));
        };
    }
    if (call.kind == Kind::Reduce) {
        return [](const Trip& trip, const FlatCall& one) {
            reduce(trip, one.input(), one.output(), one.root, reduction_of(one));
        };
    }
    return [](const Trip& trip, const FlatCall& one) {
        reduce_scatter(trip, one.inputs, one.output(), reduction_of(one), is_whole(one));
    };
}

// What runs such a call over hosts, the same on all ranks; null: nothing does, and it takes the
// channel. That are calls of which only some ranks know how much goes where, or that say who is
// there, and byte strings that differ from rank to rank.
Server server_of(const Hosts& hosts, const FlatCall& call) {
    switch (call.kind) {
        case Kind::Broadcast:
            return [](const Trip& trip, const FlatCall& one) {
                broadcast(trip, one.buffer(), one.root);
            };
        case Kind::AllReduce:
        case Kind::Reduce:
        case Kind::ReduceScatter:
            return reducer_of(hosts, call);
        case Kind::Barrier:
            return [](const Trip& trip, const FlatCall&) { barrier(trip); };
        case Kind::AllGather:
            return [](const Trip& trip, const FlatCall& one) {
                all_gather(trip, one.input(), one.outputs, is_whole(one));
            };
        case Kind::Gather:
            return [](const Trip& trip, const FlatCall& one) {
                gather(trip, one.input(), one.outputs, one.root);
            };
        case Kind::Scatter:
            return [](const Trip& trip, const FlatCall& one) {
                scatter(trip, one.inputs, one.output(), one.root);
            };
        case Kind::AllToAll:
            if (!is_whole(call) || call.input().size() < shortest_straight_piece) return nullptr;
            return [](const Trip& trip, const FlatCall& one) {
                all_to_all(trip, one.inputs, one.outputs, one.in_place);
            };
        case Kind::ByteStrings:
            if (call.byte_strings->pattern != ByteStrings::Pattern::Broadcast) return nullptr;
            return [](const Trip& trip, const FlatCall& one) {
                broadcast_byte_string(trip, *one.byte_strings);
            };
        case Kind::Alloc:
            return alloc;
        case Kind::MonitoredBarrier:
        case Kind::AllReduceAddends:
        case Kind::Coalesced:  // each of its calls has a trip of its own
            return nullptr;
    }
    return nullptr;
}

}  // namespace

void run(const Trip& trip, const FlatCall& call) {
    const Server server = trip.hosts.most() > 1 ? server_of(trip.hosts, call) : nullptr;
    if (server != nullptr) return server(trip, call);
    Exchange exchange = trip.among_all();
    algorithm::run(exchange, call);
}

}  // namespace tutti::hierarchy
