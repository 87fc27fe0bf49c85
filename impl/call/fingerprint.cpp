// Makes the fingerprint of each call, and its text for messages. Any thread.
#include "fingerprint.hpp"

#include <array>
#include <cstdio>
#include <optional>

#include "base/device.hpp"
#include "base/plain.hpp"
#include "base/text.hpp"
#include "call.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

// The content of a fingerprint of this kind, besides the layout.
struct Form {
    const char* name;
    bool dtype;
    bool op;
    bool root;
};

std::optional<Form> form_of(CallKind kind) {
    switch (kind) {
        case CallKind::Broadcast:
            return Form{"broadcast", true, false, true};
        case CallKind::AllReduce:
            return Form{"all_reduce", true, true, false};
        case CallKind::Barrier:
            return Form{"barrier", false, false, false};
        case CallKind::Reduce:
            return Form{"reduce", true, true, true};
        case CallKind::AllGather:
            return Form{"all_gather", true, false, false};
        case CallKind::AllGatherIntoTensor:
            return Form{"all_gather_into_tensor", true, false, false};
        case CallKind::Gather:
            return Form{"gather", true, false, true};
        case CallKind::Scatter:
            return Form{"scatter", true, false, true};
        case CallKind::ReduceScatter:
            return Form{"reduce_scatter", true, true, false};
        case CallKind::ReduceScatterTensor:
            return Form{"reduce_scatter_tensor", true, true, false};
        case CallKind::AllToAll:
            return Form{"all_to_all", true, false, false};
        case CallKind::AllToAllSingle:
            return Form{"all_to_all_single", true, false, false};
        case CallKind::MonitoredBarrier:
            return Form{"monitored_barrier", false, false, false};
        case CallKind::Coalesced:
            return Form{"coalesced", false, false, false};
        case CallKind::BroadcastObjects:
            return Form{"broadcast_object_list", false, false, true};
        case CallKind::AllGatherObjects:
            return Form{"all_gather_object", false, false, false};
        case CallKind::GatherObjects:
            return Form{"gather_object", false, false, true};
        case CallKind::ScatterObjects:
            return Form{"scatter_object_list", false, false, true};
        case CallKind::BroadcastBytes:
            return Form{"broadcast_bytes", false, false, true};
        case CallKind::AllGatherBytes:
            return Form{"all_gather_bytes", false, false, false};
        case CallKind::GatherBytes:
            return Form{"gather_bytes", false, false, true};
        case CallKind::ScatterBytes:
            return Form{"scatter_bytes", false, false, true};
        case CallKind::AllReduceAddends:
            return Form{"all_reduce_addends", true, true, false};
        case CallKind::Alloc:
            return Form{"memory_alloc", false, false, false};
        case CallKind::Breakpoint:
            return Form{"breakpoint", false, false, true};
    }
    return std::nullopt;
}

template <typename SomeViews>
Fingerprint of_pieces(CallKind kind, const SomeViews& pieces, uint32_t op) {
    uint64_t count = 0;
    uint64_t layout = 0;
    for (const auto& piece : pieces) {
        count += static_cast<uint64_t>(piece.count);
        layout = extend_layout(layout, static_cast<uint64_t>(piece.count));
    }
    const uint32_t dtype = pieces.empty() ? 0 : pieces.front().dtype;
    return {kind, dtype, op, -1, static_cast<int64_t>(count), layout};
}

}  // namespace

const char* name_of(CallKind kind) {
    const std::optional<Form> form = form_of(kind);
    return form ? form->name : "unknown operation";
}

uint64_t extend_layout(uint64_t layout, uint64_t value) {
    // Two rounds of multiplying and folding: every bit of both moves every bit of the result.
    uint64_t mixed = layout * 0x9e3779b97f4a7c15U + value + 0x632be59bd9b4e019U;
    for (const uint64_t odd : {0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU}) {
        mixed = (mixed ^ (mixed >> 31)) * odd;
    }
    return mixed ^ (mixed >> 29);
}

Fingerprint fingerprint(const AllGather& call) {
    return of_pieces(CallKind::AllGather, call.outputs, 0);
}

Fingerprint fingerprint(const ReduceScatter& call) {
    return of_pieces(CallKind::ReduceScatter, call.inputs, call.op.fingerprint());
}

Fingerprint fingerprint(const AllToAll& call) {
    const uint32_t dtype = call.outputs.empty() ? 0 : call.outputs.front().dtype;
    return {CallKind::AllToAll, dtype, 0, -1, any_count, 0};
}

Fingerprint fingerprint(const AllToAllSingle& call) {
    return {CallKind::AllToAllSingle,
            call.output.dtype,
            0,
            -1,
            call.is_even() ? call.output.count : any_count,
            0};
}

Fingerprint fingerprint(const Coalesced& call) {
    Fingerprint result{CallKind::Coalesced, 0, 0, -1, static_cast<int64_t>(call.calls.size()), 0};
    for (const FlatCall& one : call.calls) {
        const Fingerprint& print = one.fingerprint;
        for (const uint64_t value :
             {uint64_t{static_cast<uint32_t>(print.kind)}, uint64_t{print.dtype},
              uint64_t{print.op}, static_cast<uint64_t>(int64_t{print.root}),
              static_cast<uint64_t>(print.count), print.layout, print.device}) {
            result.layout = extend_layout(result.layout, value);
        }
    }
    return result;
}

std::string to_bytes(const Fingerprint& fingerprint) {
    const ConstBytes bytes = wire_bytes(fingerprint);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string describe(const Fingerprint& fingerprint, uint64_t sequence) {
    const std::optional<Form> form = form_of(fingerprint.kind);
    if (!form) {
        return cat("unknown operation ", static_cast<uint32_t>(fingerprint.kind), " #", sequence);
    }
    std::string details;
    const auto add = [&](const std::string& detail) {
        details += cat(details.empty() ? "" : ", ", detail);
    };
    if (fingerprint.kind == CallKind::Coalesced) add(cat(fingerprint.count, " calls"));
    if (form->dtype && fingerprint.count == any_count) {
        add(cat(dtype_name(fingerprint.dtype), " in pieces"));
    } else if (form->dtype) {
        add(cat(dtype_name(fingerprint.dtype), " × ", fingerprint.count));
    }
    if (fingerprint.device != TUTTI_CPU) {
        const char* const name = device_type_name(static_cast<int32_t>(fingerprint.device));
        add(cat("on ", name != nullptr ? name : "an unknown device"));
    }
    if (form->op) add(describe_op(fingerprint.op));
    if (form->root) add(cat("root ", fingerprint.root));
    if (fingerprint.layout != 0) {
        std::array<char, 16> digest{};
        std::snprintf(digest.data(), digest.size(), "%08x",
                      static_cast<unsigned>(fingerprint.layout >> 32));
        add(cat("layout ", digest.data()));
    }
    const std::string title = cat(form->name, " #", sequence);
    return details.empty() ? title : cat(title, " (", details, ")");
}

std::string summary(const Fingerprint& fingerprint) {
    const std::optional<Form> form = form_of(fingerprint.kind);
    const std::string name = name_of(fingerprint.kind);
    if (fingerprint.kind == CallKind::Coalesced) return cat(name, " ", fingerprint.count, " calls");
    if (!form || !form->dtype) return name;
    const std::string dtype = dtype_name(fingerprint.dtype);
    return fingerprint.count == any_count ? cat(name, " ", dtype)
                                          : cat(name, " ", fingerprint.count, " ", dtype);
}

Status mismatch(int peer, const Fingerprint& theirs, int rank, const Fingerprint& ours,
                uint64_t sequence) {
    Fingerprint but_for_layout = theirs;
    but_for_layout.layout = ours.layout;
    const char* const where =
        but_for_layout == ours ? "; they differ in a list: of counts, or of coalesced calls" : "";
    return {TUTTI_ERR_MISMATCH, peer, 0,
            cat("rank ", peer, " called ", describe(theirs, sequence), " while rank ", rank,
                " called ", describe(ours, sequence), where)};
}

Status size_mismatch(int sender, uint64_t sent, int receiver, uint64_t expected, tutti_dtype dtype,
                     int peer) {
    const size_t element = element_size(dtype);
    const bool whole = element > 0 && sent % element == 0 && expected % element == 0;
    const size_t unit = whole ? element : 1;
    return {TUTTI_ERR_MISMATCH, peer, 0,
            cat("rank ", sender, " sends ", sent / unit, whole ? " elements" : " bytes",
                " where rank ", receiver, " expects ", expected / unit)};
}

}  // namespace tutti
