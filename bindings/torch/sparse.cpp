// Sums of sparse tensors: every rank gets the entries of all, and adds those of one place in the
// order of ranks.
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "backend.hpp"

namespace tutti_torch {

namespace {

void check_can_sum(const at::Tensor& tensor, const c10d::AllreduceOptions& options) {
    if (tensor.layout() != at::kSparse) {
        C10_THROW_ERROR(NotImplementedError,
                        c10::str("tutti: all_reduce takes sparse tensors of layout Sparse, and "
                                 "this one has layout ",
                                 tensor.layout(), ": convert it by to_dense()"));
    }
    // PyTorch gives a view of a complex one, which could not get the sum's entries.
    if (tensor.is_complex() || (tensor.is_view() && tensor._base().is_complex())) {
        C10_THROW_ERROR(NotImplementedError,
                        "tutti: all_reduce of sparse tensors takes real numbers, and this one is "
                        "complex: convert it by to_dense()");
    }
    if (options.reduceOp == c10d::ReduceOp::SUM) return;
    C10_THROW_ERROR(NotImplementedError,
                    "tutti: all_reduce has no op but SUM for sparse tensors: convert them by "
                    "to_dense()");
}

// The number of entries comes first, then what must be the same on all ranks.
at::Tensor describe(const at::Tensor& tensor) {
    std::vector<int64_t> words{tensor._nnz(), tensor.sparse_dim()};
    words.insert(words.end(), tensor.sizes().begin(), tensor.sizes().end());
    return at::tensor(words);
}

at::IntArrayRef shape_of(const at::Tensor& words) {
    return {words.data_ptr<int64_t>() + 2, static_cast<size_t>(words.numel()) - 2};
}

void check_same(const at::Tensor& own, const at::Tensor& other, size_t rank) {
    if (own.slice(0, 1).equal(other.slice(0, 1))) return;
    C10_THROW_ERROR(ValueError, c10::str("tutti: all_reduce got a sparse tensor of shape ",
                                         shape_of(own), " with sparse_dim ", own[1].item<int64_t>(),
                                         ", and on rank ", rank, " one of shape ", shape_of(other),
                                         " with sparse_dim ", other[1].item<int64_t>()));
}

}  // namespace

// What each rank has, of which the sizes along dimension `along` are known.
Tensors Backend::gather_uneven(const at::Tensor& own, int64_t along,
                               const std::vector<int64_t>& sizes, Milliseconds timeout) {
    std::vector<Tensors> all(1);
    for (const int64_t size : sizes) {
        auto shape = own.sizes().vec();
        shape[static_cast<size_t>(along)] = size;
        all[0].push_back(at::empty(shape, own.options()));
    }
    Tensors input{own};
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    allgather(all, input, options)->wait();
    return std::move(all[0]);
}

WorkPtr Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
    at::Tensor tensor = only(tensors, "all_reduce");
    check_can_sum(tensor, options);
    if (is_collecting()) {
        C10_THROW_ERROR(NotImplementedError,
                        "tutti: all_reduce of a sparse tensor cannot be one of coalesced calls");
    }
    const at::NoGradGuard no_grad;
    const at::Tensor own = tensor.coalesce();
    const at::Tensor words = describe(own);
    std::vector<int64_t> counts(static_cast<size_t>(size_), words.numel());
    const Tensors others = gather_uneven(words, 0, counts, options.timeout);
    for (size_t rank = 0; rank < others.size(); ++rank) {
        check_same(words, others[rank], rank);
        counts[rank] = others[rank][0].item<int64_t>();
    }
    const Tensors places = gather_uneven(own.indices(), 1, counts, options.timeout);
    const Tensors values = gather_uneven(own.values(), 0, counts, options.timeout);
    tensor.copy_(
        at::sparse_coo_tensor(at::cat(places, 1), at::cat(values, 0), tensor.sizes()).coalesce());
    return c10::make_intrusive<FinishedWork>(c10d::OpType::ALLREDUCE, tensors, sequence_.load());
}

}  // namespace tutti_torch
