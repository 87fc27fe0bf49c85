// One function for each call.
#include "lower.hpp"

#include <utility>

namespace tutti {

namespace {

using Kind = FlatCall::Kind;
using Sizes = FlatCall::Sizes;

template <typename Call>
FlatCall begin(Kind kind, const Call& call) {
    FlatCall flat;
    flat.kind = kind;
    flat.fingerprint = fingerprint(call);
    flat.root = flat.fingerprint.root;
    return flat;
}

// `like`: one of the views, which are all of one dtype and on one device.
template <typename Call, typename SomeView>
FlatCall begin(Kind kind, const Call& call, const SomeView& like) {
    FlatCall flat = begin(kind, call);
    flat.dtype = like.dtype;
    flat.device = like.device;
    flat.fingerprint.device = static_cast<uint64_t>(like.device.type);
    return flat;
}

template <typename Call>
FlatCall begin_reduction(Kind kind, Call& call) {
    FlatCall flat = begin(kind, call, call.output);
    flat.op = std::move(call.op);
    return flat;
}

template <typename Byte, typename SomeView>
void add_each(Pieces<Byte>& pieces, const std::vector<SomeView>& views) {
    pieces.reserve(views.size());
    for (const SomeView& view : views) pieces.add(view.bytes());
}

// Every rank's part of a tensor. Splits are elements for every rank; none: equal parts.
template <typename Byte, typename SomeView>
void add_parts(Pieces<Byte>& pieces, const SomeView& whole, int ranks,
               const std::vector<int64_t>& splits = {}) {
    pieces.reserve(static_cast<size_t>(ranks));
    int64_t begin = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const int64_t length =
            splits.empty() ? whole.count / ranks : splits[static_cast<size_t>(rank)];
        pieces.add(whole.part(begin, length).bytes());
        begin += length;
    }
}

}  // namespace

FlatCall lower(Broadcast&& call, int rank, int /*size*/) {
    FlatCall flat = begin(Kind::Broadcast, call, call.buffer);
    if (rank == call.source) {
        flat.inputs.add(call.buffer.bytes());
    } else {
        flat.outputs.add(call.buffer.bytes());
    }
    return flat;
}

FlatCall lower(AllReduce&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin_reduction(Kind::AllReduce, call);
    flat.inputs.add(call.input.bytes());
    flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(AllReduceAddends&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin_reduction(Kind::AllReduceAddends, call);
    add_each(flat.inputs, call.inputs);
    flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(Barrier&& call, int /*rank*/, int /*size*/) {
    return begin(Kind::Barrier, call);
}

FlatCall lower(Reduce&& call, int rank, int /*size*/) {
    FlatCall flat = begin_reduction(Kind::Reduce, call);
    flat.inputs.add(call.input.bytes());
    if (rank == call.destination) flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(AllGather&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::AllGather, call, call.input);
    flat.sizes = Sizes::Known;
    flat.inputs.add(call.input.bytes());
    add_each(flat.outputs, call.outputs);
    return flat;
}

FlatCall lower(AllGatherIntoTensor&& call, int /*rank*/, int size) {
    FlatCall flat = begin(Kind::AllGather, call, call.input);
    flat.inputs.add(call.input.bytes());
    add_parts(flat.outputs, call.output, size);
    return flat;
}

FlatCall lower(Gather&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::Gather, call, call.input);
    flat.sizes = Sizes::Known;
    flat.inputs.add(call.input.bytes());
    add_each(flat.outputs, call.outputs);
    return flat;
}

FlatCall lower(Scatter&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::Scatter, call, call.output);
    flat.sizes = Sizes::Known;
    add_each(flat.inputs, call.inputs);
    flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(ReduceScatter&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin_reduction(Kind::ReduceScatter, call);
    flat.sizes = Sizes::Known;
    add_each(flat.inputs, call.inputs);
    flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(ReduceScatterTensor&& call, int /*rank*/, int size) {
    FlatCall flat = begin_reduction(Kind::ReduceScatter, call);
    add_parts(flat.inputs, call.input, size);
    flat.outputs.add(call.output.bytes());
    return flat;
}

FlatCall lower(AllToAll&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::AllToAll, call, call.outputs.front());
    flat.sizes = Sizes::Pairwise;
    flat.in_place = call.is_in_place();
    add_each(flat.inputs, call.inputs);
    add_each(flat.outputs, call.outputs);
    return flat;
}

FlatCall lower(AllToAllSingle&& call, int /*rank*/, int size) {
    FlatCall flat = begin(Kind::AllToAll, call, call.output);
    flat.sizes = call.is_even() ? Sizes::Even : Sizes::Pairwise;
    flat.in_place = call.is_in_place();
    add_parts(flat.inputs, call.input, size, call.input_splits);
    add_parts(flat.outputs, call.output, size, call.output_splits);
    return flat;
}

FlatCall lower(ByteStrings&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::ByteStrings, call);
    flat.byte_strings = std::make_shared<const ByteStrings>(std::move(call));
    return flat;
}

FlatCall lower(Alloc&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::Alloc, call);
    flat.alloc = std::make_shared<const Alloc>(std::move(call));
    return flat;
}

FlatCall lower(Coalesced&& call, int /*rank*/, int /*size*/) {
    FlatCall flat = begin(Kind::Coalesced, call);
    for (const FlatCall& one : call.calls) {  // those that have buffers have one device
        if (one.device != Device{}) flat.device = one.device;
    }
    flat.calls = std::move(call.calls);
    return flat;
}

}  // namespace tutti
