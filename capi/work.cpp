// tutti/work.h. Any thread.
#include "tutti/work.h"

#include <algorithm>
#include <vector>

#include "arguments.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

using WorkPin = capi::Pin<tutti_work>;

tutti::Deadline read_limit(int64_t timeout_ms) {
    capi::check_timeout(timeout_ms, "timeout_ms");
    return tutti::Deadline::after_ms(timeout_ms == 0 ? -1 : timeout_ms);
}

std::vector<std::shared_ptr<tutti::Work>> share_all(tutti_work* const* works, size_t count) {
    capi::need_array(works, count, "works");
    std::vector<std::shared_ptr<tutti::Work>> shared;
    shared.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        shared.push_back(WorkPin(works[i], capi::indexed("works", i)).share());
    }
    return shared;
}

// How a work ended, as the result of the call; nothing to say of one that runs.
void throw_failure(const tutti::Work& work) {
    const std::optional<tutti::Status> status = work.status();
    if (status && !status->ok()) throw tutti::Error(*status);
}

[[noreturn]] void wait_expired(int64_t timeout_ms, const std::string& what) {
    throw capi::Refusal(TUTTI_ERR_TIMEOUT,
                        tutti::cat(timeout_ms, " ms have passed, and ", what, " still running"));
}

}  // namespace

extern "C" {

tutti_status tutti_work_wait(tutti_work* work, int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        if (!pin->wait(read_limit(timeout_ms))) wait_expired(timeout_ms, "the operation is");
        throw_failure(*pin);
    });
}

tutti_status tutti_work_is_completed(tutti_work* work, int32_t* out_completed, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_completed, "out_completed");
        *out_completed = pin->is_completed() ? 1 : 0;
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

tutti_status tutti_work_wait_any(tutti_work* const* works, size_t count, int64_t timeout_ms,
                                 size_t* out_index, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (count == 0) capi::refuse("count is 0; there is nothing to wait for");
        const auto shared = share_all(works, count);
        capi::need_output(out_index, "out_index");
        const auto index = tutti::Work::wait_any(shared, read_limit(timeout_ms));
        if (!index) wait_expired(timeout_ms, tutti::cat("all of the ", count, " operations are"));
        *out_index = *index;
    });
}

tutti_status tutti_work_wait_all(tutti_work* const* works, size_t count, int64_t timeout_ms,
                                 tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const auto shared = share_all(works, count);
        const tutti::Deadline limit = read_limit(timeout_ms);
        for (size_t i = 0; i < count; ++i) {
            if (!shared[i]->wait(limit)) {
                wait_expired(timeout_ms, tutti::cat("works[", i, "] is"));
            }
        }
        for (const auto& work : shared) throw_failure(*work);
    });
}

tutti_status tutti_work_then(tutti_work* work, tutti_work_callback callback, void* user,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        if (callback == nullptr) capi::refuse("callback is NULL");
        pin->then([callback, user](const tutti::Status& status) {
            tutti_error result = TUTTI_ERROR_INIT;
            if (!status.ok()) capi::report(status, "", &result);
            callback(&result, user);
        });
    });
}

const char* tutti_work_get_op_type(tutti_work* work) {
    const WorkPin pin(work);
    return pin ? pin->operation() : nullptr;
}

tutti_status tutti_work_get_sequence_number(tutti_work* work, uint64_t* out_number,
                                            tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const WorkPin pin(work, "work");
        capi::need_output(out_number, "out_number");
        *out_number = pin->number();
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
