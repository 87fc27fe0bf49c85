// The function for each call over hosts: the one place in this folder that knows the kinds of
// calls.
#include "backends/shm/collectives.hpp"
#include "call/alloc.hpp"
#include "collectives.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

using Kind = FlatCall::Kind;
using Server = void (*)(const CallContext& context, const FlatCall& call);

bool is_whole(const FlatCall& call) {
    return call.sizes == FlatCall::Sizes::Even;
}

// All ranks agree that every rank has its memory before the ranks of a host share and keep theirs.
void alloc(const CallContext& context, const FlatCall& call) {
    Exchange exchange = context.among_all();
    algorithm::alloc(exchange, *call.alloc);
    if (context.team != nullptr && call.alloc->outcome->without < 0) {
        shm::share(*context.team, *call.alloc);
    }
}

// Null where ranks cannot combine host by host: an op that does not commute takes the ranks in
// their order, and exact sums are not made in steps.
Server reducer_of(const Hosts& hosts, const FlatCall& call) {
    const Reduction reduction = reduction_of(call);
    const bool is_in_steps =
        reduction.accumulates_in_float32() || !reduction.must_combine_at_once(hosts.ranks());
    if (!is_in_steps) return nullptr;
    if (!reduction.op.is_commutative() && !hosts.are_in_order()) return nullptr;
    if (call.kind == Kind::AllReduce) {
        return [](const CallContext& context, const FlatCall& one) {
            all_reduce(context, one.input(), one.output(), reduction_of(one));
        };
    }
    if (call.kind == Kind::Reduce) {
        return [](const CallContext& context, const FlatCall& one) {
            reduce(context, one.input(), one.output(), one.root, reduction_of(one));
        };
    }
    return [](const CallContext& context, const FlatCall& one) {
        reduce_scatter(context, one.inputs, one.output(), reduction_of(one), is_whole(one));
    };
}

// The function that runs such a call over hosts, the same on all ranks; null: the channel does.
// That is for calls whose sizes only some ranks know, and byte strings that differ from rank to
// rank.
Server handler_for(const Hosts& hosts, const FlatCall& call) {
    switch (call.kind) {
        case Kind::Broadcast:
            return [](const CallContext& context, const FlatCall& one) {
                broadcast(context, one.buffer(), one.root);
            };
        case Kind::AllReduce:
        case Kind::Reduce:
        case Kind::ReduceScatter:
            return reducer_of(hosts, call);
        case Kind::Barrier:
            return [](const CallContext& context, const FlatCall&) { barrier(context); };
        case Kind::AllGather:
            return [](const CallContext& context, const FlatCall& one) {
                all_gather(context, one.input(), one.outputs, is_whole(one));
            };
        case Kind::Gather:
            return [](const CallContext& context, const FlatCall& one) {
                gather(context, one.input(), one.outputs, one.root);
            };
        case Kind::Scatter:
            return [](const CallContext& context, const FlatCall& one) {
                scatter(context, one.inputs, one.output(), one.root);
            };
        case Kind::AllToAll:
            if (!is_whole(call) || call.input().size() < min_straight_piece) return nullptr;
            return [](const CallContext& context, const FlatCall& one) {
                all_to_all(context, one.inputs, one.outputs, one.in_place);
            };
        case Kind::ByteStrings:
            if (call.byte_strings->pattern != ByteStrings::Pattern::Broadcast) return nullptr;
            return [](const CallContext& context, const FlatCall& one) {
                broadcast_byte_string(context, *one.byte_strings);
            };
        case Kind::Alloc:
            return alloc;
        case Kind::AllReduceAddends:
        case Kind::Coalesced:  // each of its calls has a context of its own
            return nullptr;
    }
    return nullptr;
}

}  // namespace

void run(const CallContext& context, const FlatCall& call) {
    const Server server = context.hosts.most() > 1 ? handler_for(context.hosts, call) : nullptr;
    if (server != nullptr) return server(context, call);
    Exchange exchange = context.among_all();
    algorithm::run(exchange, call);
}

}  // namespace tutti::hierarchy
