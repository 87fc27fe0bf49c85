#include "memory.hpp"

namespace tutti {

namespace {

ConstViews as_const(const Views& views) {
    return {views.begin(), views.end()};
}

Memory memory(const Broadcast& call, int rank) {
    if (rank == call.source) return {{}, {call.buffer}};
    return {{call.buffer}, {}};
}
Memory memory(const AllReduce& call, int /*rank*/) {
    return {{call.output}, {call.input}};
}
Memory memory(const AllReduceAddends& call, int /*rank*/) {
    return {{call.output}, call.inputs};
}
Memory memory(const Barrier&, int /*rank*/) {
    return {};
}
Memory memory(const Reduce& call, int rank) {
    if (rank != call.destination) return {{}, {call.input}};
    return {{call.output}, {call.input}};
}
Memory memory(const AllGather& call, int /*rank*/) {
    return {as_const(call.outputs), {call.input}};
}
Memory memory(const AllGatherIntoTensor& call, int /*rank*/) {
    return {{call.output}, {call.input}};
}
Memory memory(const Gather& call, int /*rank*/) {
    return {as_const(call.outputs), {call.input}};
}
Memory memory(const Scatter& call, int /*rank*/) {
    return {{call.output}, call.inputs};
}
Memory memory(const ReduceScatter& call, int /*rank*/) {
    return {{call.output}, call.inputs};
}
Memory memory(const ReduceScatterTensor& call, int /*rank*/) {
    return {{call.output}, {call.input}};
}
Memory memory(const AllToAll& call, int /*rank*/) {
    return {as_const(call.outputs), call.inputs};
}
Memory memory(const AllToAllSingle& call, int /*rank*/) {
    return {{call.output}, {call.input}};
}
Memory memory(const MonitoredBarrier&, int /*rank*/) {
    return {};
}
// Never gathered with others.
Memory memory(const Parcels&, int /*rank*/) {
    return {};
}
Memory memory(const Alloc&, int /*rank*/) {
    return {};
}
Memory memory(const Coalesced& call, int rank) {
    Memory all;
    for (const Collective& one : call.calls) {
        const Memory more = memory_of(one, rank);
        all.written.insert(all.written.end(), more.written.begin(), more.written.end());
        all.read.insert(all.read.end(), more.read.begin(), more.read.end());
    }
    return all;
}

}  // namespace

Memory memory_of(const Collective& call, int rank) {
    return std::visit([rank](const auto& one) { return memory(one, rank); }, call);
}

}  // namespace tutti
