// Reductions: gloo::allreduce and gloo::reduce, which combine two inputs at a time. Where all
// inputs of an element must be combined at once, ranks exchange parts, the host reduces each, and
// the results are shared: functions of the program, and floating point among tutti's ranks alone,
// whose sums are rounded once and may be reproducible.
#include <gloo/allreduce.h>
#include <gloo/reduce.h>
#include <gloo/types.h>

#include <cstring>

#include "collectives.hpp"

namespace tutti::gloo_module {

namespace {

bool is_scatter(const tutti_backend_call& call) {
    return call.kind == TUTTI_CALL_REDUCE_SCATTER || call.kind == TUTTI_CALL_REDUCE_SCATTER_TENSOR;
}

bool is_integer(tutti_dtype dtype) {
    return dtype <= TUTTI_UINT64 || dtype == TUTTI_BOOL;
}

int64_t total_count(const tutti_backend_call& call) {
    int64_t count = 0;
    for (int64_t i = 0; i < call.input_count; ++i) count += call.inputs[i].count;
    return count;
}

// An element of that size, for Gloo's templates, which look at nothing else.
template <size_t Size>
struct Element {
    char bytes[Size];
};

// Calls `with` with an Element of `size` bytes.
template <typename With>
void with_element(size_t size, With&& with) {
    switch (size) {
        case 1:
            return with(Element<1>{});
        case 2:
            return with(Element<2>{});
        case 4:
            return with(Element<4>{});
        case 8:
            return with(Element<8>{});
        case 16:
            return with(Element<16>{});
        default:
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          "elements of " + std::to_string(size) + " bytes are not known to gloo"};
    }
}

}  // namespace

bool Collectives::must_reduce_at_once(const tutti_backend_call& call) const {
    return is_scatter(call) || call.op > TUTTI_PREMUL_SUM || !is_integer(call.dtype);
}

void Collectives::reduce(const tutti_backend_call& call) {
    if (has_pytorch_peers_) return reduce_with_pytorch(call);
    if (must_reduce_at_once(call)) return reduce_at_once(call);
    reduce_by_gloo(call);
}

void Collectives::all_reduce(void* data, int64_t count, size_t element_size,
                             const Function& function) {
    gloo::AllreduceOptions options(context_);
    options.setTag(next_tag());
    options.setReduceFunction(function);
    with_element(element_size, [&]<typename One>(One) {
        options.setOutput(static_cast<One*>(data), static_cast<size_t>(count));
    });
    gloo::allreduce(options);
}

void Collectives::reduce_by_gloo(const tutti_backend_call& call) {
    const tutti_piece& input = call.inputs[0];
    const bool is_all = call.kind == TUTTI_CALL_ALL_REDUCE;
    const bool is_pairs =
        has_pytorch_peers_ && (call.dtype == TUTTI_COMPLEX64 || call.dtype == TUTTI_COMPLEX128);
    const size_t element_size = is_pairs ? call.element_size / 2 : call.element_size;
    const int64_t count = is_pairs ? input.count * 2 : input.count;
    const bool has_result = is_all || call.root == rank_;
    std::vector<char> copy(has_result ? 0 : bytes_of(input.count, call));
    char* const data = has_result ? static_cast<char*>(call.outputs[0].data) : copy.data();
    host_.reduce_begin(&call, input.data, data, input.count);
    if (is_all) {
        all_reduce(data, count, element_size, function_for(call));
    } else {
        gloo::ReduceOptions options(context_);
        options.setTag(next_tag());
        options.setRoot(call.root);
        options.setReduceFunction(function_for(call));
        with_element(element_size, [&]<typename One>(One) {
            options.setOutput(reinterpret_cast<One*>(data), static_cast<size_t>(count));
        });
        gloo::reduce(options);
    }
    if (has_result) host_.reduce_end(&call, data, input.count);
}

void Collectives::reduce_at_once(const tutti_backend_call& call) {
    const int64_t count = total_count(call);
    std::vector<char> begun(bytes_of(count, call));
    std::vector<int64_t> parts;
    char* next = begun.data();
    for (int64_t i = 0; i < call.input_count; ++i) {
        host_.reduce_begin(&call, call.inputs[i].data, next, call.inputs[i].count);
        next += bytes_of(call.inputs[i].count, call);
    }
    for (int rank = 0; rank < size_; ++rank) {
        const int64_t part = is_scatter(call) ? call.inputs[rank].count
                                              : count * (rank + 1) / size_ - count * rank / size_;
        parts.push_back(static_cast<int64_t>(bytes_of(part, call)));
    }
    const auto own = static_cast<size_t>(parts[static_cast<size_t>(rank_)]);
    std::vector<char> all(own * parts.size());
    exchange(begun.data(), parts, all.data(),
             std::vector<int64_t>(parts.size(), static_cast<int64_t>(own)));
    std::vector<const void*> of_ranks;
    for (size_t rank = 0; rank < parts.size(); ++rank) of_ranks.push_back(all.data() + rank * own);
    std::vector<char> result(own);
    const auto elements = static_cast<int64_t>(own / call.element_size);
    tutti_error error = TUTTI_ERROR_INIT;
    const tutti_status status =
        host_.reduce(&call, of_ranks.data(), size_, result.data(), elements, &error);
    if (status != TUTTI_OK) throw Failure{status, error.message, error.rank};
    host_.reduce_end(&call, result.data(), elements);
    if (is_scatter(call)) {
        if (own > 0) std::memcpy(call.outputs[0].data, result.data(), own);
        return;
    }
    if (call.kind == TUTTI_CALL_ALL_REDUCE) {
        return share(result.data(), own, call.outputs[0].data, {parts.begin(), parts.end()});
    }
    std::vector<int64_t> sends(parts.size(), 0);
    sends[static_cast<size_t>(call.root)] = static_cast<int64_t>(own);
    const bool is_root = call.root == rank_;
    exchange(result.data(), sends, is_root ? call.outputs[0].data : nullptr,
             is_root ? parts : std::vector<int64_t>(parts.size(), 0));
}

}  // namespace tutti::gloo_module
