// The function for each call over shared memory: the one place in this folder that knows the kinds
// of calls.
#include <algorithm>

#include "collectives.hpp"

namespace tutti::shm {

namespace {

using algorithm::reduction_of;
using Kind = FlatCall::Kind;

void run_all_to_all(Team& team, const FlatCall& call) {
    if (call.sizes == FlatCall::Sizes::Even) return all_to_all(team, call.inputs, call.outputs);
    uneven_all_to_all(team, call.inputs, call.outputs, call.in_place, call.dtype);
}

void run_coalesced(Team& team, const FlatCall& call) {
    for (const FlatCall& one : call.calls) handler_for(one)(team, one);
}

}  // namespace

Server handler_for(const FlatCall& call) {
    switch (call.kind) {
        case Kind::Broadcast:
            return [](Team& team, const FlatCall& one) { broadcast(team, one.buffer(), one.root); };
        case Kind::AllReduce:
            return [](Team& team, const FlatCall& one) {
                all_reduce(team, one.input(), one.output(), reduction_of(one));
            };
        case Kind::Barrier:
            return [](Team& team, const FlatCall&) { barrier(team); };
        case Kind::Reduce:
            return [](Team& team, const FlatCall& one) {
                reduce(team, one.input(), one.output(), one.root, reduction_of(one));
            };
        case Kind::AllGather:
            return
                [](Team& team, const FlatCall& one) { all_gather(team, one.input(), one.outputs); };
        case Kind::Gather:
            return [](Team& team, const FlatCall& one) {
                gather(team, one.input(), one.outputs, one.input().size(), one.root);
            };
        case Kind::Scatter:
            return [](Team& team, const FlatCall& one) {
                scatter_evenly(team, one.inputs, one.output(), one.root);
            };
        case Kind::ReduceScatter:
            return [](Team& team, const FlatCall& one) {
                reduce_scatter(team, one.inputs, one.output(), reduction_of(one));
            };
        case Kind::AllToAll:
            return run_all_to_all;
        case Kind::ByteStrings:
            return [](Team& team, const FlatCall& one) { byte_strings(team, *one.byte_strings); };
        case Kind::AllReduceAddends:
            return [](Team& team, const FlatCall& one) {
                all_reduce_addends(team, one.inputs, one.output(), reduction_of(one));
            };
        case Kind::Alloc:
            return [](Team& team, const FlatCall& one) { alloc(team, *one.alloc); };
        case Kind::Coalesced:
            return std::ranges::all_of(call.calls, handler_for) ? run_coalesced : nullptr;
    }
    return nullptr;
}

}  // namespace tutti::shm
