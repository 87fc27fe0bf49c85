// These collectives move data. Gloo works on memory in which the pieces of the ranks follow each
// other; pieces that do not are copied.
#include "collectives.hpp"

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/scatter.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstring>

namespace tutti::gloo_module {

namespace {

// Gloo's own functions have the prefixes 1 to 8.
constexpr uint64_t compare_slot = uint64_t{0x40} << 56;

char* bytes_at(const void* data) {
    return static_cast<char*>(const_cast<void*>(data));
}

}  // namespace

Collectives::Flat::Flat(const tutti_piece* pieces, int64_t count, const tutti_backend_call& call,
                        bool copies)
    : pieces_(pieces), count_(count), element_size_(call.element_size) {
    const char* next = nullptr;
    for (int64_t i = 0; i < count; ++i) {
        const size_t bytes = bytes_of(pieces[i].count, call);
        if (bytes == 0) continue;
        const char* const begin = static_cast<const char*>(pieces[i].data);
        if (data_ == nullptr) data_ = bytes_at(begin);
        is_copy_ |= next != nullptr && next != begin;
        next = begin + bytes;
        bytes_ += bytes;
    }
    if (!is_copy_) return;
    copy_.resize(bytes_);
    data_ = copy_.data();
    char* to = data_;
    for (int64_t i = 0; copies && i < count; ++i) {
        const size_t bytes = bytes_of(pieces[i].count, call);
        if (bytes > 0) std::memcpy(to, pieces[i].data, bytes);
        to += bytes;
    }
}

void Collectives::Flat::scatter() const {
    if (!is_copy_) return;
    const char* from = data_;
    for (int64_t i = 0; i < count_; ++i) {
        const size_t bytes = static_cast<size_t>(pieces_[i].count) * element_size_;
        if (bytes > 0) std::memcpy(pieces_[i].data, from, bytes);
        from += bytes;
    }
}

void Collectives::run(const tutti_backend_call& call) {
    if (!has_pytorch_peers_ && size_ > 1) compare(call);
    if (call.kind != TUTTI_CALL_COALESCED) return run_one(call);
    if (has_pytorch_peers_) return all_reduce_many(call);
    for (int64_t i = 0; i < call.call_count; ++i) run_one(*call.calls[i]);
}

void Collectives::run_one(const tutti_backend_call& call) {
    switch (call.kind) {
        case TUTTI_CALL_BROADCAST:
            return broadcast(call);
        case TUTTI_CALL_BARRIER:
            return barrier();
        case TUTTI_CALL_ALL_GATHER:
        case TUTTI_CALL_ALL_GATHER_INTO_TENSOR:
            return all_gather(call);
        case TUTTI_CALL_GATHER:
            return gather(call);
        case TUTTI_CALL_SCATTER:
            return scatter(call);
        case TUTTI_CALL_ALL_TO_ALL:
        case TUTTI_CALL_ALL_TO_ALL_SINGLE:
            return all_to_all(call);
        case TUTTI_CALL_ALL_REDUCE:
        case TUTTI_CALL_REDUCE:
        case TUTTI_CALL_REDUCE_SCATTER:
        case TUTTI_CALL_REDUCE_SCATTER_TENSOR:
            return reduce(call);
        default:
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          "call of kind " + std::to_string(call.kind) + " is not known to gloo"};
    }
}

// Gloo ends the process if a message is longer than its receive, as when ranks call different
// things. So every rank compares its call with the ranks 1, 2, 4, ... in front of it, in the rounds
// of a barrier.
void Collectives::compare(const tutti_backend_call& call) {
    const auto* const begin = static_cast<const char*>(call.fingerprint);
    std::vector<char> own(begin, begin + call.fingerprint_size);
    std::vector<char> theirs(own.size());
    const auto out = context_->createUnboundBuffer(own.data(), own.size());
    const auto in = context_->createUnboundBuffer(theirs.data(), theirs.size());
    uint64_t slot = compare_slot | call.sequence << 8;
    for (int distance = 1; distance < size_; distance <<= 1, ++slot) {
        const int peer = (size_ + rank_ - distance) % size_;
        in->recv(peer, slot);
        out->send((rank_ + distance) % size_, slot);
        in->waitRecv();
        out->waitSend();
        if (theirs == own) continue;
        tutti_error error = TUTTI_ERROR_INIT;
        const tutti_status status = host_.mismatch(&call, peer, theirs.data(), &error);
        throw Failure{status, error.message, error.rank};
    }
}

void Collectives::broadcast(const tutti_backend_call& call) {
    const tutti_piece& piece = rank_ == call.root ? call.inputs[0] : call.outputs[0];
    gloo::BroadcastOptions options(context_);
    options.setTag(next_tag());
    options.setRoot(call.root);
    options.setOutput(bytes_at(piece.data), bytes_of(piece.count, call));
    gloo::broadcast(options);
    if (rank_ != call.root || call.output_count == 0) return;
    if (call.outputs[0].data == piece.data || piece.count == 0) return;
    std::memcpy(call.outputs[0].data, piece.data, bytes_of(piece.count, call));
}

void Collectives::barrier() {
    gloo::BarrierOptions options(context_);
    options.setTag(next_tag());
    gloo::barrier(options);
}

// Gives each rank's bytes to all.
void Collectives::share(const void* input, size_t input_bytes, void* output,
                        const std::vector<size_t>& bytes) {
    bool is_even = true;
    size_t total = 0;
    for (const size_t one : bytes) {
        is_even = is_even && one == bytes[0];
        total += one;
    }
    const uint32_t tag = next_tag();
    if (is_even) {
        gloo::AllgatherOptions options(context_);
        options.setTag(tag);
        options.setInput(bytes_at(input), input_bytes);
        options.setOutput(static_cast<char*>(output), total);
        return gloo::allgather(options);
    }
    gloo::AllgathervOptions options(context_);
    options.setTag(tag);
    options.setInput(bytes_at(input), input_bytes);
    options.setOutput(static_cast<char*>(output), bytes);
    gloo::allgatherv(options);
}

void Collectives::all_gather(const tutti_backend_call& call) {
    std::vector<size_t> bytes;
    for (int64_t i = 0; i < call.output_count; ++i) {
        bytes.push_back(bytes_of(call.outputs[i].count, call));
    }
    const Flat outputs(call.outputs, call.output_count, call, false);
    const tutti_piece& input = call.inputs[0];
    share(input.data, bytes_of(input.count, call), outputs.data(), bytes);
    outputs.scatter();
}

void Collectives::gather(const tutti_backend_call& call) {
    const tutti_piece& input = call.inputs[0];
    const Flat outputs(call.outputs, rank_ == call.root ? call.output_count : 0, call, false);
    gloo::GatherOptions options(context_);
    options.setTag(next_tag());
    options.setRoot(call.root);
    options.setInput(bytes_at(input.data), bytes_of(input.count, call));
    if (rank_ == call.root) options.setOutput(outputs.data(), outputs.bytes());
    gloo::gather(options);
    outputs.scatter();
}

void Collectives::scatter(const tutti_backend_call& call) {
    const tutti_piece& output = call.outputs[0];
    const size_t bytes = bytes_of(output.count, call);
    gloo::ScatterOptions options(context_);
    options.setTag(next_tag());
    options.setRoot(call.root);
    if (rank_ == call.root) {
        std::vector<char*> inputs;
        for (int64_t i = 0; i < call.input_count; ++i) {
            inputs.push_back(bytes_at(call.inputs[i].data));
        }
        options.setInputs(inputs, bytes);
    }
    // The output may be this rank's input.
    std::vector<char> copy(rank_ == call.root ? bytes : 0);
    char* const to = rank_ == call.root ? copy.data() : static_cast<char*>(output.data);
    options.setOutput(to, bytes);
    gloo::scatter(options);
    if (rank_ == call.root && bytes > 0) std::memcpy(output.data, to, bytes);
}

// Moves bytes between all ranks, from memory in which they follow each other.
void Collectives::exchange(const void* input, std::vector<int64_t> sends, void* output,
                           std::vector<int64_t> receives) {
    gloo::AlltoallvOptions options(context_);
    options.setTag(next_tag());
    options.setInput(bytes_at(input), std::move(sends));
    options.setOutput(static_cast<char*>(output), std::move(receives));
    gloo::alltoallv(options);
}

// Only pairs of ranks know the sizes of what they exchange: each gets both sides'.
void Collectives::compare_sizes(const tutti_backend_call& call) {
    const auto size = static_cast<size_t>(size_);
    std::vector<int64_t> own, theirs(size * 2);
    for (size_t rank = 0; rank < size; ++rank) {
        own.push_back(call.inputs[rank].count);
        own.push_back(call.outputs[rank].count);
    }
    gloo::AlltoallOptions options(context_);
    options.setTag(next_tag());
    options.setInput(own.data(), own.size());
    options.setOutput(theirs.data(), theirs.size());
    gloo::alltoall(options);
    const auto check = [](int peer, int sender, int64_t sent, int receiver, int64_t expected) {
        if (sent == expected) return;
        throw Failure{TUTTI_ERR_MISMATCH,
                      "rank " + std::to_string(sender) + " sends " + std::to_string(sent) +
                          " elements where rank " + std::to_string(receiver) + " expects " +
                          std::to_string(expected),
                      peer};
    };
    for (int peer = 0; peer < size_; ++peer) {
        const size_t at = static_cast<size_t>(peer) * 2;
        check(peer, peer, theirs[at], rank_, own[at + 1]);
        check(peer, rank_, own[at], peer, theirs[at + 1]);
    }
}

void Collectives::all_to_all(const tutti_backend_call& call) {
    const bool is_even = (call.flags & TUTTI_CALL_EVEN) != 0;
    if (!is_even && !has_pytorch_peers_) compare_sizes(call);
    const Flat inputs(call.inputs, call.input_count, call, true);
    const Flat outputs(call.outputs, call.output_count, call, false);
    // The whole output may be the whole input.
    std::vector<char> copy(inputs.data() == outputs.data() ? inputs.bytes() : 0);
    const char* from = inputs.data();
    if (!copy.empty()) from = static_cast<char*>(std::memcpy(copy.data(), from, copy.size()));
    if (is_even) {
        gloo::AlltoallOptions options(context_);
        options.setTag(next_tag());
        options.setInput(bytes_at(from), inputs.bytes());
        options.setOutput(outputs.data(), outputs.bytes());
        gloo::alltoall(options);
    } else {
        std::vector<int64_t> sends, receives;
        for (int rank = 0; rank < size_; ++rank) {
            sends.push_back(static_cast<int64_t>(bytes_of(call.inputs[rank].count, call)));
            receives.push_back(static_cast<int64_t>(bytes_of(call.outputs[rank].count, call)));
        }
        exchange(from, std::move(sends), outputs.data(), std::move(receives));
    }
    outputs.scatter();
}

}  // namespace tutti::gloo_module
