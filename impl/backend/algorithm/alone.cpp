// What a collective does in a group of one: an input becomes an output. Reductions make every bool
// 0 or 1, and multiply by their factor, as they do with more ranks.
#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

void move(const ConstView& input, const View& output) {
    copy(output.bytes(), input.bytes());
}

void move_reduced(const ConstView& input, const View& output, const ReduceOp& op) {
    const Reduction reduction{output.dtype, op};
    reduction.begin(output.bytes(), input.bytes());
    if (!op.is_reproducible()) return;
    // A sum of one number, which has other bits only where the number is no number.
    const void* const all[] = {output.data};
    reduction.combine_all(output.bytes(), all, Stores::Ordinary);
}

void serve(const Broadcast&) {}
void serve(const AllReduce& call) {
    move_reduced(call.input, call.output, call.op);
}
void serve(const Barrier&) {}
void serve(const Reduce& call) {
    move_reduced(call.input, call.output, call.op);
}
void serve(const AllGather& call) {
    move(call.input, call.outputs.front());
}
void serve(const AllGatherIntoTensor& call) {
    move(call.input, call.output);
}
void serve(const Gather& call) {
    move(call.input, call.outputs.front());
}
void serve(const Scatter& call) {
    move(call.inputs.front(), call.output);
}
void serve(const ReduceScatter& call) {
    move_reduced(call.inputs.front(), call.output, call.op);
}
void serve(const ReduceScatterTensor& call) {
    move_reduced(call.input, call.output, call.op);
}
void serve(const AllToAll& call) {
    move(call.inputs.front(), call.outputs.front());
}
void serve(const AllToAllSingle& call) {
    move(call.input, call.output);
}
void serve(const MonitoredBarrier&) {}
void serve(const AllReduceAddends& call) {
    all_reduce_addends_alone(call);
}
void serve(const Parcels& call) {
    parcels_alone(call);
}
void serve(const Alloc& call) {
    call.make();
    if (!call.outcome->memory) call.outcome->without = 0;
}
void serve(const Coalesced& call) {
    for (const Collective& one : call.calls) run_alone(one);
}

}  // namespace

void run_alone(const Collective& call) {
    std::visit([](const auto& one) { serve(one); }, call);
}

}  // namespace tutti::algorithm
