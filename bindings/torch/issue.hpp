// How a call is made: at once, or with a work. Included by the files that have the calls.
#pragma once

#include <ATen/record_function.h>

#include <utility>

#include "backend.hpp"
#include "stream.hpp"

namespace tutti_torch {

inline tutti_call_options call_options(Milliseconds timeout, const Operands& operands) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    if (timeout.count() > 0) options.timeout_ms = timeout.count();
    if (operands.on_device()) options.stream = current_stream(operands.device());
    return options;
}

template <typename Call>
WorkPtr Backend::issue(const Terms& terms, Operands&& operands, Tensors results, Call&& call) {
    tutti_error error = no_error();
    if (is_collecting()) [[unlikely]] {
        check(call(At{batch_group(operands.device()), nullptr, nullptr, &error}), error);
        return collected(terms, std::move(operands), std::move(results));
    }
    const uint64_t number = ++sequence_;
    const tutti_call_options options = call_options(terms.timeout, operands);
    if (!terms.is_async && !at::hasCallbacks()) {
        check(call(At{group_, &options, nullptr, &error}), error);
        operands.finish();
        return c10::make_intrusive<FinishedWork>(terms.op, std::move(results), number);
    }
    tutti_work* work = nullptr;
    check(call(At{group_, &options, &work, &error}), error);
    auto running = std::make_shared<Running>(std::vector<tutti_work*>{work}, std::move(operands),
                                             std::move(results));
    auto started =
        c10::make_intrusive<RunningWork>(terms.op, terms.title, std::move(running), number);
    if (!terms.is_async) started->wait(Milliseconds(0));  // a profiler sees works alone
    return started;
}

template <typename Call>
WorkPtr Backend::issue_together(const Terms& terms, Operands&& operands, Tensors results,
                                size_t count, Call&& call) {
    const auto calls = [&](tutti_group* group) {
        tutti_error error = no_error();
        for (size_t i = 0; i < count; ++i) check(call(i, group, &error), error);
    };
    if (is_collecting()) {
        calls(batch_group(operands.device()));
        return collected(terms, std::move(operands), std::move(results));
    }
    tutti_group* const group = begin_coalescing(operands.device());
    try {
        calls(group);
    } catch (...) {
        tutti_group_release(group);
        throw;
    }
    return issue(terms, std::move(operands), std::move(results), [group](const At& at) {
        const tutti_status status = tutti_coalescing_end(group, at.options, at.work, at.error);
        if (status != TUTTI_OK) tutti_group_release(group);
        return status;
    });
}

template <typename Call>
WorkPtr Backend::issue_message(const Terms& terms, Operands&& operands, Tensors results,
                               Call&& call) {
    tutti_error error = no_error();
    const tutti_call_options options = call_options(terms.timeout, operands);
    tutti_work* work = nullptr;
    check(call(At{group_, &options, &work, &error}), error);
    if (is_collecting()) {
        batch_->messages.push_back(work);
        return collected(terms, std::move(operands), std::move(results));
    }
    auto running = std::make_shared<Running>(std::vector<tutti_work*>{work}, std::move(operands),
                                             std::move(results));
    return c10::make_intrusive<RunningWork>(terms.op, terms.title, std::move(running), 0);
}

}  // namespace tutti_torch
