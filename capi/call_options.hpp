// tutti_call_options, checked. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "options.hpp"
#include "tutti/collectives.h"
#include "work/work.hpp"

namespace tutti::capi {

// For calls that move no buffers of the caller's.
inline void refuse_stream(const tutti_call_options& options) {
    if (options.stream == nullptr) return;
    refuse("options.stream is given, and this call has no buffers on a device with streams");
}

inline tutti_call_options read_call_options(const tutti_call_options* given, bool has_work) {
    if (given == nullptr) return TUTTI_CALL_OPTIONS_INIT;
    const tutti_call_options options = read_options(given);
    if (options.on_done != nullptr && !has_work) {
        refuse("options.on_done is given without a work, whose end it would tell");
    }
    return options;
}

inline std::string_view tag_of(const tutti_call_options& options) {
    return options.tag_name == nullptr ? std::string_view() : options.tag_name;
}

// Before the operation starts, so that the callback is sure to come.
inline void prepare_on_done(const tutti_call_options& options) {
    if (options.on_done != nullptr) Callbacks::of_program().start_thread();
}
inline void call_on_done(const tutti_call_options& options, Work& work) {
    if (options.on_done == nullptr) return;
    work.then(
        [on_done = options.on_done, user = options.on_done_user](const Status&) { on_done(user); });
}

}  // namespace tutti::capi
