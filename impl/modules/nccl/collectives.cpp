#include "collectives.hpp"

#include <unordered_set>

#include "mapping.hpp"

namespace tutti::nccl {

namespace {

size_t count_of(int64_t count, tutti_dtype dtype) {
    return static_cast<size_t>(count) * elements_of(dtype).count;
}

DataType type_of(tutti_dtype dtype) {
    return elements_of(dtype).type;
}

}  // namespace

bool has_overwritten(const tutti_backend_call& call) {
    const bool is_one =
        call.kind == TUTTI_CALL_ALL_TO_ALL || call.kind == TUTTI_CALL_ALL_TO_ALL_SINGLE;
    if (!is_one) return false;
    std::unordered_set<const void*> outputs;
    for (int64_t output = 0; output < call.output_count; ++output) {
        if (call.outputs[output].count > 0) outputs.insert(call.outputs[output].data);
    }
    for (int64_t input = 0; input < call.input_count; ++input) {
        if (call.inputs[input].count > 0 && outputs.count(call.inputs[input].data) > 0) return true;
    }
    return false;
}

bool is_reduction(const tutti_backend_call& call) {
    return call.kind == TUTTI_CALL_ALL_REDUCE || call.kind == TUTTI_CALL_REDUCE ||
           call.kind == TUTTI_CALL_REDUCE_SCATTER || call.kind == TUTTI_CALL_REDUCE_SCATTER_TENSOR;
}

void Putting::put(const Part& part) const {
    const tutti_backend_call& call = *part.call;
    const DataType type = type_of(call.dtype);
    switch (call.kind) {
        case TUTTI_CALL_BROADCAST:
            return broadcast(call);
        case TUTTI_CALL_ALL_REDUCE:
            if (call.outputs[0].count == 0) return;
            return nccl_.check(nccl_.all_reduce(call.inputs[0].data, call.outputs[0].data,
                                                count_of(call.outputs[0].count, call.dtype), type,
                                                part.op, comm_, stream_),
                               "ncclAllReduce", comm_);
        case TUTTI_CALL_REDUCE: {
            const tutti_piece& input = call.inputs[0];
            if (input.count == 0) return;
            void* const output = rank_ == call.root ? call.outputs[0].data : input.data;
            return nccl_.check(nccl_.reduce(input.data, output, count_of(input.count, call.dtype),
                                            type, part.op, call.root, comm_, stream_),
                               "ncclReduce", comm_);
        }
        case TUTTI_CALL_ALL_GATHER:
        case TUTTI_CALL_ALL_GATHER_INTO_TENSOR:
            return all_gather(call);
        case TUTTI_CALL_REDUCE_SCATTER:
        case TUTTI_CALL_REDUCE_SCATTER_TENSOR:
            return reduce_scatter(part);
        case TUTTI_CALL_GATHER:
            return gather(call);
        case TUTTI_CALL_SCATTER:
            return scatter(call);
        case TUTTI_CALL_ALL_TO_ALL:
        case TUTTI_CALL_ALL_TO_ALL_SINGLE:
            return all_to_all(part);
        case TUTTI_CALL_SEND:
            return send(call.inputs[0].data, call.inputs[0].count, call.dtype, call.peer);
        case TUTTI_CALL_RECEIVE:
            return receive(call.outputs[0].data, call.outputs[0].count, call.dtype, call.peer);
        default:
            throw Failure{TUTTI_ERR_UNSUPPORTED, 0, "NCCL has no call of this kind"};
    }
}

void Putting::broadcast(const tutti_backend_call& call) const {
    const tutti_piece& piece = rank_ == call.root ? call.inputs[0] : call.outputs[0];
    if (piece.count == 0) return;
    nccl_.check(nccl_.broadcast(piece.data, piece.data, count_of(piece.count, call.dtype),
                                type_of(call.dtype), call.root, comm_, stream_),
                "ncclBroadcast", comm_);
}

// Pieces of different sizes: each rank broadcasts its own.
void Putting::all_gather(const tutti_backend_call& call) const {
    const tutti_piece& input = call.inputs[0];
    const DataType type = type_of(call.dtype);
    if ((call.flags & TUTTI_CALL_EVEN) != 0) {
        if (input.count == 0) return;
        return nccl_.check(
            nccl_.all_gather(input.data, call.outputs[0].data, count_of(input.count, call.dtype),
                             type, comm_, stream_),
            "ncclAllGather", comm_);
    }
    for (int root = 0; root < size_; ++root) {
        const tutti_piece& output = call.outputs[root];
        if (output.count == 0) continue;
        const void* const from = root == rank_ ? input.data : output.data;
        nccl_.check(nccl_.broadcast(from, output.data, count_of(output.count, call.dtype), type,
                                    root, comm_, stream_),
                    "ncclBroadcast", comm_);
    }
}

// Pieces of different sizes: each is reduced to its rank.
void Putting::reduce_scatter(const Part& part) const {
    const tutti_backend_call& call = *part.call;
    const tutti_piece& output = call.outputs[0];
    const DataType type = type_of(call.dtype);
    if ((call.flags & TUTTI_CALL_EVEN) != 0) {
        if (output.count == 0) return;
        return nccl_.check(
            nccl_.reduce_scatter(call.inputs[0].data, output.data,
                                 count_of(output.count, call.dtype), type, part.op, comm_, stream_),
            "ncclReduceScatter", comm_);
    }
    for (int root = 0; root < size_; ++root) {
        const tutti_piece& input = call.inputs[root];
        if (input.count == 0) continue;
        void* const to = root == rank_ ? output.data : input.data;
        nccl_.check(nccl_.reduce(input.data, to, count_of(input.count, call.dtype), type, part.op,
                                 root, comm_, stream_),
                    "ncclReduce", comm_);
    }
}

void Putting::gather(const tutti_backend_call& call) const {
    const tutti_piece& input = call.inputs[0];
    if (rank_ != call.root) return send(input.data, input.count, call.dtype, call.root);
    for (int from = 0; from < size_; ++from) {
        const tutti_piece& output = call.outputs[from];
        if (from == rank_) {
            if (output.data == input.data) continue;
            send(input.data, input.count, call.dtype, rank_);
        }
        receive(output.data, output.count, call.dtype, from);
    }
}

void Putting::scatter(const tutti_backend_call& call) const {
    const tutti_piece& output = call.outputs[0];
    if (rank_ != call.root) return receive(output.data, output.count, call.dtype, call.root);
    for (int to = 0; to < size_; ++to) {
        const tutti_piece& input = call.inputs[to];
        if (to == rank_) {
            if (output.data == input.data) continue;
            receive(output.data, output.count, call.dtype, rank_);
        }
        send(input.data, input.count, call.dtype, to);
    }
}

void Putting::all_to_all(const Part& part) const {
    const tutti_backend_call& call = *part.call;
    const bool is_even = (call.flags & TUTTI_CALL_EVEN) != 0;
    const auto input_at = [&](int64_t peer) {
        return part.inputs.empty() ? call.inputs[peer].data
                                   : part.inputs[static_cast<size_t>(peer)];
    };
    if (is_even && nccl_.all_to_all != nullptr) {
        if (call.inputs[0].count == 0) return;
        return nccl_.check(nccl_.all_to_all(input_at(0), call.outputs[0].data,
                                            count_of(call.inputs[0].count, call.dtype),
                                            type_of(call.dtype), comm_, stream_),
                           "ncclAlltoAll", comm_);
    }
    for (int peer = 0; peer < size_; ++peer) {
        send(input_at(peer), call.inputs[peer].count, call.dtype, peer);
        receive(call.outputs[peer].data, call.outputs[peer].count, call.dtype, peer);
    }
}

void Putting::send(const void* data, int64_t count, tutti_dtype dtype, int to) const {
    if (count == 0) return;
    nccl_.check(nccl_.send(data, count_of(count, dtype), type_of(dtype), to, comm_, stream_),
                "ncclSend", comm_);
}

void Putting::receive(void* data, int64_t count, tutti_dtype dtype, int from) const {
    if (count == 0) return;
    nccl_.check(nccl_.receive(data, count_of(count, dtype), type_of(dtype), from, comm_, stream_),
                "ncclRecv", comm_);
}

}  // namespace tutti::nccl
