// The checks of calls before anything moves, by the names that the C functions give their
// parameters. Any thread.
#include <algorithm>

#include "base/assert.hpp"
#include "base/device.hpp"
#include "base/error.hpp"
#include "call.hpp"
#include "overlap_check.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

void check_rank(int rank, int size, const char* argument) {
    if (rank < 0 || rank >= size) {
        refuse(argument, " is ", rank, ", but the group's ranks are 0 to ", size - 1);
    }
}

void check_tag(int tag) {
    if (tag < 0) refuse("tag is ", tag, ", below 0");
}

[[gnu::noinline]] void check_other_device(const ConstView& view, const Argument& name) {
    tutti::check_device(view.device.type, view.device.index, name);
}

inline void check_device(const ConstView& view, const Argument& name) {
    if (view.device != Device{}) check_other_device(view, name);
}

// Both have one dtype and are on one device.
void check_same_dtype(const ConstView& one, const Argument& name, const ConstView& other,
                      const Argument& other_name) {
    check_device(one, name);
    check_device(other, other_name);
    if (one.device != other.device) {
        refuse(name.text(), " is on ", describe(one.device), " but ", other_name.text(), " is on ",
               describe(other.device));
    }
    if (one.dtype == other.dtype) return;
    refuse(name.text(), ".dtype is ", dtype_name(one.dtype), " but ", other_name.text(),
           ".dtype is ", dtype_name(other.dtype));
}

void check_alike(const ConstView& one, const Argument& name, const ConstView& other,
                 const Argument& other_name) {
    check_same_dtype(one, name, other, other_name);
    if (one.count == other.count) return;
    refuse(name.text(), ".count is ", one.count, " but ", other_name.text(), ".count is ",
           other.count);
}

void check_reducible(tutti_dtype dtype, const ReduceOp& op) {
    if (const auto reason = why_not_reducible(dtype, op)) refuse(*reason);
}

bool is_same(const ConstView& one, const ConstView& other) {
    return one.data == other.data && one.count == other.count;
}

bool overlap(const ConstView& one, const ConstView& other) {
    const auto begin_one = reinterpret_cast<uintptr_t>(one.data);
    const auto begin_other = reinterpret_cast<uintptr_t>(other.data);
    return std::max(begin_one, begin_other) <
           std::min(begin_one + one.size(), begin_other + other.size());
}

// The whole and its parts, one for each rank: "output", "input".
void check_whole(const ConstView& whole, const Argument& name, const ConstView& part,
                 const Argument& part_name, int size) {
    check_same_dtype(part, part_name, whole, name);
    if (whole.count % size == 0 && whole.count / size == part.count) return;
    refuse(name.text(), ".count is ", whole.count, ", not ", size, " ranks × ", part_name.text(),
           ".count, which is ", part.count);
}

void check_list(size_t count, const char* argument, int size) {
    if (count != static_cast<size_t>(size)) {
        refuse(argument, " is ", count, ", but the group has ", size, " ranks");
    }
}

// Only the root of a gather or a scatter gives the list.
void check_no_list(size_t count, const char* list, int rank, const char* root) {
    if (count > 0) refuse(list, " must be NULL on rank ", rank, ", which is not ", root);
}

template <typename SomeViews>
void check_same_dtypes(const SomeViews& views, const char* list, const ConstView& other,
                       const Argument& other_name) {
    int index = 0;
    for (const auto& view : views) check_same_dtype(view, {list, index++}, other, other_name);
}

template <typename SomeViews>
void check_all_alike(const SomeViews& views, const char* list, const ConstView& other,
                     const Argument& other_name) {
    int index = 0;
    for (const auto& view : views) check_alike(view, {list, index++}, other, other_name);
}

OverlapCheck claim_outputs(const Views& outputs) {
    OverlapCheck claims;
    int index = 0;
    for (const View& output : outputs) {
        const Argument& name{"outputs", index++};
        if (!claims.may_write(output.bytes())) refuse(name.text(), " overlaps another output");
        claims.write(output.bytes());
    }
    return claims;
}

// Outputs that have nothing in common with each other, nor with the input, which may be one of them
// as it is.
void check_gathered(const Views& outputs, const ConstView& input, int own) {
    const OverlapCheck claims = claim_outputs(outputs);
    if (is_same(input, outputs[static_cast<size_t>(own)]) || claims.may_read(input.bytes())) return;
    refuse("input overlaps an output; it must be outputs[", own,
           "] itself or have no memory in common with any");
}

// The other way round: inputs may share memory among themselves.
void check_scattered(const ConstViews& inputs, const View& output, int own) {
    OverlapCheck claims;
    const auto mine = static_cast<size_t>(own);
    for (size_t index = 0; index < inputs.size(); ++index) {
        if (index != mine || !is_same(inputs[mine], output)) claims.read(inputs[index].bytes());
    }
    if (claims.may_write(output.bytes())) return;
    refuse("output overlaps an input; it must be inputs[", own,
           "] itself or have no memory in common with any");
}

void check_place_in_whole(const ConstView& part, const ConstView& whole, int rank) {
    if (!overlap(part, whole) || part.data == whole.part(rank * part.count, part.count).data) {
        return;
    }
    refuse(
        "input and output overlap; the smaller must be this rank's part of the other or have no "
        "memory in common with it");
}

void check_apart_or_same(const ConstView& input, const ConstView& output) {
    if (is_same(input, output) || !overlap(input, output)) return;
    refuse("input and output overlap; they must be the same memory or have none in common");
}

// How many elements the piece of one rank has.
int64_t check_splits(const std::vector<int64_t>& splits, const char* list, const ConstView& whole,
                     const Argument& name, int rank, int size) {
    if (splits.empty()) {
        if (whole.count % size == 0) return whole.count / size;
        refuse(name.text(), ".count is ", whole.count, ", which ", size,
               " ranks cannot share equally");
    }
    int64_t left = whole.count;
    for (size_t index = 0; index < splits.size(); ++index) {
        if (splits[index] < 0) refuse(list, "[", index, "] is ", splits[index]);
        if (splits[index] > left) {
            refuse(list, " add up to more than ", name.text(), ".count, which is ", whole.count);
        }
        left -= splits[index];
    }
    if (left == 0) return splits[static_cast<size_t>(rank)];
    refuse(list, " add up to ", whole.count - left, " but ", name.text(), ".count is ",
           whole.count);
}

}  // namespace

std::string describe(const Device& device) {
    const char* const name = device_type_name(device.type);
    return device == Device{} ? name : cat(name, ":", device.index);
}

void check(const Broadcast& call, int /*rank*/, int size) {
    check_device(call.buffer, {"buffer"});
    check_rank(call.source, size, "group_src");
}

void check(const AllReduce& call, int /*rank*/, int /*size*/) {
    check_alike(call.input, {"input"}, call.output, {"output"});
    check_reducible(call.output.dtype, call.op);
    check_apart_or_same(call.input, call.output);
}

size_t checked_input_count(uint64_t count, int rank) {
    if (count > AllReduceAddends::max_inputs) {
        throw Error(TUTTI_ERR_BACKEND, cat("rank ", rank, " shows ", count, " addends"), rank);
    }
    return static_cast<size_t>(count);
}

void check(const AllReduceAddends& call, int /*rank*/, int /*size*/) {
    // Counted before they were read.
    TUTTI_ASSERT(call.inputs.size() <= AllReduceAddends::max_inputs);
    check_device(call.output, {"output"});
    check_all_alike(call.inputs, "inputs", call.output, {"output"});
    if (!(call.op == TUTTI_SUM || call.op == TUTTI_AVG)) {
        refuse("op is ", describe_op(call.op.fingerprint()), "; it must be SUM or AVG");
    }
    check_reducible(call.output.dtype, call.op);
    for (size_t index = 0; index < call.inputs.size(); ++index) {
        const ConstView& input = call.inputs[index];
        if (is_same(input, call.output) || !overlap(input, call.output)) continue;
        refuse("inputs[", index, "] and output overlap; they must be the same or apart");
    }
}

void check(const Reduce& call, int /*rank*/, int size) {
    check_rank(call.destination, size, "group_dst");
    check_alike(call.input, {"input"}, call.output, {"output"});
    check_reducible(call.input.dtype, call.op);
    check_apart_or_same(call.input, call.output);
}

void check(const AllGather& call, int rank, int size) {
    check_list(call.outputs.size(), "output_count", size);
    const Argument own{"outputs", rank};
    check_alike(call.input, {"input"}, call.outputs[static_cast<size_t>(rank)], own);
    check_same_dtypes(call.outputs, "outputs", call.input, {"input"});
    check_gathered(call.outputs, call.input, rank);
}

void check(const AllGatherIntoTensor& call, int rank, int size) {
    check_whole(call.output, {"output"}, call.input, {"input"}, size);
    check_place_in_whole(call.input, call.output, rank);
}

void check(const Gather& call, int rank, int size) {
    check_rank(call.destination, size, "group_dst");
    check_device(call.input, {"input"});
    if (rank != call.destination) {
        return check_no_list(call.outputs.size(), "outputs", rank, "group_dst");
    }
    check_list(call.outputs.size(), "output_count", size);
    check_all_alike(call.outputs, "outputs", call.input, {"input"});
    check_gathered(call.outputs, call.input, rank);
}

void check(const Scatter& call, int rank, int size) {
    check_rank(call.source, size, "group_src");
    check_device(call.output, {"output"});
    if (rank != call.source) {
        return check_no_list(call.inputs.size(), "inputs", rank, "group_src");
    }
    check_list(call.inputs.size(), "input_count", size);
    check_all_alike(call.inputs, "inputs", call.output, {"output"});
    check_scattered(call.inputs, call.output, rank);
}

void check(const ReduceScatter& call, int rank, int size) {
    check_list(call.inputs.size(), "input_count", size);
    const Argument own{"inputs", rank};
    check_alike(call.output, {"output"}, call.inputs[static_cast<size_t>(rank)], own);
    check_same_dtypes(call.inputs, "inputs", call.output, {"output"});
    check_reducible(call.output.dtype, call.op);
    check_scattered(call.inputs, call.output, rank);
}

void check(const ReduceScatterTensor& call, int rank, int size) {
    check_whole(call.input, {"input"}, call.output, {"output"}, size);
    check_reducible(call.output.dtype, call.op);
    check_place_in_whole(call.output, call.input, rank);
}

bool AllToAll::is_in_place() const {
    return std::ranges::equal(inputs, outputs,
                              [](const auto& in, const auto& out) { return is_same(in, out); });
}

void check(const AllToAll& call, int rank, int size) {
    check_list(call.inputs.size(), "input_count", size);
    check_list(call.outputs.size(), "output_count", size);
    const auto own = static_cast<size_t>(rank);
    check_alike(call.inputs[own], {"inputs", rank}, call.outputs[own], {"outputs", rank});
    check_same_dtypes(call.inputs, "inputs", call.outputs[own], {"outputs", rank});
    check_same_dtypes(call.outputs, "outputs", call.inputs[own], {"inputs", rank});
    const OverlapCheck claims = claim_outputs(call.outputs);
    if (call.is_in_place()) return;
    for (int index = 0; index < size; ++index) {
        if (claims.may_read(call.inputs[static_cast<size_t>(index)].bytes())) continue;
        refuse("inputs[", index, "] overlaps an output");
    }
}

void check(const AllToAllSingle& call, int rank, int size) {
    check_same_dtype(call.input, {"input"}, call.output, {"output"});
    if (!call.input_splits.empty()) {
        check_list(call.input_splits.size(), "input_split_count", size);
    }
    if (!call.output_splits.empty()) {
        check_list(call.output_splits.size(), "output_split_count", size);
    }
    const int64_t given =
        check_splits(call.input_splits, "input_split_sizes", call.input, {"input"}, rank, size);
    const int64_t taken =
        check_splits(call.output_splits, "output_split_sizes", call.output, {"output"}, rank, size);
    if (call.is_even()) check_alike(call.input, {"input"}, call.output, {"output"});
    if (given != taken) {
        refuse("rank ", rank, " gives itself ", given, " elements of input but expects ", taken,
               " in output");
    }
    check_apart_or_same(call.input, call.output);
}

void check(const Send& call, int size) {
    check_device(call.buffer, {"buffer"});
    check_rank(call.destination, size, "group_dst");
    check_tag(call.tag);
}

void check(const Receive& call, int size) {
    check_device(call.buffer, {"buffer"});
    if (call.source != any_source) check_rank(call.source, size, "group_src");
    check_tag(call.tag);
}

}  // namespace tutti
