#include "backend/shm/collectives.hpp"
#include "trip.hpp"

namespace tutti::hierarchy {

ReduceOp inside(const ReduceOp& op) {
    return op == TUTTI_AVG ? ReduceOp(TUTTI_SUM) : op;
}

ReduceOp between(const ReduceOp& op) {
    return op.factor() != nullptr ? ReduceOp(TUTTI_SUM) : inside(op);
}

void reduce_inside(const Trip& trip, const Reduce& call) {
    if (trip.team != nullptr) return shm::reduce(*trip.team, call);
    const algorithm::Reduction reduction{call.input.dtype, call.op};
    reduction.begin(call.output.bytes(), call.input.bytes());
}

void broadcast_inside(const Trip& trip, Bytes data, int place) {
    if (trip.team != nullptr) shm::broadcast(*trip.team, data, place);
}

void reduce_scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, const View& output,
                           const ReduceOp& op) {
    if (trip.team != nullptr) return shm::reduce_scatter(*trip.team, inputs, output, op);
    algorithm::Reduction{output.dtype, op}.begin(output.bytes(), inputs.front());
}

void all_gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs) {
    if (trip.team != nullptr) return shm::all_gather(*trip.team, input, outputs);
    algorithm::copy(outputs.front(), input);
}

void gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs,
                   size_t longest, int place) {
    if (trip.team != nullptr) return shm::gather(*trip.team, input, outputs, longest, place);
    algorithm::copy(outputs.front(), input);
}

void scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                    size_t longest, int place) {
    if (trip.team != nullptr) return shm::scatter(*trip.team, inputs, output, longest, place);
    algorithm::copy(output, inputs.front());
}

}  // namespace tutti::hierarchy
