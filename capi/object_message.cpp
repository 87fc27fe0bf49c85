// tutti/object.h, how objects become text and messages, and messages objects. Any thread.
#include <memory>
#include <span>

#include "arguments.hpp"
#include "guard.hpp"
#include "object.hpp"
#include "object/json.hpp"
#include "object/message.hpp"
#include "object_settings.hpp"
#include "options.hpp"
#include "tutti/object.h"

namespace capi = tutti::capi;

namespace {

tutti_bytes* hand_out_text(std::string text) {
    return capi::hand_out<tutti_bytes>(std::make_shared<const std::string>(std::move(text)));
}

}  // namespace

extern "C" {

void tutti_object_options_init(tutti_object_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_object_to_json(tutti_object* object, int64_t node, int32_t indent, int64_t limit,
                                  tutti_bytes** out_json, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::ObjectPin value(object, "object");
        capi::need_output(out_json, "out_json");
        if (indent < 0 || indent > 8) {
            capi::refuse("indent is ", indent, "; it must be from 0 to 8");
        }
        const tutti::JsonStyle style{static_cast<size_t>(indent), capi::read_count(limit, "limit")};
        *out_json = hand_out_text(tutti::to_json(*value, value->check_node(node, "node"), style));
    });
}

tutti_status tutti_object_encode(tutti_object* object, const tutti_object_options* options,
                                 tutti_bytes** out_bytes, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::ObjectPin value(object, "object");
        capi::need_output(out_bytes, "out_bytes");
        const auto settings = capi::read_settings(options, false);
        *out_bytes = hand_out_text(tutti::pack(*value, settings));
    });
}

tutti_status tutti_object_decode(const void* data, size_t size, const tutti_object_options* options,
                                 tutti_object** out_object, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (data == nullptr && size > 0) capi::refuse("data is NULL but size is ", size);
        capi::need_output(out_object, "out_object");
        const auto settings = capi::read_settings(options, false);
        const bool borrows = options != nullptr && capi::read_options(options).flags != 0;
        const std::span<const std::byte> message(static_cast<const std::byte*>(data), size);
        *out_object = capi::hand_out_object(borrows ? tutti::unpack_borrowed(message, settings)
                                                    : tutti::unpack_copied(message, settings));
    });
}

}  // extern "C"
