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

// `open` makes handles' objects of what came.
template <typename Handle, typename Open>
void receive(const capi::GroupPin& pin, Receive call, const tutti_call_options* options,
             int32_t* out_group_src, tutti_work** work, capi::Places<Handle> places, Open open) {
    const int64_t timeout_ms = capi::read_options(options).timeout_ms;
    if (work != nullptr && out_group_src != nullptr) {
        capi::refuse("out_group_src must be NULL with a work; ask tutti_work_source_rank");
    }
    call.incoming = std::make_shared<Incoming>();
    if (work == nullptr) {
        const int source = pin->run(call, timeout_ms);
        places.publish(open(*call.incoming));
        if (out_group_src != nullptr) *out_group_src = source;
        return;
    }
    auto deliver = [incoming = call.incoming, open = std::move(open),
                    places = std::make_shared<capi::Places<Handle>>(std::move(places))] {
        places->publish(open(*incoming));
    };
    capi::Reserved<tutti_work> slot;
    *work = slot.publish(pin->start(call, timeout_ms, std::move(deliver)));
}

}  // namespace

extern "C" {

tutti_status tutti_send_object_list(tutti_group* group, tutti_object* const* objects, size_t count,
                                    int32_t group_dst, int32_t tag,
                                    const tutti_object_options* object_options,
                                    const tutti_call_options* options, tutti_work** work,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        ObjectSettings settings = capi::read_settings(*pin, object_options);
        settings.same_host = pin->same_host(group_dst);
        const auto message = std::make_shared<const std::string>(
            tutti::pack_list(capi::read_objects(objects, count), settings));
        const Send call{view_of(std::as_bytes(std::span(*message))), group_dst, tag,
                        Content::Objects, message};
        capi::issue(*pin, call, capi::read_options(options).timeout_ms, work);
    });
}

tutti_status tutti_recv_object_list(tutti_group* group, tutti_object** out_objects, size_t count,
                                    int32_t group_src, int32_t tag,
                                    const tutti_object_options* object_options,
                                    const tutti_call_options* options, int32_t* out_group_src,
                                    tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const ObjectSettings settings = capi::read_settings(*pin, object_options);
        capi::need_array(out_objects, count, "out_objects");
        Receive call{{}, group_src, tag, Content::Objects};
        call.most_bytes = tutti::longest_list(count, settings);
        capi::Reading reading{tutti::cat(call_name(call), " on ", pin->label()), settings};
        receive(pin, std::move(call), options, out_group_src, work,
                capi::Places<tutti_object>(out_objects, count),
                [reading = std::move(reading), count](Incoming& incoming) {
                    return capi::open_list(std::move(incoming.bytes), count, incoming.source,
                                           reading);
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
        capi::issue(*pin, call, capi::read_options(options).timeout_ms, work);
    });
}

tutti_status tutti_recv_bytes(tutti_group* group, tutti_bytes** out_bytes, int32_t group_src,
                              int32_t tag, int64_t max_bytes, const tutti_call_options* options,
                              int32_t* out_group_src, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(out_bytes, "out_bytes");
        Receive call{{}, group_src, tag, Content::ByteString};
        call.most_bytes = capi::read_most(max_bytes);
        receive(pin, std::move(call), options, out_group_src, work,
                capi::Places<tutti_bytes>(out_bytes, 1), [](Incoming& incoming) {
                    std::vector<capi::Places<tutti_bytes>::Value> values;
                    values.push_back(capi::to_bytes(std::move(incoming.bytes)));
                    return values;
                });
    });
}

}  // extern "C"
