// tutti/object_collectives.h, of objects. Any thread; what came in is read on the thread that
// waits, or on the group's own.
#include "tutti/object_collectives.h"

#include "arguments.hpp"
#include "guard.hpp"
#include "issue_byte_strings.hpp"
#include "object_lists.hpp"
#include "object_settings.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

using tutti::ByteStrings;
using tutti::ObjectPointer;
using tutti::ObjectSettings;
using ObjectPlaces = capi::Places<tutti_object>;

// The messages of a call, which go as long as it runs.
using Messages = std::vector<std::string>;

void give(ByteStrings& call, Messages made) {
    const auto messages = std::make_shared<const Messages>(std::move(made));
    for (const std::string& message : *messages) {
        call.inputs.push_back(std::as_bytes(std::span(message)));
    }
    call.inputs_memory = messages;
}

std::string pack_one(const ObjectPointer& object, ObjectSettings settings, bool same_host) {
    settings.same_host = same_host;
    return tutti::pack_list({&object, 1}, settings);
}

capi::Reading reading_of(const capi::GroupPin& pin, const ByteStrings& call,
                         const ObjectSettings& settings) {
    return {tutti::cat(call_name(call), " on ", pin->label()), settings};
}

// All objects came in one message from the root.
capi::Open<tutti_object> open_root(capi::Reading reading, size_t count, int root) {
    return [reading = std::move(reading), count, root](ByteStrings::Received& received) {
        return capi::open_list(std::move(received.front()), count, root, reading);
    };
}

// This rank's own value does not travel: it is the value that was given, or a copy if that lies in
// the caller's memory.
ObjectPointer own_value(const ObjectPointer& given) {
    if (!given->borrows()) return given;
    tutti::Builder builder;
    builder.copy(*given, 0);
    return builder.finish();
}

// Every rank sent one object.
capi::Open<tutti_object> open_each(capi::Reading reading, int own_rank, const ObjectPointer& own) {
    return [reading = std::move(reading), own_rank,
            own = own_value(own)](ByteStrings::Received& received) {
        std::vector<ObjectPlaces::Value> values;
        for (int source = 0; source < static_cast<int>(received.size()); ++source) {
            tutti::OwnedBytes& message = received[static_cast<size_t>(source)];
            values.push_back(source == own_rank
                                 ? std::make_shared<capi::Draft>(own)
                                 : capi::open_list(std::move(message), 1, source, reading).front());
        }
        return values;
    };
}

// The root of a scatter.
capi::Open<tutti_object> open_own(const ObjectPointer& own) {
    return [own = own_value(own)](ByteStrings::Received& /*received*/) {
        return std::vector<ObjectPlaces::Value>{std::make_shared<capi::Draft>(own)};
    };
}

// all_gather and gather.
void gather(const capi::GroupPin& pin, ByteStrings call, tutti_object* object,
            const tutti_object_options* object_options, const tutti_call_options* options,
            tutti_object** out_objects, int64_t out_count, tutti_work** work) {
    const ObjectSettings settings = capi::read_settings(*pin, object_options);
    const ObjectPointer value = capi::Pin<tutti_object>(object, "object")->value("object");
    const auto ranks = static_cast<size_t>(pin->size());
    const bool receives = call.root < 0 || call.root == pin->rank();
    capi::need_places(out_objects, out_count, ranks, "out_objects", "out_count", receives,
                      work != nullptr);
    call.keeps_own = false;
    // The root of a gather sends nothing.
    const bool same_host = call.root < 0 ? pin->same_host() : pin->same_host(call.root);
    give(call, {call.root == pin->rank() ? std::string() : pack_one(value, settings, same_host)});
    call.max_bytes = tutti::max_list(1, settings);
    capi::issue_byte_strings<tutti_object>(
        *pin, call, options, work, {out_objects, receives ? ranks : 0},
        open_each(reading_of(pin, call, settings), pin->rank(), value));
}

}  // namespace

extern "C" {

tutti_status tutti_broadcast_object_list(tutti_group* group, tutti_object* const* objects,
                                         int64_t count, int32_t group_src,
                                         const tutti_object_options* object_options,
                                         const tutti_call_options* options,
                                         tutti_object** out_objects, tutti_work** work,
                                         tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const size_t number = capi::read_count(count, "count");
        ObjectSettings settings = capi::read_settings(*pin, object_options);
        settings.same_host = pin->same_host();
        ByteStrings call{.pattern = ByteStrings::Pattern::Broadcast, .root = group_src};
        const bool gives = pin->rank() == group_src;
        if (gives) {
            give(call, {tutti::pack_list(capi::read_objects(objects, number), settings)});
        } else if (objects != nullptr) {
            capi::refuse("objects must be NULL on rank ", pin->rank(), ", which is not group_src");
        }
        capi::need_places(out_objects, count, number, "out_objects", nullptr, !gives,
                          work != nullptr);
        call.max_bytes = tutti::max_list(number, settings);
        capi::issue_byte_strings<tutti_object>(
            *pin, call, options, work, {out_objects, gives ? 0 : number},
            open_root(reading_of(pin, call, settings), number, group_src));
    });
}

tutti_status tutti_all_gather_object(tutti_group* group, tutti_object* object,
                                     const tutti_object_options* object_options,
                                     const tutti_call_options* options, tutti_object** out_objects,
                                     int64_t out_count, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        gather(capi::need_group(group), {.pattern = ByteStrings::Pattern::AllGather}, object,
               object_options, options, out_objects, out_count, work);
    });
}

tutti_status tutti_gather_object(tutti_group* group, tutti_object* object, int32_t group_dst,
                                 const tutti_object_options* object_options,
                                 const tutti_call_options* options, tutti_object** out_objects,
                                 int64_t out_count, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::check_root(*pin, group_dst, "group_dst");
        gather(pin, {.pattern = ByteStrings::Pattern::Gather, .root = group_dst}, object,
               object_options, options, out_objects, out_count, work);
    });
}

tutti_status tutti_scatter_object_list(tutti_group* group, tutti_object* const* objects,
                                       int64_t object_count, int32_t group_src,
                                       const tutti_object_options* object_options,
                                       const tutti_call_options* options, tutti_object** out_object,
                                       tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const ObjectSettings settings = capi::read_settings(*pin, object_options);
        ByteStrings call{.pattern = ByteStrings::Pattern::Scatter, .root = group_src};
        capi::check_source_list(*pin, objects, object_count, group_src, "objects", "object_count");
        call.keeps_own = false;
        capi::Open<tutti_object> open;
        if (pin->rank() == group_src) {
            const auto values = capi::read_objects(objects, static_cast<size_t>(object_count));
            const auto own = static_cast<size_t>(group_src);
            Messages messages(values.size());
            for (size_t i = 0; i < values.size(); ++i) {
                const bool same_host = pin->same_host(static_cast<int>(i));
                if (i != own) messages[i] = pack_one(values[i], settings, same_host);
            }
            give(call, std::move(messages));
            open = open_own(values[own]);
        } else {
            open = open_root(reading_of(pin, call, settings), 1, group_src);
        }
        capi::need_places(out_object, 1, 1, "out_object", nullptr, true, work != nullptr);
        call.max_bytes = tutti::max_list(1, settings);
        capi::issue_byte_strings<tutti_object>(*pin, call, options, work, {out_object, 1},
                                               std::move(open));
    });
}

}  // extern "C"
