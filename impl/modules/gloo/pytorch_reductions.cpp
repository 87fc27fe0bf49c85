// Reduces as ProcessGroupGloo does, for groups with PyTorch's ranks: complex numbers are
// pairs of real ones; the mean is the sum, which every rank divides by itself; reduce_scatter is
// one all_reduce of a copy, and of a list one for each rank's piece.
#include <cstring>

#include "collectives.hpp"

namespace tutti::gloo_module {

namespace {

bool is_complex(const tutti_backend_call& call) {
    return call.dtype == TUTTI_COMPLEX64 || call.dtype == TUTTI_COMPLEX128;
}

template <typename Real>
void sum(void* output, const void* first, const void* second, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        static_cast<Real*>(output)[i] =
            static_cast<const Real*>(first)[i] + static_cast<const Real*>(second)[i];
    }
}

std::vector<char> copy_of(const tutti_backend_call& call, const tutti_backend_host& host,
                          const tutti_piece* pieces, int64_t count) {
    size_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) bytes += bytes_of(pieces[i].count, call);
    std::vector<char> copy(bytes);
    char* next = copy.data();
    for (int64_t i = 0; i < count; ++i) {
        host.reduce_begin(&call, pieces[i].data, next, pieces[i].count);
        next += bytes_of(pieces[i].count, call);
    }
    return copy;
}

}  // namespace

void Collectives::all_reduce_with_pytorch(const tutti_backend_call& call, void* data,
                                          int64_t count) {
    const int64_t parts = is_complex(call) ? 2 : 1;
    all_reduce(data, count * parts, call.element_size / static_cast<size_t>(parts),
               function_for(call));
    host_.reduce_end(&call, data, count);
}

void Collectives::reduce_with_pytorch(const tutti_backend_call& call) {
    if (call.kind == TUTTI_CALL_REDUCE) return reduce_by_gloo(call);
    if (call.kind == TUTTI_CALL_ALL_REDUCE) {
        const tutti_piece& output = call.outputs[0];
        host_.reduce_begin(&call, call.inputs[0].data, output.data, output.count);
        return all_reduce_with_pytorch(call, output.data, output.count);
    }
    const tutti_piece& output = call.outputs[0];
    const size_t bytes = bytes_of(output.count, call);
    if (call.kind == TUTTI_CALL_REDUCE_SCATTER_TENSOR) {
        std::vector<char> all = copy_of(call, host_, call.inputs, call.input_count);
        all_reduce_with_pytorch(call, all.data(), output.count * size_);
        if (bytes > 0) std::memcpy(output.data, all.data() + bytes * rank_, bytes);
        return;
    }
    std::vector<char> own;
    for (int rank = 0; rank < size_; ++rank) {
        std::vector<char> piece = copy_of(call, host_, call.inputs + rank, 1);
        all_reduce_with_pytorch(call, piece.data(), call.inputs[rank].count);
        if (rank == rank_) own = std::move(piece);
    }
    if (bytes > 0) std::memcpy(output.data, own.data(), bytes);
}

// A list of all_reduces is one of their tensors behind each other.
void Collectives::all_reduce_many(const tutti_backend_call& list) {
    if (list.call_count == 0) return;
    const tutti_backend_call& first = *list.calls[0];
    std::vector<tutti_piece> inputs;
    int64_t count = 0;
    for (int64_t i = 0; i < list.call_count; ++i) {
        const tutti_backend_call& one = *list.calls[i];
        const bool fits =
            one.kind == TUTTI_CALL_ALL_REDUCE && one.dtype == first.dtype && one.op == first.op;
        if (!fits) {
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          "with PyTorch's ranks only all_reduces of one dtype and one op are "
                          "coalesced"};
        }
        inputs.push_back(one.inputs[0]);
        count += one.inputs[0].count;
    }
    std::vector<char> all = copy_of(first, host_, inputs.data(), list.call_count);
    all_reduce_with_pytorch(first, all.data(), count);
    const char* next = all.data();
    for (int64_t i = 0; i < list.call_count; ++i) {
        const tutti_piece& output = list.calls[i]->outputs[0];
        const size_t bytes = bytes_of(output.count, first);
        if (bytes > 0) std::memcpy(output.data, next, bytes);
        next += bytes;
    }
}

// The real numbers of complex ones.
Collectives::Function Collectives::function_for(const tutti_backend_call& call) const {
    if (has_pytorch_peers_ && is_complex(call)) {
        return call.dtype == TUTTI_COMPLEX64 ? sum<float> : sum<double>;
    }
    return [this, &call](void* output, const void* first, const void* second, size_t count) {
        const void* const inputs[] = {first, second};
        tutti_error error = TUTTI_ERROR_INIT;
        const tutti_status status =
            host_.reduce(&call, inputs, 2, output, static_cast<int64_t>(count), &error);
        if (status != TUTTI_OK) throw Failure{status, error.message, error.rank};
    };
}

}  // namespace tutti::gloo_module
