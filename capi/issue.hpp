// The start of every collective and message: here and now, as a work, or as part of a coalescing.
// Any thread.
#pragma once

#include <memory>
#include <utility>

#include "call_options.hpp"
#include "group.hpp"
#include "handle.hpp"
#include "tutti/work.h"

namespace tutti::capi {

// start() returns the work. The handle's slot is taken first: an operation that has started always
// gets its work.
template <typename Start>
void issue_work(const tutti_call_options& options, tutti_work** work, Start&& start) {
    Reserved<tutti_work> slot;
    prepare_on_done(options);
    const std::shared_ptr<Work> started = std::forward<Start>(start)();
    *work = slot.publish(started);
    call_on_done(options, *started);
}

template <typename Call>
void issue(Group& group, Call call, const tutti_call_options* given, tutti_work** work) {
    const tutti_call_options options = read_call_options(given, work != nullptr);
    if constexpr (IsCollective<Call>) {
        const Terms terms{options.timeout_ms, options.stream, tag_of(options)};
        if (work == nullptr) return group.run(std::move(call), terms);
        issue_work(options, work, [&] { return group.start(std::move(call), terms); });
    } else {
        call.stream = options.stream;
        call.tag_name = tag_of(options);
        if (work == nullptr) return static_cast<void>(group.run(call, options.timeout_ms));
        issue_work(options, work, [&] { return group.start(call, options.timeout_ms); });
    }
}

template <IsCollective Call>
void issue(const CallTarget& target, Call call, const tutti_call_options* given,
           tutti_work** work) {
    Coalescing* const coalescing = target.coalescing();
    if (coalescing == nullptr) return issue(*target, std::move(call), given, work);
    const tutti_call_options options = read_call_options(given, work != nullptr);
    if (work != nullptr) {
        refuse("work must be NULL in a coalescing; tutti_coalescing_end gives one for all calls");
    }
    if (options.stream != nullptr) {
        refuse(
            "options.stream must be NULL in a coalescing; tutti_coalescing_end has one for all "
            "calls");
    }
    if (options.timeout_ms != 0) {
        refuse(
            "options.timeout_ms must be 0 in a coalescing; tutti_coalescing_end has one for all "
            "calls");
    }
    coalescing->collect(std::move(call));
}

}  // namespace tutti::capi
