// Every fault a buffer can have, found before anything moves. Any thread.
#include "buffers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reduce/reduce.hpp"
#include "refusal.hpp"

namespace tutti::capi {

namespace {

bool overlap(const ConstView& a, const ConstView& b) {
    const auto begin_a = reinterpret_cast<uintptr_t>(a.data);
    const auto begin_b = reinterpret_cast<uintptr_t>(b.data);
    return std::max(begin_a, begin_b) < std::min(begin_a + a.size(), begin_b + b.size());
}

void check_place(const tutti_buffer& buffer, const char* argument) {
    if (buffer.device_type != TUTTI_CPU) {
        throw Refusal(TUTTI_ERR_UNSUPPORTED, cat(argument, ".device_type is ", buffer.device_type,
                                                 "; only TUTTI_CPU (0) is supported"));
    }
    if (buffer.device_index != 0) {
        refuse(argument, ".device_index is ", buffer.device_index, "; it must be 0 for the CPU");
    }
    const bool clean = buffer.reserved_0 == 0 &&
                       std::ranges::all_of(buffer.reserved, [](auto word) { return word == 0; });
    if (!clean) refuse(argument, " has a reserved field that is not 0; use TUTTI_BUFFER_INIT");
}

}  // namespace

View read_buffer(const tutti_buffer* buffer, const char* argument) {
    if (buffer == nullptr) refuse(argument, " is NULL");
    check_place(*buffer, argument);
    if (buffer->dtype > TUTTI_BOOL)
        refuse(argument, ".dtype is ", buffer->dtype, ", no known dtype");
    if (buffer->count < 0) refuse(argument, ".count is ", buffer->count);
    const auto most =
        std::numeric_limits<int64_t>::max() / static_cast<int64_t>(element_size(buffer->dtype));
    if (buffer->count > most) {
        refuse(argument, ".count is ", buffer->count, ", more than memory can hold");
    }
    if (buffer->data == nullptr && buffer->count > 0) {
        refuse(argument, ".data is NULL but ", argument, ".count is ", buffer->count);
    }
    return {buffer->data, buffer->count, buffer->dtype};
}

ConstView read_input(const tutti_buffer* input, const View& output) {
    if (input == nullptr) return output;
    const ConstView view = read_buffer(input, "input");
    if (view.dtype != output.dtype) {
        refuse("input.dtype is ", dtype_name(view.dtype), " but output.dtype is ",
               dtype_name(output.dtype));
    }
    if (view.count != output.count) {
        refuse("input.count is ", view.count, " but output.count is ", output.count);
    }
    if (view.data != output.data && overlap(view, output)) {
        refuse("input and output overlap; they must be the same memory or have none in common");
    }
    return view;
}

}  // namespace tutti::capi
