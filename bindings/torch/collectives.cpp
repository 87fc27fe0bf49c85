// Broadcasts, reductions and barriers.
#include <utility>

#include "issue.hpp"
#include "reduce_op.hpp"

namespace tutti_torch {

using c10d::OpType;

namespace {

int32_t root_of(int64_t root) {
    return static_cast<int32_t>(root);
}

// Complex numbers as pairs of real ones, which PyTorch 2.6 does not make of them for a broadcast
// as later versions do.
tutti_buffer real_pairs(tutti_buffer buffer) {
    if (buffer.dtype != TUTTI_COMPLEX64 && buffer.dtype != TUTTI_COMPLEX128) return buffer;
    buffer.dtype = buffer.dtype == TUTTI_COMPLEX64 ? TUTTI_FLOAT32 : TUTTI_FLOAT64;
    buffer.count *= 2;
    return buffer;
}

}  // namespace

const at::Tensor& only(const Tensors& tensors, const char* call) {
    if (tensors.size() == 1) return tensors.front();
    C10_THROW_ERROR(ValueError,
                    c10::str("tutti: ", call, " takes one tensor, and got ", tensors.size()));
}

const Tensors& only(const std::vector<Tensors>& lists, const char* call) {
    if (lists.size() == 1) return lists.front();
    C10_THROW_ERROR(ValueError, c10::str("tutti: ", call, " takes one list of tensors, and got ",
                                         lists.size()));
}

void check_pairs(size_t outputs, size_t inputs, const char* call) {
    if (outputs == inputs) return;
    C10_THROW_ERROR(ValueError, c10::str("tutti: ", call, " got ", outputs, " outputs for ", inputs,
                                         " inputs"));
}

WorkPtr Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
    const at::Tensor& tensor = only(tensors, "broadcast");
    Operands operands("broadcast", Use::moves);
    const bool is_source = options.rootRank == rank_;
    const tutti_buffer buffer =
        real_pairs(is_source ? operands.input(tensor) : operands.output(tensor));
    return issue({OpType::BROADCAST, "tutti:broadcast", options.timeout, compat::is_async(options)},
                 std::move(operands), tensors, [&](const At& at) {
                     return tutti_broadcast(at.group, &buffer, root_of(options.rootRank),
                                            at.options, at.work, at.error);
                 });
}

WorkPtr Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
    const at::Tensor& tensor = only(tensors, "all_reduce");
    if (tensor.layout() != at::kStrided) return allreduce_sparse(tensors, options);
    Operands operands("all_reduce", Use::reduces);
    const tutti_buffer buffer = operands.update(tensor);
    const Op op(options.reduceOp);
    return issue(
        {OpType::ALLREDUCE, "tutti:all_reduce", options.timeout, compat::is_async(options)},
        std::move(operands), tensors, [&](const At& at) {
            return tutti_all_reduce(at.group, nullptr, &buffer, op, at.options, at.work, at.error);
        });
}

WorkPtr Backend::allreduce_coalesced(Tensors& tensors,
                                     const c10d::AllreduceCoalescedOptions& options) {
    Operands operands("all_reduce_coalesced", Use::reduces);
    Operands::Buffers buffers;
    for (const at::Tensor& tensor : tensors) buffers.push_back(operands.update(tensor));
    const Op op(options.reduceOp);
    return issue_together({OpType::ALLREDUCE_COALESCED, "tutti:all_reduce_coalesced",
                           options.timeout, compat::is_async(options)},
                          std::move(operands), tensors, buffers.size(),
                          [&](size_t i, tutti_group* group, tutti_error* error) {
                              return tutti_all_reduce(group, nullptr, &buffers[i], op, nullptr,
                                                      nullptr, error);
                          });
}

WorkPtr Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
    const at::Tensor& tensor = only(tensors, "reduce");
    Operands operands("reduce", Use::reduces);
    const bool is_root = options.rootRank == rank_;
    const tutti_buffer buffer = is_root ? operands.update(tensor) : operands.input(tensor);
    const Op op(options.reduceOp);
    return issue({OpType::REDUCE, "tutti:reduce", options.timeout, compat::is_async(options)},
                 std::move(operands), tensors, [&](const At& at) {
                     return tutti_reduce(at.group, is_root ? nullptr : &buffer,
                                         is_root ? &buffer : nullptr, op, root_of(options.rootRank),
                                         at.options, at.work, at.error);
                 });
}

WorkPtr Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                const c10d::ReduceScatterOptions& options) {
    Operands operands("reduce_scatter", Use::reduces);
    const auto pieces = operands.inputs(only(inputs, "reduce_scatter"));
    const tutti_buffer output = operands.output(only(outputs, "reduce_scatter"));
    const Op op(options.reduceOp);
    return issue({OpType::REDUCE_SCATTER, "tutti:reduce_scatter", options.timeout,
                  compat::is_async(options)},
                 std::move(operands), outputs, [&](const At& at) {
                     return tutti_reduce_scatter(at.group, pieces.data(),
                                                 static_cast<int64_t>(pieces.size()), &output, op,
                                                 at.options, at.work, at.error);
                 });
}

WorkPtr Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                      const c10d::ReduceScatterOptions& options) {
    Operands operands("reduce_scatter_tensor", Use::reduces);
    const tutti_buffer in = operands.input(input);
    const tutti_buffer out = operands.output(output);
    const Op op(options.reduceOp);
    return issue({OpType::_REDUCE_SCATTER_BASE, "tutti:_reduce_scatter_base", options.timeout,
                  compat::is_async(options)},
                 std::move(operands), {output}, [&](const At& at) {
                     return tutti_reduce_scatter_tensor(at.group, &in, &out, op, at.options,
                                                        at.work, at.error);
                 });
}

WorkPtr Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                 const c10d::ReduceScatterOptions& options) {
    check_pairs(outputs.size(), inputs.size(), "reduce_scatter_tensor_coalesced");
    Operands operands("reduce_scatter_tensor_coalesced", Use::reduces);
    const auto ins = operands.inputs(inputs);
    const auto outs = operands.outputs(outputs);
    const Op op(options.reduceOp);
    return issue_together({OpType::COALESCED, "tutti:reduce_scatter_tensor_coalesced",
                           options.timeout, compat::is_async(options)},
                          std::move(operands), outputs, ins.size(),
                          [&](size_t i, tutti_group* group, tutti_error* error) {
                              return tutti_reduce_scatter_tensor(group, &ins[i], &outs[i], op,
                                                                 nullptr, nullptr, error);
                          });
}

WorkPtr Backend::barrier(const c10d::BarrierOptions& options) {
    return issue({OpType::BARRIER, "tutti:barrier", options.timeout, compat::is_async(options)},
                 Operands("barrier", Use::moves), {}, [](const At& at) {
                     return tutti_barrier(at.group, at.options, at.work, at.error);
                 });
}

void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
    const Operands none("monitored_barrier", Use::moves);
    const tutti_call_options call = call_options(options.timeout, none);
    tutti_error error = no_error();
    check(tutti_monitored_barrier(group_, wait_all_ranks ? 1 : 0, &call, &error), error);
}

}  // namespace tutti_torch
