// Every fault a buffer can have, found before anything moves. Any thread.
#include "buffers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arguments.hpp"
#include "device/driver.hpp"
#include "reduce/reduce.hpp"
#include "refusal.hpp"

namespace tutti::capi {

namespace {

void check_place(const tutti_buffer& buffer, const Argument& argument) {
    if (buffer.device_type != TUTTI_CPU || buffer.device_index != 0) {
        check_device(buffer.device_type, buffer.device_index, argument);
    }
    const bool clean = buffer.reserved_0 == 0 &&
                       std::ranges::all_of(buffer.reserved, [](auto word) { return word == 0; });
    if (!clean) {
        refuse(argument.text(), " has a reserved field that is not 0; use TUTTI_BUFFER_INIT");
    }
}

void check_memory(const tutti_buffer& buffer, const Argument& argument) {
    if (buffer.count == 0) return;
    try {
        device::Driver::of(buffer.device_type)
            .check_memory(buffer.device_index, buffer.data, argument.at("data"));
    } catch (const Error& error) {
        // A device that has failed is no fault of the buffer's: the call finds out, and tells the
        // other ranks.
        const bool has_failed = error.status().code == TUTTI_ERR_BACKEND;
        if (!has_failed) throw Refusal(error.status());
    }
}

}  // namespace

View read_buffer(const tutti_buffer& buffer, const Argument& argument) {
    check_place(buffer, argument);
    if (buffer.dtype > TUTTI_BOOL) {
        refuse(argument.text(), ".dtype is ", buffer.dtype, ", no known dtype");
    }
    if (buffer.count < 0) refuse(argument.text(), ".count is ", buffer.count);
    const auto most =
        std::numeric_limits<int64_t>::max() / static_cast<int64_t>(element_size(buffer.dtype));
    if (buffer.count > most) {
        refuse(argument.text(), ".count is ", buffer.count, ", more than memory can hold");
    }
    if (buffer.data == nullptr && buffer.count > 0) {
        refuse(argument.text(), ".data is NULL but ", argument.text(), ".count is ", buffer.count);
    }
    if (buffer.device_type != TUTTI_CPU) check_memory(buffer, argument);
    return {buffer.data, buffer.count, buffer.dtype, {buffer.device_type, buffer.device_index}};
}

void check_device(tutti_device_type type, int32_t index, const Argument& owner) {
    try {
        device::Driver::check_here(type, index, owner);
    } catch (const Error& error) {
        throw Refusal(error.status());
    }
}

View read_buffer(const tutti_buffer* buffer, const char* argument) {
    if (buffer == nullptr) refuse(argument, " is NULL");
    return read_buffer(*buffer, Argument{argument});
}

Views read_buffers(const tutti_buffer* buffers, size_t count, const char* argument) {
    if (buffers == nullptr && count > 0) {
        refuse(argument, " is NULL but has ", count, " buffers");
    }
    Views views;
    views.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        views.push_back(read_buffer(buffers[index], {argument, static_cast<int64_t>(index)}));
    }
    return views;
}

tutti_buffer buffer_of(const View& view) {
    tutti_buffer buffer = TUTTI_BUFFER_INIT(view.data, view.count, view.dtype);
    buffer.device_type = view.device.type;
    buffer.device_index = view.device.index;
    return buffer;
}

}  // namespace tutti::capi
