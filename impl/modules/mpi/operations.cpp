// The beginning of collectives that move data, and the memory that MPI works on. With the library's
// lock, or on the thread of a call that blocks.
#include <algorithm>
#include <cstring>

#include "moves.hpp"
#include "operation.hpp"

namespace tutti::mpi {

Given inputs_of(const tutti_backend_call& call) {
    return {call.inputs, static_cast<size_t>(call.input_count)};
}
Given outputs_of(const tutti_backend_call& call) {
    return {call.outputs, static_cast<size_t>(call.output_count)};
}

std::vector<int64_t> bytes_of(Given pieces, const tutti_backend_call& call) {
    std::vector<int64_t> bytes;
    for (const tutti_piece& one : pieces) bytes.push_back(one.count * call.element_size);
    return bytes;
}

size_t total_of(Given pieces, const tutti_backend_call& call) {
    size_t bytes = 0;
    for (const tutti_piece& one : pieces)
        bytes += static_cast<size_t>(one.count) * call.element_size;
    return bytes;
}

namespace {

// Where the pieces begin if each follows the one before it; else null.
char* as_one(Given pieces, const tutti_backend_call& call) {
    char* begin = nullptr;
    char* next = nullptr;
    for (const tutti_piece& one : pieces) {
        if (one.count == 0) continue;
        char* const data = static_cast<char*>(one.data);
        if (begin == nullptr) begin = data;
        if (next != nullptr && data != next) return nullptr;
        next = data + one.count * call.element_size;
    }
    return begin;
}

bool overlap(const tutti_backend_call& call) {
    for (const tutti_piece& in : inputs_of(call)) {
        for (const tutti_piece& out : outputs_of(call)) {
            const auto* const a = static_cast<const char*>(in.data);
            const auto* const b = static_cast<const char*>(out.data);
            // MPI compares where they begin, also of pieces of 0 bytes.
            if (a == b ||
                (a < b + out.count * call.element_size && b < a + in.count * call.element_size)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

const char* inputs(Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const Given pieces = inputs_of(call);
    if (operation.is_direct && !overlap(call)) {
        if (const char* const there = as_one(pieces, call)) return there;
    }
    char* const copy = operation.flight.memory.emplace_back(take(total_of(pieces, call))).get();
    char* next = copy;
    for (const tutti_piece& one : pieces) {
        const size_t bytes = static_cast<size_t>(one.count) * call.element_size;
        if (bytes > 0) std::memcpy(next, one.data, bytes);
        next += bytes;
    }
    return copy;
}

char* outputs(Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const Given pieces = outputs_of(call);
    if (operation.is_direct) {
        if (char* const there = as_one(pieces, call)) return there;
    }
    char* const copy = operation.flight.memory.emplace_back(take(total_of(pieces, call))).get();
    operation.then = [&call, copy] {
        const char* next = copy;
        for (const tutti_piece& one : outputs_of(call)) {
            const size_t bytes = static_cast<size_t>(one.count) * call.element_size;
            if (bytes > 0) std::memcpy(one.data, next, bytes);
            next += bytes;
        }
    };
    return copy;
}

namespace {

void broadcast(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const bool is_root = call.root == ranks.rank;
    char* const data = is_root ? const_cast<char*>(inputs(operation)) : outputs(operation);
    const int64_t bytes =
        static_cast<int64_t>(total_of(is_root ? inputs_of(call) : outputs_of(call), call));
    const Typed all = operation.flight.typed(bytes, ranks.settings.max_bytes);
    ranks.call(operation.flight, "MPI_Bcast", MPI_Bcast, MPI_Ibcast, data, all.count, all.type,
               call.root, ranks.comm);
}

void all_gather(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const char* const from = inputs(operation);
    move_to_all(ranks, operation.flight, from, outputs(operation),
                bytes_of(outputs_of(call), call));
}

void gather(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const char* const from = inputs(operation);
    char* const to = call.root == ranks.rank ? outputs(operation) : nullptr;
    const int64_t own = call.inputs->count * call.element_size;
    const std::vector<int64_t> bytes(static_cast<size_t>(ranks.size), own);
    move_to_root(ranks, operation.flight, from, to, bytes, call.root);
}

void scatter(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const char* const from = call.root == ranks.rank ? inputs(operation) : nullptr;
    const int64_t own = call.outputs->count * call.element_size;
    const std::vector<int64_t> bytes(static_cast<size_t>(ranks.size), own);
    move_from_root(ranks, operation.flight, from, outputs(operation), bytes, call.root);
}

void all_to_all(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const char* const from = inputs(operation);
    const bool is_even = (call.flags & TUTTI_CALL_EVEN) != 0;
    const auto most = is_even ? static_cast<int64_t>(total_of(inputs_of(call), call)) : -1;
    char* const to = outputs(operation);
    move_between_all(ranks, operation.flight, from, bytes_of(inputs_of(call), call), to,
                     bytes_of(outputs_of(call), call), most);
}

}  // namespace

void begin(const Ranks& ranks, Operation& operation) {
    switch (operation.call->kind) {
        case TUTTI_CALL_BARRIER:
            return ranks.call(operation.flight, "MPI_Barrier", MPI_Barrier, MPI_Ibarrier,
                              ranks.comm);
        case TUTTI_CALL_BROADCAST:
            return broadcast(ranks, operation);
        case TUTTI_CALL_ALL_GATHER:
        case TUTTI_CALL_ALL_GATHER_INTO_TENSOR:
            return all_gather(ranks, operation);
        case TUTTI_CALL_GATHER:
            return gather(ranks, operation);
        case TUTTI_CALL_SCATTER:
            return scatter(ranks, operation);
        case TUTTI_CALL_ALL_TO_ALL:
        case TUTTI_CALL_ALL_TO_ALL_SINGLE:
            return all_to_all(ranks, operation);
        default:
            return reduce(ranks, operation);
    }
}

}  // namespace tutti::mpi
