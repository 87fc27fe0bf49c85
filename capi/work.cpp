// tutti/work.h. Any thread.
#include "tutti/work.h"

#include <algorithm>
#include <vector>

#include "arguments.hpp"
#include "call_memory.hpp"
#include "call_options.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "object.hpp"
#include "options.hpp"
#include "profile/range.hpp"
#include "results.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

namespace {

using WorkPin = capi::Pin<tutti_work>;
using tutti::profile::Range;

tutti::Deadline read_limit(int64_t timeout_ms) {
    capi::check_timeout(timeout_ms, "timeout_ms");
    return tutti::Deadline::after_ms(timeout_ms == 0 ? -1 : timeout_ms);
}

tutti::Argument argument_of(size_t index) {
    return {"works", static_cast<int64_t>(index)};
}

// The works that are not NULL, and their indexes in the caller's array.
struct SharedWorks {
    std::vector<std::shared_ptr<tutti::Work>> all;
    std::vector<size_t> indexes;
};

using WorkPins = std::pmr::vector<WorkPin>;

// Nothing for one that is NULL.
WorkPins pin_all(tutti_work* const* works, int64_t given_count, capi::CallMemory& memory) {
    const size_t count = capi::read_count(given_count, "count");
    capi::need_array(works, count, "works");
    WorkPins pins(memory.lists());
    pins.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        if (works[i] == nullptr) {
            pins.emplace_back(nullptr);
        } else {
            pins.emplace_back(works[i], argument_of(i));
        }
    }
    return pins;
}

SharedWorks share_all(tutti_work* const* works, int64_t count) {
    capi::CallMemory memory;
    const WorkPins pins = pin_all(works, count, memory);
    SharedWorks shared;
    for (size_t i = 0; i < pins.size(); ++i) {
        if (!pins[i]) continue;
        shared.all.push_back(pins[i].share());
        shared.indexes.push_back(i);
    }
    return shared;
}

// How a work ended, as the result of the call; nothing to say of one that runs.
void throw_failure(const tutti::Work& work) {
    const std::optional<tutti::Status> status = work.status();
    if (!status || status->ok()) return;  // an enqueued one may end well meanwhile
    work.failure_is_known();
    throw tutti::Error(*status);
}

[[noreturn]] void wait_expired(int64_t timeout_ms, const std::string& what) {
    throw capi::Refusal(TUTTI_ERR_PENDING,
                        tutti::cat(timeout_ms, " ms have passed, and ", what, " still running"));
}

template <typename Handle>
void take(tutti_work* work, Handle** out, int64_t count, const char* argument, const char* noun) {
    const WorkPin pin(work, "work");
    auto* const results = dynamic_cast<capi::HeldResults<Handle>*>(pin->results().get());
    if (results == nullptr) {
        capi::refuse("work is of ", pin->operation(), ", which receives no ", noun);
    }
    if (!pin->is_completed()) {
        throw capi::Refusal(TUTTI_ERR_PENDING, "the operation is still running");
    }
    throw_failure(*pin);
    results->take(out, count, argument);
}

}  // namespace

extern "C" {

tutti_status tutti_work_wait(tutti_work* work, int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        const Range range([&] { return tutti::cat("wait for ", pin->operation()); });
        const auto limit = read_limit(timeout_ms);
        pin->check_may_wait();
        if (!pin->wait(limit)) wait_expired(timeout_ms, "the operation is");
        throw_failure(*pin);
    });
}

tutti_status tutti_work_is_completed(tutti_work* work, int32_t* out_completed, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_completed, "out_completed");
        *out_completed = pin->poll() ? 1 : 0;
    });
}

tutti_status tutti_work_is_success(tutti_work* work, int32_t* out_success, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_success, "out_success");
        const std::optional<tutti::Status> status = pin->status();
        *out_success = status && status->ok() ? 1 : 0;
    });
}

tutti_status tutti_work_error(tutti_work* work, tutti_error* error) {
    return capi::guard(__func__, error, [&] { throw_failure(*WorkPin(work, "work")); });
}

tutti_status tutti_work_source_rank(tutti_work* work, int32_t* out_rank, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_rank, "out_rank");
        *out_rank = pin->source_rank();
    });
}

tutti_status tutti_work_wait_any(tutti_work* const* works, int64_t count, int64_t timeout_ms,
                                 int64_t* out_index, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (count == 0) capi::refuse("count is 0; there is nothing to wait for");
        const SharedWorks shared = share_all(works, count);
        if (shared.all.empty()) {
            capi::refuse("all of the ", count, " works are NULL; there is nothing to wait for");
        }
        capi::need_output(out_index, "out_index");
        const Range range([&] { return tutti::cat("wait for any of ", count, " works"); });
        const tutti::Deadline limit = read_limit(timeout_ms);
        if (std::ranges::none_of(shared.all, &tutti::Work::is_completed)) {
            for (const auto& work : shared.all) work->check_may_wait();
        }
        const auto index = tutti::Work::wait_any(shared.all, limit);
        if (!index) {
            wait_expired(timeout_ms,
                         tutti::cat("all of the ", shared.all.size(), " operations are"));
        }
        *out_index = static_cast<int64_t>(shared.indexes[*index]);
    });
}

tutti_status tutti_work_wait_all(tutti_work* const* works, int64_t count, int64_t timeout_ms,
                                 tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::CallMemory memory;
        const WorkPins pins = pin_all(works, count, memory);
        const tutti::Deadline limit = read_limit(timeout_ms);
        const Range range([&] { return tutti::cat("wait for ", count, " works"); });
        std::pmr::vector<const tutti::Work*> all(memory.lists());
        all.reserve(pins.size());
        for (const WorkPin& pin : pins) {
            if (pin) pin->check_may_wait();
            all.push_back(pin ? pin.get() : nullptr);
        }
        if (const auto running = tutti::Work::wait_all(all, limit)) {
            wait_expired(timeout_ms, argument_of(*running).text() + " is");
        }
        for (const WorkPin& pin : pins) {
            if (pin) throw_failure(*pin);
        }
    });
}

tutti_status tutti_work_then(tutti_work* work, tutti_work_callback callback, void* user,
                             tutti_release_function release_user, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        if (callback == nullptr) capi::refuse("callback is NULL");
        const auto owned = std::make_shared<capi::User>(user, release_user);
        tutti::Callbacks::of_program().start_thread();
        owned->give();
        pin->then([callback, owned](const tutti::Status& status) {
            tutti_error result = TUTTI_ERROR_INIT;
            if (!status.ok()) capi::report(status, "", &result);
            callback(&result, owned->get());
        });
    });
}

tutti_status tutti_work_synchronize(tutti_work* work, void* stream, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        const Range range([&] { return tutti::cat("synchronize with ", pin->operation()); });
        pin->check_may_wait();
        constexpr const char* no_device =
            "stream is given, and the operation has no buffers on a device";
        if (stream != nullptr && pin->is_on_cpu()) capi::refuse(no_device);
        if (stream == nullptr) {
            pin->wait(tutti::Deadline::never());
        } else {
            pin->wait_enqueued();
        }
        throw_failure(*pin);
        if (stream == nullptr) return;
        const auto end = pin->stream_end();
        if (!end) capi::refuse(no_device);
        try {
            end->hold(stream);
        } catch (const tutti::Error& fault) {
            const tutti_status code = fault.status().code;
            const bool is_refusal =
                code == TUTTI_ERR_INVALID_ARGUMENT || code == TUTTI_ERR_UNSUPPORTED;
            if (is_refusal) throw capi::Refusal(fault.status());
            throw;
        }
    });
}

tutti_status tutti_work_cancel(tutti_work* work, int32_t* out_cancelled, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_cancelled, "out_cancelled");
        const auto cancelled = pin->cancel();
        if (!cancelled) {
            throw capi::Refusal(
                TUTTI_ERR_UNSUPPORTED,
                tutti::cat("work is of ", pin->operation(), "; only a receive can be cancelled"));
        }
        *out_cancelled = *cancelled ? 1 : 0;
    });
}

tutti_status tutti_work_take_objects(tutti_work* work, tutti_object** out_objects, int64_t count,
                                     tutti_error* error) {
    return capi::guard(__func__, error,
                       [&] { take(work, out_objects, count, "out_objects", "objects"); });
}

tutti_status tutti_work_take_bytes(tutti_work* work, tutti_bytes** out_bytes, int64_t count,
                                   tutti_error* error) {
    return capi::guard(__func__, error,
                       [&] { take(work, out_bytes, count, "out_bytes", "bytes"); });
}

const char* tutti_work_get_op_type(tutti_work* work) {
    const WorkPin pin(work);
    return pin ? pin->operation() : nullptr;
}

tutti_status tutti_work_get_sequence_number(tutti_work* work, int64_t* out_number,
                                            tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_number, "out_number");
        *out_number = static_cast<int64_t>(pin->sequence_number());
    });
}

tutti_status tutti_work_get_duration(tutti_work* work, double* out_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_ms, "out_ms");
        const auto duration = pin->duration();
        using Milliseconds = std::chrono::duration<double, std::milli>;
        *out_ms = duration ? Milliseconds(*duration).count() : -1;
    });
}

void tutti_work_release(tutti_work* work) {
    if (!capi::forked()) capi::release(work);
}

}  // extern "C"
