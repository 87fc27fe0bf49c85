// Batches of messages, which are all under way at the same time.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "memory/held_memory.hpp"
#include "messages.hpp"
#include "notes.hpp"
#include "profile/range.hpp"

namespace tutti {

namespace {

profile::Range range_of_batch(std::span<const Message> batch, const GroupIdentity& group) {
    return profile::Range(
        [&] { return cat("batch_isend_irecv ", batch.size(), " messages on ", group.name); });
}

bool has_stream(const Message& message) {
    return std::visit(
        [](const auto& call) {
            return call.buffer.device.type != TUTTI_CPU || call.stream != nullptr;
        },
        message);
}

std::vector<record::Call> record_all(std::span<const Message> batch, const GroupCore& group,
                                     int64_t timeout_ms) {
    std::vector<record::Call> calls;
    calls.reserve(batch.size());
    const auto record = [&](const auto& call) {
        calls.push_back(record_of(call, group, {timeout_ms, call.tag_name}));
        calls.back().start();
    };
    for (const Message& message : batch) std::visit(record, message);
    return calls;
}

}  // namespace

void GroupMessages::check_batch(std::span<const Message> batch) const {
    for (const Message& message : batch) {
        std::visit([this](const auto& call) { check_message(call); }, message);
    }
}

// The backend that moves all of them and ends them on the caller's thread; null: there is none.
Backend* GroupMessages::mover_of_all(std::span<const Message> batch) const {
    Backend* all = nullptr;
    for (const Message& message : batch) {
        const auto mover = [this](const auto& call) -> Backend* {
            const bool is_here = has_entered(call) && !ends_later(group_.backends.of_message(call));
            return is_here ? &mover_of(call) : nullptr;
        };
        Backend* const one = std::visit(mover, message);
        if (one == nullptr || (all != nullptr && one != all)) return nullptr;
        all = one;
    }
    return all;
}

// Without works; false if the backend has no such way.
bool GroupMessages::run_here(std::span<const Message> batch, int64_t timeout_ms) {
    const profile::Range range = range_of_batch(batch, group_.identity);
    const InFlight entry(group_.life, "batch_isend_irecv");
    MemoryUse use;
    for (const Message& message : batch) {
        std::visit([&](const auto& call) { use.add(call.buffer.data); }, message);
    }
    Backend* const mover = mover_of_all(batch);
    if (mover == nullptr) return false;
    std::vector<record::Call> recorded = record_all(batch, group_, timeout_ms);
    const auto end = mover->run_batch(batch, group_.deadline_here(timeout_ms));
    if (!end) return false;
    for (record::Call& call : recorded) call.ended(end->status);
    if (end->status.ok()) return true;
    const auto fail = [&](const auto& call) {
        with_context(call, [&] { throw Error(end->status); });
    };
    std::visit(fail, batch[end->first_failed]);
    return true;
}

void GroupMessages::run(std::span<const Message> batch, int64_t timeout_ms) {
    group_.identity.check_may_wait("batch_isend_irecv");
    check_batch(batch);
    if (run_here(batch, timeout_ms)) return;
    const auto works = start(batch, timeout_ms);
    std::vector<const Work*> all;
    all.reserve(works.size());
    for (const auto& work : works) all.push_back(work.get());
    Work::wait_all(all, Deadline::never());
    for (const auto& work : works) {
        if (work->has_succeeded()) continue;
        work->failure_is_known();
        throw Error(*work->status());
    }
}

std::vector<std::shared_ptr<Work>> GroupMessages::start(std::span<const Message> batch,
                                                        int64_t timeout_ms) {
    check_batch(batch);
    const profile::Range range = range_of_batch(batch, group_.identity);
    const InFlight entry(group_.life, "batch_isend_irecv");
    std::vector<Message> entered_all;
    if (std::ranges::any_of(batch, has_stream)) {  // a fault of one stops all, before any starts
        entered_all.reserve(batch.size());
        for (const Message& message : batch) {
            const auto enter = [&](const auto& call) {
                with_context(call, [&] { entered_all.emplace_back(entered(call)); });
            };
            std::visit(enter, message);
        }
        batch = entered_all;
    }
    const CallSpan span = group_.span_of(timeout_ms);
    Backend* const mover = entered_all.empty() ? mover_of_all(batch) : nullptr;
    if (mover != nullptr) return start_here(batch, *mover, span);
    std::vector<std::shared_ptr<Work>> works(batch.size());
    const Together together(group_.backends);
    for (size_t index = 0; index < batch.size(); ++index) {
        try {
            works[index] = std::visit([&](const auto& call) { return start_message(call, span); },
                                      batch[index]);
        } catch (...) {  // others run already
            works[index] = std::make_shared<Work>(call_name(batch[index]));
            works[index]->finish(current_status());
        }
    }
    return works;
}

// All by that backend, and none on a device.
std::vector<std::shared_ptr<Work>> GroupMessages::start_here(std::span<const Message> batch,
                                                             Backend& mover, const CallSpan& span) {
    std::vector<std::shared_ptr<Work>> works;
    works.reserve(batch.size());
    const auto add = [&](const auto& call) {
        works.push_back(work_of(call, mover, span));
        keep_until_done(*works.back(), memory_of_message(call));
    };
    for (const Message& message : batch) std::visit(add, message);
    mover.start_batch(batch, span.deadline, works);
    return works;
}

}  // namespace tutti
