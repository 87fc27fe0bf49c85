#include "backends/shm/collectives.hpp"
#include "base/block.hpp"
#include "call_context.hpp"

namespace tutti::hierarchy {

namespace {

// The contribution of a rank that is alone on its host.
void bring_alone(ConstBytes input, Bytes output, const Reduction& reduction) {
    if (!reduction.is_partial) return reduction.begin(output, input);
    const Block room(reduction.changes_input() ? input.size() : 0);
    const void* brought = input.data();
    if (reduction.changes_input()) {
        reduction.begin({room.data(), input.size()}, input);
        brought = room.data();
    }
    reduction.combine_all(output, std::span(&brought, 1), Stores::Ordinary);
}

// Long data to be combined as float32: every rank combines a part.
void reduce_by_parts(const CallContext& context, ConstBytes input, Bytes output, int local_rank,
                     const Reduction& reduction) {
    const int ranks = context.team->size();
    const auto inputs = algorithm::even_parts(input, reduction.element(), ranks);
    const size_t mine = inputs[static_cast<size_t>(context.team->rank())].size();
    const Block room(reduction.combined_size(mine));
    const Bytes sum{room.data(), room.size()};
    reduce_scatter_inside(context, inputs, sum, reduction);
    std::vector<Bytes> outputs;
    if (context.team->rank() == local_rank) {
        outputs = algorithm::even_parts(output, sizeof(float), ranks);
    }
    gather_inside(context, sum, outputs, reduction.combined_size(inputs.front().size()),
                  local_rank);
}

}  // namespace

Reduction inside(const Reduction& reduction) {
    Reduction part = reduction;
    if (part.op == TUTTI_AVG) part.op = TUTTI_SUM;
    return reduction.accumulates_in_float32() ? part.partial() : part;
}

Reduction between(const Reduction& reduction) {
    if (reduction.accumulates_in_float32()) return {TUTTI_FLOAT32, TUTTI_SUM};
    if (reduction.op.factor() == nullptr) return inside(reduction);
    return {reduction.dtype, TUTTI_SUM};
}

void reduce_inside(const CallContext& context, ConstBytes input, Bytes output, int local_rank,
                   const Reduction& reduction) {
    if (context.team == nullptr) return bring_alone(input, output, reduction);
    if (reduction.is_partial && shm::shares_combining(input.size(), context.team->size())) {
        return reduce_by_parts(context, input, output, local_rank, reduction);
    }
    shm::reduce(*context.team, input, output, local_rank, reduction);
}

void broadcast_inside(const CallContext& context, Bytes data, int local_rank) {
    if (context.team != nullptr) shm::broadcast(*context.team, data, local_rank);
}

void reduce_scatter_inside(const CallContext& context, std::span<const ConstBytes> inputs,
                           Bytes output, const Reduction& reduction) {
    if (context.team != nullptr)
        return shm::reduce_scatter(*context.team, inputs, output, reduction);
    bring_alone(inputs.front(), output, reduction);
}

void all_gather_inside(const CallContext& context, ConstBytes input,
                       std::span<const Bytes> outputs) {
    if (context.team != nullptr) return shm::all_gather(*context.team, input, outputs);
    copy(outputs.front(), input);
}

void gather_inside(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs,
                   size_t longest, int local_rank) {
    if (context.team != nullptr)
        return shm::gather(*context.team, input, outputs, longest, local_rank);
    copy(outputs.front(), input);
}

void scatter_inside(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
                    size_t longest, int local_rank) {
    if (context.team != nullptr)
        return shm::scatter(*context.team, inputs, output, longest, local_rank);
    copy(output, inputs.front());
}

}  // namespace tutti::hierarchy
