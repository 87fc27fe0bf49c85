// Gathers, scatters and exchanges.
#include <utility>

#include "issue.hpp"

namespace tutti_torch {

using c10d::OpType;

namespace {

int64_t count_of(const Operands::Buffers& buffers) {
    return static_cast<int64_t>(buffers.size());
}

// All results of a call with lists of lists.
Tensors flat(const std::vector<Tensors>& lists) {
    Tensors all;
    for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
}

// The pieces of one tensor along its first dimension, one for each rank.
Tensors pieces_of(const at::Tensor& tensor, int size, const char* call) {
    if (tensor.dim() > 0 && tensor.size(0) % size == 0) return tensor.tensor_split(size);
    C10_THROW_ERROR(ValueError, c10::str("tutti: ", call, " cannot divide a tensor of shape ",
                                         tensor.sizes(), " among ", size, " ranks"));
}

// The rows that go to each rank, as elements of the buffer. PyTorch gives an empty list for equal
// pieces.
std::vector<int64_t> elements_of(const std::vector<int64_t>& rows, const at::Tensor& tensor,
                                 int ranks) {
    const int64_t all_rows = tensor.dim() > 0 ? tensor.size(0) : 1;
    std::vector<int64_t> counts = rows;
    if (rows.empty()) {
        if (all_rows % ranks != 0) {
            C10_THROW_ERROR(ValueError, c10::str("tutti: all_to_all_single cannot divide ",
                                                 all_rows, " rows among ", ranks, " ranks"));
        }
        counts.assign(static_cast<size_t>(ranks), all_rows / ranks);
    }
    int64_t sum = 0;
    for (const int64_t count : counts) sum += count;
    if (counts.size() != static_cast<size_t>(ranks) || sum != all_rows) {
        C10_THROW_ERROR(ValueError,
                        c10::str("tutti: all_to_all_single needs ", ranks,
                                 " split sizes with the sum ", all_rows, ", and got ", counts));
    }
    const int64_t row = all_rows == 0 ? 0 : tensor.numel() / all_rows;
    for (int64_t& count : counts) count *= row * scale_of(tensor, Use::moves);
    return counts;
}

}  // namespace

WorkPtr Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                           const c10d::AllgatherOptions& options) {
    const Tensors& results = only(outputs, "all_gather");
    Operands operands("all_gather", Use::moves);
    const tutti_buffer in = operands.input(only(inputs, "all_gather"));
    const auto outs = operands.outputs(results);
    return issue(
        {OpType::ALLGATHER, "tutti:all_gather", options.timeout, compat::is_async(options)},
        std::move(operands), results, [&](const At& at) {
            return tutti_all_gather(at.group, &in, outs.data(), count_of(outs), at.options, at.work,
                                    at.error);
        });
}

WorkPtr Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                 const c10d::AllgatherOptions& options) {
    Operands operands("all_gather_into_tensor", Use::moves);
    const tutti_buffer in = operands.input(input);
    const tutti_buffer out = operands.output(output);
    return issue({OpType::_ALLGATHER_BASE, "tutti:_all_gather_base", options.timeout,
                  compat::is_async(options)},
                 std::move(operands), {output}, [&](const At& at) {
                     return tutti_all_gather_into_tensor(at.group, &in, &out, at.options, at.work,
                                                         at.error);
                 });
}

WorkPtr Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                     const c10d::AllgatherOptions& options) {
    check_pairs(outputs.size(), static_cast<size_t>(size_), "all_gather_coalesced");
    Operands operands("all_gather_coalesced", Use::moves);
    const auto ins = operands.inputs(inputs);
    std::vector<Operands::Buffers> outs(inputs.size());
    for (const Tensors& of_rank : outputs) {
        check_pairs(of_rank.size(), inputs.size(), "all_gather_coalesced");
        for (size_t i = 0; i < outs.size(); ++i) outs[i].push_back(operands.output(of_rank[i]));
    }
    return issue_together({OpType::ALLGATHER_COALESCED, "tutti:all_gather_coalesced",
                           options.timeout, compat::is_async(options)},
                          std::move(operands), flat(outputs), ins.size(),
                          [&](size_t i, tutti_group* group, tutti_error* error) {
                              return tutti_all_gather(group, &ins[i], outs[i].data(),
                                                      count_of(outs[i]), nullptr, nullptr, error);
                          });
}

WorkPtr Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                 const c10d::AllgatherOptions& options) {
    check_pairs(outputs.size(), inputs.size(), "all_gather_into_tensor_coalesced");
    Operands operands("all_gather_into_tensor_coalesced", Use::moves);
    const auto ins = operands.inputs(inputs);
    const auto outs = operands.outputs(outputs);
    return issue_together({OpType::COALESCED, "tutti:all_gather_into_tensor_coalesced",
                           options.timeout, compat::is_async(options)},
                          std::move(operands), outputs, ins.size(),
                          [&](size_t i, tutti_group* group, tutti_error* error) {
                              return tutti_all_gather_into_tensor(group, &ins[i], &outs[i], nullptr,
                                                                  nullptr, error);
                          });
}

WorkPtr Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::GatherOptions& options) {
    const bool is_root = options.rootRank == rank_;
    const Tensors results = is_root ? only(outputs, "gather") : Tensors();
    Operands operands("gather", Use::moves);
    const tutti_buffer in = operands.input(only(inputs, "gather"));
    const auto outs = operands.outputs(results);
    return issue({OpType::GATHER, "tutti:gather", options.timeout, compat::is_async(options)},
                 std::move(operands), results, [&](const At& at) {
                     return tutti_gather(at.group, &in, is_root ? outs.data() : nullptr,
                                         count_of(outs), static_cast<int32_t>(options.rootRank),
                                         at.options, at.work, at.error);
                 });
}

WorkPtr Backend::gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                    const c10d::GatherOptions& options) {
    std::vector<Tensors> outputs;
    if (options.rootRank == rank_)
        outputs.push_back(pieces_of(output, size_, "gather_into_tensor"));
    Tensors inputs{input};
    return gather(outputs, inputs, options);
}

WorkPtr Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ScatterOptions& options) {
    const bool is_root = options.rootRank == rank_;
    Operands operands("scatter", Use::moves);
    const auto ins = is_root ? operands.inputs(only(inputs, "scatter")) : Operands::Buffers();
    const tutti_buffer out = operands.output(only(outputs, "scatter"));
    return issue({OpType::SCATTER, "tutti:scatter", options.timeout, compat::is_async(options)},
                 std::move(operands), outputs, [&](const At& at) {
                     return tutti_scatter(at.group, is_root ? ins.data() : nullptr, count_of(ins),
                                          &out, static_cast<int32_t>(options.rootRank), at.options,
                                          at.work, at.error);
                 });
}

WorkPtr Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                               std::vector<int64_t>& output_splits,
                               std::vector<int64_t>& input_splits,
                               const c10d::AllToAllOptions& options) {
    const bool is_even = output_splits.empty() && input_splits.empty();
    const std::vector<int64_t> to = elements_of(input_splits, input, size_);
    const std::vector<int64_t> from = elements_of(output_splits, output, size_);
    const int64_t count = is_even ? 0 : size_;
    Operands operands("all_to_all_single", Use::moves);
    const tutti_buffer in = operands.input(input);
    const tutti_buffer out = operands.output(output);
    return issue(
        {OpType::ALLTOALL_BASE, "tutti:all_to_all", options.timeout, compat::is_async(options)},
        std::move(operands), {output}, [&](const At& at) {
            return tutti_all_to_all_single(at.group, &in, is_even ? nullptr : to.data(), count,
                                           &out, is_even ? nullptr : from.data(), count, at.options,
                                           at.work, at.error);
        });
}

WorkPtr Backend::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
    Operands operands("all_to_all", Use::moves);
    const auto ins = operands.inputs(inputs);
    const auto outs = operands.outputs(outputs);
    return issue({OpType::ALLTOALL, "tutti:all_to_all", options.timeout, compat::is_async(options)},
                 std::move(operands), outputs, [&](const At& at) {
                     return tutti_all_to_all(at.group, ins.data(), count_of(ins), outs.data(),
                                             count_of(outs), at.options, at.work, at.error);
                 });
}

}  // namespace tutti_torch
