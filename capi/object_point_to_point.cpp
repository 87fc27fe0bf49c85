// tutti/object_point_to_point.h. Any thread; what came in is read on the thread that waits, or on
// the library's own for that.
#include "tutti/object_point_to_point.h"

#include "arguments.hpp"
#include "byte_strings.hpp"
#include "guard.hpp"
#include "issue.hpp"
#include "issue_byte_strings.hpp"
#include "object_lists.hpp"
#include "object_settings.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

using tutti::Content;
using tutti::Incoming;
using tutti::ObjectSettings;
using tutti::Receive;
using tutti::Send;

tutti::ConstView view_of(std::span<const std::byte> bytes) {
    return {bytes.data(), static_cast<int64_t>(bytes.size()), TUTTI_UINT8};
}

// open(incoming) makes handles' objects of what came.
template <typename Handle, typename Open>
void receive(const capi::GroupPin& pin, Receive call, const tutti_call_options* options,
             int32_t* out_group_src, tutti_work** work, capi::Destination<Handle> to, Open open) {
    if (work != nullptr && out_group_src != nullptr) {
        capi::refuse("out_group_src must be NULL with a work; ask tutti_work_source_rank");
    }
    call.incoming = std::make_shared<Incoming>();
    int source = -1;
    capi::issue_receiving(
        to, options, work,
        [&](int64_t timeout_ms, std::string_view tag_name) {
            call.tag_name = tag_name;
            source = pin->run(call, timeout_ms);
        },
        [&](int64_t timeout_ms, std::string_view tag_name, std::function<void()> deliver) {
            call.tag_name = tag_name;
            return pin->start(call, timeout_ms, std::move(deliver));
        },
        [incoming = call.incoming, open = std::move(open)] { return open(*incoming); });
    if (out_group_src != nullptr) *out_group_src = source;
}

}  // namespace

extern "C" {

tutti_status tutti_send_object_list(tutti_group* group, tutti_object* const* objects, int64_t count,
                                    int32_t group_dst, int32_t tag,
                                    const tutti_object_options* object_options,
                                    const tutti_call_options* options, tutti_work** work,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        ObjectSettings settings = capi::read_settings(*pin, object_options);
        settings.same_host = pin->same_host(group_dst);
        const auto values = capi::read_objects(objects, capi::read_count(count, "count"));
        const auto message =
            std::make_shared<const std::string>(tutti::pack_list(values, settings));
        const Send call{view_of(std::as_bytes(std::span(*message))), group_dst, tag,
                        Content::Objects, message};
        capi::issue(*pin, call, options, work);
    });
}

tutti_status tutti_recv_object_list(tutti_group* group, int32_t group_src, int32_t tag,
                                    const tutti_object_options* object_options,
                                    const tutti_call_options* options, tutti_object** out_objects,
                                    int64_t count, int32_t* out_group_src, tutti_work** work,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const ObjectSettings settings = capi::read_settings(*pin, object_options);
        const size_t number = capi::read_count(count, "count");
        capi::need_places(out_objects, count, number, "out_objects", nullptr, true,
                          work != nullptr);
        Receive call{{}, group_src, tag, Content::Objects};
        call.max_bytes = tutti::max_list(number, settings);
        capi::Reading reading{tutti::cat(call_name(call), " on ", pin->label()), settings};
        receive<tutti_object>(
            pin, std::move(call), options, out_group_src, work, {out_objects, number},
            [reading = std::move(reading), number](Incoming& incoming) {
                return capi::open_list(std::move(incoming.bytes), number, incoming.source, reading);
            });
    });
}

tutti_status tutti_send_bytes(tutti_group* group, const void* data, size_t size, int32_t group_dst,
                              int32_t tag, const tutti_call_options* options, tutti_work** work,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const Send call{view_of(capi::read_memory(data, size, "data")), group_dst, tag,
                        Content::ByteString};
        capi::issue(*pin, call, options, work);
    });
}

tutti_status tutti_recv_bytes(tutti_group* group, int32_t group_src, int32_t tag, int64_t max_bytes,
                              const tutti_call_options* options, tutti_bytes** out_bytes,
                              int32_t* out_group_src, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_places(out_bytes, 1, 1, "out_bytes", nullptr, true, work != nullptr);
        Receive call{{}, group_src, tag, Content::ByteString};
        call.max_bytes = capi::read_most(max_bytes);
        receive<tutti_bytes>(pin, std::move(call), options, out_group_src, work, {out_bytes, 1},
                             [](Incoming& incoming) {
                                 std::vector<capi::Places<tutti_bytes>::Value> values;
                                 values.push_back(capi::to_bytes(std::move(incoming.bytes)));
                                 return values;
                             });
    });
}

}  // extern "C"
