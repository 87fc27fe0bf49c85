#include "torch_calls.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "reduce/dtypes.hpp"

namespace tutti::trace {

namespace {

constexpr std::array torch_dtypes{"Char",   "Byte",   "Short",        "UInt16",        "Int",
                                  "UInt32", "Long",   "UInt64",       "Half",          "BFloat16",
                                  "Float",  "Double", "ComplexFloat", "ComplexDouble", "Bool"};

}  // namespace

const char* torch_dtype(const Call& call) {
    return call.dtype < torch_dtypes.size() ? torch_dtypes[call.dtype] : "Undefined";
}

const char* torch_name(const Call& call) {
    switch (static_cast<CallKind>(call.kind)) {
        case CallKind::Broadcast:
        case CallKind::BroadcastObjects:
        case CallKind::BroadcastBytes:
            return "broadcast";
        case CallKind::AllReduce:
        case CallKind::AllReduceAddends:
            return "all_reduce";
        case CallKind::Barrier:
        case CallKind::MonitoredBarrier:
        case CallKind::Breakpoint:
        case CallKind::Alloc:
            return "barrier";
        case CallKind::Reduce:
            return "reduce";
        case CallKind::AllGather:
        case CallKind::AllGatherObjects:
        case CallKind::AllGatherBytes:
            return "all_gather";
        case CallKind::AllGatherIntoTensor:
            return "_all_gather_base";
        case CallKind::Gather:
        case CallKind::GatherObjects:
        case CallKind::GatherBytes:
            return "gather";
        case CallKind::Scatter:
        case CallKind::ScatterObjects:
        case CallKind::ScatterBytes:
            return "scatter";
        case CallKind::ReduceScatter:
            return "reduce_scatter";
        case CallKind::ReduceScatterTensor:
            return "_reduce_scatter_base";
        case CallKind::AllToAll:
        case CallKind::AllToAllSingle:
            return "all_to_all";
        case CallKind::Coalesced:
            return "allreduce_coalesced";
    }
    return nullptr;
}

Sizes sizes_of(const Call& call, const Group& group) {
    const auto ranks = static_cast<uint64_t>(std::max(group.size, 1));
    const uint64_t element = std::max<uint64_t>(element_size(call.dtype), 1);
    const uint64_t count = call.count > 0 ? static_cast<uint64_t>(call.count) : 0;
    if (call.is_message()) return {count, count};
    switch (static_cast<CallKind>(call.kind)) {
        case CallKind::Broadcast:
        case CallKind::AllReduce:
        case CallKind::AllReduceAddends:
        case CallKind::Reduce:
        case CallKind::Coalesced:
            return {count, count};
        case CallKind::AllGather:
            return {count / ranks, count / ranks * ranks};
        case CallKind::ReduceScatter:
            return {count / ranks * ranks, count / ranks};
        case CallKind::AllGatherIntoTensor:
        case CallKind::Gather:
            return {count, count * ranks};
        case CallKind::Scatter:
        case CallKind::ReduceScatterTensor:
            return {count * ranks, count};
        case CallKind::AllGatherObjects:
        case CallKind::AllGatherBytes:
            return {1, ranks};
        case CallKind::AllToAll:
        case CallKind::AllToAllSingle:
            return {call.input_bytes / element, call.output_bytes / element};
        default:
            return {};
    }
}

std::string profiling_name(const Call& call, const Group& group) {
    const char* const library = group.backend.starts_with("nccl") ? "nccl:" : "gloo:";
    if (call.is(record::Kind::Send)) return cat(library, "send ", group.rank, "->", call.peer);
    if (call.is(record::Kind::Receive)) return cat(library, "recv ", group.rank, "<-", call.peer);
    return cat(library, torch_name(call));
}

const char* torch_state(const Call& call) {
    if (call.state == record::state::scheduled) return "scheduled";
    return call.state == record::state::completed ? "completed" : "started";
}

const char* description_of(const Group& group, const Recording& recording) {
    const bool is_first = group.name == "world" && group.size == recording.world_size;
    return is_first ? "default_pg" : "undefined";
}

}  // namespace tutti::trace
