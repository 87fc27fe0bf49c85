#include "null_moves.hpp"

#include <cstdlib>
#include <cstring>

namespace null {

namespace {

using Copy = std::vector<char>;

size_t bytes_of(const tutti_backend_call& call, const tutti_piece& piece) {
    return static_cast<size_t>(piece.count) * call.element_size;
}

void copy(void* to, const char* from, size_t bytes) {
    if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

// The inputs of each rank, one piece after the other. Outputs may be inputs, so nothing is written
// before all is read.
std::vector<Copy> inputs_of(const Calls& calls) {
    std::vector<Copy> all;
    for (const tutti_backend_call* call : calls) {
        Copy& mine = all.emplace_back();
        for (int64_t index = 0; index < call->input_count; ++index) {
            const tutti_piece& piece = call->inputs[index];
            const char* const data = static_cast<const char*>(piece.data);
            mine.insert(mine.end(), data, data + bytes_of(*call, piece));
        }
    }
    return all;
}

// The result of the inputs of all ranks.
Copy reduced(const tutti_backend_host& host, const Calls& calls) {
    const tutti_backend_call& first = *calls.front();
    std::vector<Copy> all = inputs_of(calls);
    Copy& sum = all.front();
    const auto count = static_cast<int64_t>(sum.size() / first.element_size);
    std::vector<const void*> contributions;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        char* const mine = all[rank].data();
        host.reduce_begin(calls[rank], mine, mine, count);
        contributions.push_back(mine);
    }
    const auto ranks = static_cast<int32_t>(calls.size());
    if (host.reduce(&first, contributions.data(), ranks, sum.data(), count, nullptr) != TUTTI_OK) {
        std::abort();  // only functions of the program fail
    }
    host.reduce_end(&first, sum.data(), count);
    return std::move(sum);
}

void broadcast(const Calls& calls) {
    const tutti_backend_call& root = *calls[static_cast<size_t>(calls.front()->root)];
    const tutti_piece& from = root.inputs[0];
    for (const tutti_backend_call* call : calls) {
        if (call == &root) continue;
        copy(call->outputs[0].data, static_cast<const char*>(from.data), bytes_of(root, from));
    }
}

void all_reduce(const tutti_backend_host& host, const Calls& calls) {
    const Copy sum = reduced(host, calls);
    for (const tutti_backend_call* call : calls) {
        if (call->output_count > 0) copy(call->outputs[0].data, sum.data(), sum.size());
    }
}

void reduce_scatter(const tutti_backend_host& host, const Calls& calls) {
    const Copy sum = reduced(host, calls);
    size_t begin = 0;
    for (const tutti_backend_call* call : calls) {
        const size_t bytes = bytes_of(*call, call->outputs[0]);
        copy(call->outputs[0].data, sum.data() + begin, bytes);
        begin += bytes;
    }
}

void all_gather(const Calls& calls) {
    const std::vector<Copy> inputs = inputs_of(calls);
    for (const tutti_backend_call* call : calls) {
        for (size_t from = 0; from < inputs.size(); ++from) {
            copy(call->outputs[from].data, inputs[from].data(), inputs[from].size());
        }
    }
}

void all_to_all(const Calls& calls) {
    const std::vector<Copy> inputs = inputs_of(calls);
    for (size_t from = 0; from < calls.size(); ++from) {
        size_t begin = 0;
        for (size_t to = 0; to < calls.size(); ++to) {
            const size_t bytes = bytes_of(*calls[to], calls[to]->outputs[from]);
            copy(calls[to]->outputs[from].data, inputs[from].data() + begin, bytes);
            begin += bytes;
        }
    }
}

void coalesced(const tutti_backend_host& host, const Calls& calls) {
    for (int64_t index = 0; index < calls.front()->call_count; ++index) {
        Calls step;
        for (const tutti_backend_call* call : calls) step.push_back(call->calls[index]);
        move_data(host, step);
    }
}

}  // namespace

void move_data(const tutti_backend_host& host, const Calls& calls) {
    switch (calls.front()->kind) {
        case TUTTI_CALL_BARRIER:
            return;
        case TUTTI_CALL_BROADCAST:
            return broadcast(calls);
        case TUTTI_CALL_ALL_REDUCE:
        case TUTTI_CALL_REDUCE:
            return all_reduce(host, calls);
        case TUTTI_CALL_REDUCE_SCATTER_TENSOR:
            return reduce_scatter(host, calls);
        case TUTTI_CALL_ALL_GATHER:
        case TUTTI_CALL_ALL_GATHER_INTO_TENSOR:
            return all_gather(calls);
        case TUTTI_CALL_ALL_TO_ALL_SINGLE:
            return all_to_all(calls);
        case TUTTI_CALL_COALESCED:
            return coalesced(host, calls);
        default:  // the host refuses what is not among the capabilities
            std::abort();
    }
}

}  // namespace null
