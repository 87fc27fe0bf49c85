// Reductions: by MPI's own ops where these compute what tutti's do, else by the host, which gets
// the inputs of all ranks at once: each rank reduces a part, and the parts are shared.
#include <algorithm>
#include <cstring>

#include "moves.hpp"
#include "operation.hpp"

namespace tutti::mpi {

namespace {

struct Native {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
};

MPI_Datatype type_of(tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_INT8:
            return MPI_INT8_T;
        case TUTTI_UINT8:
            return MPI_UINT8_T;
        case TUTTI_INT16:
            return MPI_INT16_T;
        case TUTTI_UINT16:
            return MPI_UINT16_T;
        case TUTTI_INT32:
            return MPI_INT32_T;
        case TUTTI_UINT32:
            return MPI_UINT32_T;
        case TUTTI_INT64:
            return MPI_INT64_T;
        case TUTTI_UINT64:
            return MPI_UINT64_T;
        case TUTTI_FLOAT32:
            return MPI_FLOAT;
        case TUTTI_FLOAT64:
            return MPI_DOUBLE;
        case TUTTI_COMPLEX64:
            return MPI_C_FLOAT_COMPLEX;
        case TUTTI_COMPLEX128:
            return MPI_C_DOUBLE_COMPLEX;
        default:
            return MPI_DATATYPE_NULL;  // MPI does not compute with it
    }
}

// Bytes that are 0 or 1.
MPI_Op op_of_bool(tutti_reduce_op op) {
    switch (op) {
        case TUTTI_SUM:
        case TUTTI_MAX:
        case TUTTI_BOR:
            return MPI_BOR;
        case TUTTI_PRODUCT:
        case TUTTI_MIN:
        case TUTTI_BAND:
            return MPI_BAND;
        case TUTTI_BXOR:
            return MPI_BXOR;
        default:
            return MPI_OP_NULL;
    }
}

MPI_Op op_of(tutti_reduce_op op, bool is_integer) {
    switch (op) {
        case TUTTI_SUM:
        case TUTTI_AVG:
        case TUTTI_PREMUL_SUM:
            return MPI_SUM;
        case TUTTI_PRODUCT:
            return MPI_PROD;
        // MPI's take a NaN or not, as it comes.
        case TUTTI_MIN:
            return is_integer ? MPI_MIN : MPI_OP_NULL;
        case TUTTI_MAX:
            return is_integer ? MPI_MAX : MPI_OP_NULL;
        case TUTTI_BAND:
            return is_integer ? MPI_BAND : MPI_OP_NULL;
        case TUTTI_BOR:
            return is_integer ? MPI_BOR : MPI_OP_NULL;
        case TUTTI_BXOR:
            return is_integer ? MPI_BXOR : MPI_OP_NULL;
        default:
            return MPI_OP_NULL;
    }
}

Native native(const tutti_backend_call& call) {
    if (call.dtype == TUTTI_BOOL) return {MPI_UINT8_T, op_of_bool(call.op)};
    const MPI_Datatype type = type_of(call.dtype);
    if (type == MPI_DATATYPE_NULL) return {};
    return {type, op_of(call.op, call.dtype <= TUTTI_UINT64)};
}

// Whether what a rank brings is its input as it is.
bool brings_input(const tutti_backend_call& call) {
    return call.op != TUTTI_PREMUL_SUM && call.dtype != TUTTI_BOOL;
}

bool is_scatter(const tutti_backend_call& call) {
    return call.kind == TUTTI_CALL_REDUCE_SCATTER || call.kind == TUTTI_CALL_REDUCE_SCATTER_TENSOR;
}

size_t bytes_of(int64_t count, const tutti_backend_call& call) {
    return static_cast<size_t>(count) * call.element_size;
}

int64_t total_count(const tutti_backend_call& call) {
    int64_t count = 0;
    for (int64_t i = 0; i < call.input_count; ++i) count += call.inputs[i].count;
    return count;
}

// This rank's inputs, one piece after the other.
char* begun_inputs(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    char* const all =
        operation.flight.memory.emplace_back(take(bytes_of(total_count(call), call))).get();
    char* next = all;
    for (int64_t i = 0; i < call.input_count; ++i) {
        const tutti_piece& piece = call.inputs[i];
        ranks.host.reduce_begin(&call, piece.data, next, piece.count);
        next += bytes_of(piece.count, call);
    }
    return all;
}

// all_reduce and reduce, in parts that MPI's int can count.
void reduce_natively(const Ranks& ranks, Operation& operation, MPI_Datatype type, MPI_Op op) {
    const tutti_backend_call& call = *operation.call;
    InFlight& flight = operation.flight;
    const bool is_all = call.kind == TUTTI_CALL_ALL_REDUCE;
    const bool has_result = is_all || call.root == ranks.rank;
    const int64_t count = call.inputs->count;
    const void* const input = call.inputs->data;
    const bool is_as_it_is = operation.is_direct && brings_input(call);
    char* result =
        has_result && operation.is_direct ? static_cast<char*>(call.outputs->data) : nullptr;
    const char* from = static_cast<const char*>(input);
    if (result == nullptr && !(is_as_it_is && !has_result)) {
        result = flight.memory.emplace_back(take(bytes_of(count, call))).get();
    }
    if (!is_as_it_is) ranks.host.reduce_begin(&call, input, result, count);
    if (!is_as_it_is) from = result;
    // MPICH 4.0's MPI_Reduce reads at MPI_IN_PLACE as if it were an address.
    if (ranks.settings.is_blocking && !is_all && has_result && from == result && count > 0) {
        char* const copy = flight.memory.emplace_back(take(bytes_of(count, call))).get();
        from = static_cast<const char*>(std::memcpy(copy, result, bytes_of(count, call)));
    }
    const int64_t part = std::max<int64_t>(ranks.settings.max_bytes / call.element_size, 1);
    int64_t done = 0;
    do {
        const auto now = static_cast<int>(std::min(count - done, part));
        const size_t place = bytes_of(done, call);
        char* const to = result == nullptr ? nullptr : result + place;
        const bool is_in_place = from == result && has_result;
        const void* const what = is_in_place ? MPI_IN_PLACE : from + place;
        if (is_all) {
            ranks.call(flight, "MPI_Allreduce", MPI_Allreduce, MPI_Iallreduce, what, to, now, type,
                       op, ranks.comm);
        } else {
            ranks.call(flight, "MPI_Reduce", MPI_Reduce, MPI_Ireduce, what,
                       has_result ? to : nullptr, now, type, op, call.root, ranks.comm);
        }
        done += now;
    } while (done < count);
    if (!has_result) return;
    operation.then = [&ranks, &call, result, count] {
        ranks.host.reduce_end(&call, result, count);
        if (result != call.outputs->data && count > 0) {
            std::memcpy(call.outputs->data, result, bytes_of(count, call));
        }
    };
}

void reduce_scatter_natively(const Ranks& ranks, Operation& operation, MPI_Datatype type,
                             MPI_Op op) {
    const tutti_backend_call& call = *operation.call;
    InFlight& flight = operation.flight;
    const char* const from =
        brings_input(call) ? inputs(operation) : begun_inputs(ranks, operation);
    const int64_t count = call.outputs->count;
    char* const result = operation.is_direct
                             ? static_cast<char*>(call.outputs->data)
                             : flight.memory.emplace_back(take(bytes_of(count, call))).get();
    std::vector<int> counts;
    for (int64_t i = 0; i < call.input_count; ++i) {
        counts.push_back(static_cast<int>(call.inputs[i].count));
    }
    const int* const kept = flight.numbers.emplace_back(std::move(counts)).data();
    if ((call.flags & TUTTI_CALL_EVEN) != 0) {
        ranks.call(flight, "MPI_Reduce_scatter_block", MPI_Reduce_scatter_block,
                   MPI_Ireduce_scatter_block, from, result, kept[0], type, op, ranks.comm);
    } else {
        ranks.call(flight, "MPI_Reduce_scatter", MPI_Reduce_scatter, MPI_Ireduce_scatter, from,
                   result, kept, type, op, ranks.comm);
    }
    operation.then = [&ranks, &call, result, count] {
        ranks.host.reduce_end(&call, result, count);
        if (result != call.outputs->data && count > 0) {
            std::memcpy(call.outputs->data, result, bytes_of(count, call));
        }
    };
}

// The second step: of what each rank has reduced.
void share_result(const Ranks& ranks, Operation& operation, const char* result,
                  const std::vector<int64_t>& parts) {
    const tutti_backend_call& call = *operation.call;
    operation.blocks = false;
    if (call.kind == TUTTI_CALL_ALL_REDUCE) {
        move_to_all(ranks, operation.flight, result, outputs(operation), parts);
    } else {
        char* const to = call.root == ranks.rank ? outputs(operation) : nullptr;
        move_to_root(ranks, operation.flight, result, to, parts, call.root);
    }
}

void reduce_at_once(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const char* const from = begun_inputs(ranks, operation);
    std::vector<int64_t> parts;  // bytes
    const int64_t count = total_count(call);
    for (int rank = 0; rank < ranks.size; ++rank) {
        const int64_t part = is_scatter(call)
                                 ? call.inputs[rank].count
                                 : count * (rank + 1) / ranks.size - count * rank / ranks.size;
        parts.push_back(static_cast<int64_t>(bytes_of(part, call)));
    }
    const int64_t own = parts[static_cast<size_t>(ranks.rank)];
    const std::vector<int64_t> receives(parts.size(), own);
    char* const all =
        operation.flight.memory.emplace_back(take(static_cast<size_t>(own) * parts.size())).get();
    char* const result = operation.flight.memory.emplace_back(take(static_cast<size_t>(own))).get();
    operation.blocks = !is_scatter(call);
    operation.then = [&ranks, &operation, &call, parts, all, result, own] {
        std::vector<const void*> addends;
        for (size_t rank = 0; rank < parts.size(); ++rank) {
            addends.push_back(all + rank * static_cast<size_t>(own));
        }
        const int64_t elements = own / call.element_size;
        tutti_error error = TUTTI_ERROR_INIT;
        const tutti_status status =
            ranks.host.reduce(&call, addends.data(), ranks.size, result, elements, &error);
        if (status != TUTTI_OK) throw Failure{status, error.message, error.rank};
        ranks.host.reduce_end(&call, result, elements);
        if (!is_scatter(call)) return share_result(ranks, operation, result, parts);
        if (own > 0) std::memcpy(call.outputs->data, result, static_cast<size_t>(own));
    };
    const int64_t most = *std::ranges::max_element(parts) * ranks.size;
    move_between_all(ranks, operation.flight, from, parts, all, receives, most);
}

}  // namespace

void reduce(const Ranks& ranks, Operation& operation) {
    const tutti_backend_call& call = *operation.call;
    const Native it = native(call);
    if (it.op == MPI_OP_NULL || ranks.settings.is_reproducible)
        return reduce_at_once(ranks, operation);
    if (is_scatter(call)) {
        // MPI's has an int for the number of all elements.
        const auto bytes = static_cast<int64_t>(bytes_of(total_count(call), call));
        if (bytes > ranks.settings.max_bytes) return reduce_at_once(ranks, operation);
        return reduce_scatter_natively(ranks, operation, it.type, it.op);
    }
    reduce_natively(ranks, operation, it.type, it.op);
}

}  // namespace tutti::mpi
