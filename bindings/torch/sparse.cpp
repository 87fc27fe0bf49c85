// Sums of sparse tensors: every rank gets the entries of all, as bytes, and adds those of one place
// in the order of ranks.
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <tutti/object_collectives.h>

#include <cstring>
#include <utility>

#include "handles.hpp"
#include "issue.hpp"

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

// A rank's message is words, then the places of its entries, then their values. The first word is
// the number of entries; the others must be the same on all ranks.
enum Word : int64_t { COUNT, DTYPE, SPARSE_DIM, DIM, SIZES };
constexpr int64_t word_size = sizeof(int64_t);

at::Tensor as_bytes(const at::Tensor& tensor) {
    return tensor.cpu().contiguous().reshape(-1).view(at::kByte);
}

at::Tensor message_of(const at::Tensor& own) {
    std::vector<int64_t> words{own._nnz(), static_cast<int64_t>(own.scalar_type()),
                               own.sparse_dim(), own.dim()};
    words.insert(words.end(), own.sizes().begin(), own.sizes().end());
    return at::cat({as_bytes(at::tensor(words)), as_bytes(own.indices()), as_bytes(own.values())});
}

// What the words of a message say.
std::string text_of(const int64_t* words, int64_t size) {
    const int64_t dimensions = size / word_size - SIZES;
    if (dimensions < 0 || words[DIM] < 0 || words[DIM] > dimensions) return "something else";
    const at::IntArrayRef shape(words + SIZES, static_cast<size_t>(words[DIM]));
    return c10::str("a sparse tensor of ", static_cast<at::ScalarType>(words[DTYPE]), ", shape ",
                    shape, " and sparse_dim ", words[SPARSE_DIM]);
}

// One call, until its tensor has the sum. All that its ranks exchange is one collective, so that
// it runs in the background beside others in their order, and has one timeout.
class SparseSum {
public:
    SparseSum(const at::Tensor& tensor, int ranks)
        : tensor_(tensor),
          own_(tensor.coalesce()),
          message_(message_of(own_)),
          received_(static_cast<size_t>(ranks)) {}

    tutti_status start(const At& at) {
        const bool is_now = at.work == nullptr;
        const tutti_status status = tutti_all_gather_bytes(
            at.group, message_.data_ptr(), static_cast<size_t>(message_.numel()), INT64_MAX,
            at.options, is_now ? received_.data() : nullptr, is_now ? received_.count() : 0,
            at.work, at.error);
        if (!is_now && status == TUTTI_OK) work_ = *at.work;
        return status;
    }

    // Once it has succeeded.
    void finish() {
        if (work_ != nullptr) {
            tutti_error error = no_error();
            check(tutti_work_take_bytes(work_, received_.data(), received_.count(), &error), error);
        }
        const at::NoGradGuard no_grad;
        Tensors places, values;
        for (tutti_bytes* one : received_) {
            auto* const message = static_cast<char*>(const_cast<void*>(tutti_bytes_data(one)));
            const auto size = static_cast<int64_t>(tutti_bytes_size(one));
            const int64_t count = entries_in(message, size, places.size());
            auto sizes = own_.values().sizes().vec();
            sizes[0] = count;
            char* const first = message + head_size();
            places.push_back(at::from_blob(first, {own_.sparse_dim(), count}, at::kLong));
            values.push_back(at::from_blob(first + word_size * own_.sparse_dim() * count, sizes,
                                           own_.scalar_type()));
        }
        const at::Tensor sum =
            at::sparse_coo_tensor(at::cat(places, 1), at::cat(values, 0), own_.sizes());
        tensor_.copy_(sum.coalesce());
    }

private:
    int64_t head_size() const { return word_size * (SIZES + own_.dim()); }

    int64_t entry_size() const {
        const at::Tensor values = own_.values();
        const int64_t elements = c10::multiply_integers(values.sizes().slice(1));
        return word_size * own_.sparse_dim() + elements * values.element_size();
    }

    int64_t entries_in(const void* message, int64_t size, size_t rank) const {
        const auto* const words = static_cast<const int64_t*>(message);
        const auto* const own = static_cast<const int64_t*>(message_.data_ptr());
        const auto common = static_cast<size_t>(head_size() - word_size);
        if (size >= head_size() && std::memcmp(words + 1, own + 1, common) == 0 &&
            words[COUNT] >= 0 && words[COUNT] <= size &&
            size == head_size() + words[COUNT] * entry_size()) {
            return words[COUNT];
        }
        C10_THROW_ERROR(ValueError,
                        c10::str("tutti: all_reduce got ", text_of(own, message_.numel()),
                                 ", and on rank ", rank, " ", text_of(words, size)));
    }

    const at::Tensor tensor_;
    const at::Tensor own_;
    const at::Tensor message_;
    ByteStrings received_;
    tutti_work* work_ = nullptr;  // of the operation, which lives as long as it
};

}  // namespace

WorkPtr Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
    const at::Tensor& tensor = only(tensors, "all_reduce");
    check_can_sum(tensor, options);
    if (is_collecting()) {
        C10_THROW_ERROR(NotImplementedError,
                        "tutti: all_reduce of a sparse tensor cannot be one of coalesced calls");
    }
    const at::NoGradGuard no_grad;
    const auto sum = std::make_shared<SparseSum>(tensor, size_);
    Operands operands("all_reduce", Use::moves);
    operands.read_until(tensor, [sum] { sum->finish(); });
    return issue(
        {c10d::OpType::ALLREDUCE, "tutti:all_reduce", options.timeout, compat::is_async(options)},
        std::move(operands), tensors, [&](const At& at) { return sum->start(at); });
}

}  // namespace tutti_torch
