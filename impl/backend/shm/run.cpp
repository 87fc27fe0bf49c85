// Which calls go over shared memory, and how a call becomes the memory that moves.
#include "base/assert.hpp"
#include "collectives.hpp"

namespace tutti::shm {

namespace {

// What only some ranks know, how much goes from one rank to another, or who is there, goes over the
// channel.
bool is_served(const MonitoredBarrier&) {
    return false;
}
bool is_served(const AllToAll&) {
    return false;
}
bool is_served(const AllToAllSingle& call) {
    return call.is_even();
}
bool is_served(const Coalesced& call) {
    return std::ranges::all_of(call.calls, serves);
}
template <typename Call>
bool is_served(const Call&) {
    return true;
}

void serve(Team& team, const Broadcast& call) {
    broadcast(team, call.buffer.bytes(), call.source);
}
void serve(Team& team, const AllReduce& call) {
    all_reduce(team, call);
}
void serve(Team& team, const AllReduceAddends& call) {
    all_reduce_addends(team, call);
}
void serve(Team& team, const Barrier&) {
    barrier(team);
}
void serve(Team& team, const Reduce& call) {
    reduce(team, call);
}
void serve(Team& team, const AllGather& call) {
    all_gather(team, call.input.bytes(), bytes_of(call.outputs));
}
void serve(Team& team, const AllGatherIntoTensor& call) {
    all_gather(team, call.input.bytes(), parts_of(call.output, team.size()));
}
void serve(Team& team, const Gather& call) {
    gather(team, call.input.bytes(), bytes_of(call.outputs), call.input.size(), call.destination);
}
void serve(Team& team, const Scatter& call) {
    scatter_evenly(team, bytes_of(call.inputs), call.output.bytes(), call.source);
}
void serve(Team& team, const ReduceScatter& call) {
    reduce_scatter(team, bytes_of(call.inputs), call.output, call.op);
}
void serve(Team& team, const ReduceScatterTensor& call) {
    reduce_scatter(team, parts_of(call.input, team.size()), call.output, call.op);
}
void serve(Team& team, const AllToAllSingle& call) {
    all_to_all(team, parts_of(call.input, team.size()), parts_of(call.output, team.size()));
}
void serve(Team& team, const Parcels& call) {
    parcels(team, call);
}
void serve(Team& team, const Alloc& call) {
    alloc(team, call);
}
void serve(Team& team, const Coalesced& call) {
    for (const Collective& one : call.calls) run(team, one);
}
void serve(Team&, const AllToAll&) {
    TUTTI_ASSERT(false);
}
void serve(Team&, const MonitoredBarrier&) {
    TUTTI_ASSERT(false);
}

}  // namespace

bool serves(const Collective& call) {
    return std::visit([](const auto& one) { return is_served(one); }, call);
}

void run(Team& team, const Collective& call) {
    std::visit([&](const auto& one) { serve(team, one); }, call);
}

}  // namespace tutti::shm
