#include "backend/shm/collectives.hpp"
#include "trip.hpp"

namespace tutti::hierarchy {

Reduction inside(const Reduction& reduction) {
    if (!(reduction.op == TUTTI_AVG)) return reduction;
    return {reduction.dtype, TUTTI_SUM};
}

Reduction between(const Reduction& reduction) {
    if (reduction.op.factor() == nullptr) return inside(reduction);
    return {reduction.dtype, TUTTI_SUM};
}

void reduce_inside(const Trip& trip, ConstBytes input, Bytes output, int place,
                   const Reduction& reduction) {
    if (trip.team != nullptr) return shm::reduce(*trip.team, input, output, place, reduction);
    reduction.begin(output, input);
}

void broadcast_inside(const Trip& trip, Bytes data, int place) {
    if (trip.team != nullptr) shm::broadcast(*trip.team, data, place);
}

void reduce_scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                           const Reduction& reduction) {
    if (trip.team != nullptr) return shm::reduce_scatter(*trip.team, inputs, output, reduction);
    reduction.begin(output, inputs.front());
}

void all_gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs) {
    if (trip.team != nullptr) return shm::all_gather(*trip.team, input, outputs);
    copy(outputs.front(), input);
}

void gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs,
                   size_t longest, int place) {
    if (trip.team != nullptr) return shm::gather(*trip.team, input, outputs, longest, place);
    copy(outputs.front(), input);
}

void scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                    size_t longest, int place) {
    if (trip.team != nullptr) return shm::scatter(*trip.team, inputs, output, longest, place);
    copy(output, inputs.front());
}

}  // namespace tutti::hierarchy
