// tutti/object_collectives.h, of byte strings. Any thread.
#include "arguments.hpp"
#include "byte_strings.hpp"
#include "guard.hpp"
#include "issue_byte_strings.hpp"
#include "options.hpp"
#include "tutti/object_collectives.h"

namespace capi = tutti::capi;

namespace {

using tutti::ByteStrings;
using BytesPlaces = capi::Places<tutti_bytes>;

std::vector<BytesPlaces::Value> open(ByteStrings::Received& received) {
    std::vector<BytesPlaces::Value> values;
    for (tutti::OwnedBytes& bytes : received) values.push_back(capi::to_bytes(std::move(bytes)));
    return values;
}

void issue(const capi::GroupPin& pin, ByteStrings call, const tutti_call_options* options,
           tutti_work** work, capi::Destination<tutti_bytes> to) {
    call.objects = false;
    capi::issue_byte_strings<tutti_bytes>(*pin, std::move(call), options, work, to, open);
}

void gather(const capi::GroupPin& pin, ByteStrings call, std::span<const std::byte> data,
            int64_t max_bytes, const tutti_call_options* options, tutti_bytes** out_bytes,
            int64_t out_count, tutti_work** work) {
    const auto ranks = static_cast<size_t>(pin->size());
    const bool receives = call.root < 0 || call.root == pin->rank();
    call.inputs = {data};
    call.max_bytes = capi::read_most(max_bytes);
    capi::need_places(out_bytes, out_count, ranks, "out_bytes", "out_count", receives,
                      work != nullptr);
    issue(pin, std::move(call), options, work, {out_bytes, receives ? ranks : 0});
}

}  // namespace

extern "C" {

tutti_status tutti_broadcast_bytes(tutti_group* group, const void* data, size_t size,
                                   int32_t group_src, int64_t max_bytes,
                                   const tutti_call_options* options, tutti_bytes** out_bytes,
                                   tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        ByteStrings call{.pattern = ByteStrings::Pattern::Broadcast, .root = group_src};
        const bool gives = pin->rank() == group_src;
        if (gives) {
            call.inputs = {capi::read_memory(data, size, "data")};
        } else if (data != nullptr || size != 0) {
            capi::refuse("data must be NULL and size 0 on rank ", pin->rank(),
                         ", which is not group_src");
        }
        call.max_bytes = capi::read_most(max_bytes);
        capi::need_places(out_bytes, 1, 1, "out_bytes", nullptr, !gives, work != nullptr);
        issue(pin, std::move(call), options, work, {out_bytes, gives ? 0U : 1U});
    });
}

tutti_status tutti_all_gather_bytes(tutti_group* group, const void* data, size_t size,
                                    int64_t max_bytes, const tutti_call_options* options,
                                    tutti_bytes** out_bytes, int64_t out_count, tutti_work** work,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        gather(pin, {.pattern = ByteStrings::Pattern::AllGather},
               capi::read_memory(data, size, "data"), max_bytes, options, out_bytes, out_count,
               work);
    });
}

tutti_status tutti_gather_bytes(tutti_group* group, const void* data, size_t size,
                                int32_t group_dst, int64_t max_bytes,
                                const tutti_call_options* options, tutti_bytes** out_bytes,
                                int64_t out_count, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::check_root(*pin, group_dst, "group_dst");
        gather(pin, {.pattern = ByteStrings::Pattern::Gather, .root = group_dst},
               capi::read_memory(data, size, "data"), max_bytes, options, out_bytes, out_count,
               work);
    });
}

tutti_status tutti_scatter_bytes(tutti_group* group, const void* const* data, const size_t* sizes,
                                 int64_t count, int32_t group_src, int64_t max_bytes,
                                 const tutti_call_options* options, tutti_bytes** out_bytes,
                                 tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        ByteStrings call{.pattern = ByteStrings::Pattern::Scatter, .root = group_src};
        capi::check_source_list(*pin, data, count, group_src, "data", "count");
        if (pin->rank() == group_src) {
            const auto ranks = static_cast<size_t>(count);
            capi::need_array(sizes, ranks, "sizes");
            for (size_t i = 0; i < ranks; ++i) {
                call.inputs.push_back(
                    capi::read_memory(data[i], sizes[i], capi::indexed("data", i)));
            }
        }
        call.max_bytes = capi::read_most(max_bytes);
        capi::need_places(out_bytes, 1, 1, "out_bytes", nullptr, true, work != nullptr);
        issue(pin, std::move(call), options, work, {out_bytes, 1});
    });
}

}  // extern "C"
