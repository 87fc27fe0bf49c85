#include "messages.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "hold.hpp"
#include "notes.hpp"
#include "profile/range.hpp"

namespace tutti {

namespace {

int peer_of(const Send& call) {
    return call.destination;
}
int peer_of(const Receive& call) {
    return call.source;
}

template <typename Call>
constexpr bool is_send = std::is_same_v<Call, Send>;

// In a profiler: "send 100 float32 to rank 3 on world".
template <typename Call>
profile::Range range_of_message(const Call& call, const GroupIdentity& group) {
    return profile::Range([&] { return cat(summary(call), " on ", group.name); });
}

}  // namespace

template <typename Call>
void GroupMessages::check_message(const Call& call) const {
    check(call, group_.identity.size);
    group_.identity.check_bound(call.buffer.device, "the buffer is on");
    group_.backends.check_messages(call.buffer.device.type, call.content != Content::Elements);
    group_.backends.check_plain(call.buffer.device.type, call.tag, peer_of(call),
                                group_.identity.rank);
}

template <typename Call>
Backend& GroupMessages::mover_of(const Call& call) const {
    if constexpr (is_send<Call>) {
        const bool is_here = call.buffer.device.type == TUTTI_CPU;
        staged::Staged* const waiting = is_here ? group_.backends.waiting_before(call) : nullptr;
        if (waiting != nullptr) return *waiting;
    }
    return *group_.backends.of_message(call).backend;
}

template <typename Call>
std::shared_ptr<MessageWork> GroupMessages::work_of(const Call& call, Backend& mover,
                                                    const CallSpan& span) {
    using Kind = std::conditional_t<is_send<Call>, MessageWork, ReceiveWork>;
    const MessageWork::What what{is_send<Call>, peer_of(call), call.tag,
                                 std::string(call.tag_name)};
    auto work = std::make_shared<Kind>(group_, door_, call_name(call), span.start,
                                       group_.backends.of_message(call), what);
    record::Call recorded =
        record_of(call, group_, {timeout_of(span.deadline), call.tag_name, true});
    with_context(call, [&] { recorded.start(); });
    work->record(std::move(recorded));
    work->set_helper(mover.message_helper());
    if (call.buffer.device.type == TUTTI_CPU) work->set_on_cpu();
    return work;
}

template <typename Call>
void GroupMessages::rethrow(const Call& call) const {
    group_.membership->message_failed();
    const MessageWork::What what{is_send<Call>, peer_of(call), call.tag,
                                 std::string(call.tag_name)};
    throw Error(group_.worded(what.text(call_name(call)), current_status()));
}

template <typename Call>
Call GroupMessages::entered(const Call& call) const {
    Call begun = call;
    if (begun.begun) return begun;
    if (call.buffer.device.type == TUTTI_CPU) {
        if (call.stream == nullptr) return begun;
        refuse("options.stream is given, and the buffer is in memory of the CPU");
    }
    StreamCalls* const streams = group_.backends.of_messages(call.buffer.device.type).streams;
    if (streams != nullptr) begun.begun = streams->begin(call.buffer.device, call.stream);
    return begun;
}

template <typename Call>
void GroupMessages::start_message(const Call& call, Backend& mover, const Deadline& until,
                                  const std::shared_ptr<Work>& work) {
    with_context(call, [&] {
        if (has_entered(call)) return mover.start(call, until, work);
        mover.start(entered(call), until, work);
    });
}

template <typename Call, typename Run>
int GroupMessages::run_message(const Call& call, Run&& run, int64_t timeout_ms) {
    check_message(call);
    group_.identity.check_may_wait(call_name(call));
    const profile::Range range = range_of_message(call, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    MemoryUse use = memory_of_message(call);
    int peer = peer_of(call);
    record::Call record = record_of(call, group_, {timeout_ms, call.tag_name});
    record::as_call(std::move(record), [&](record::Call& recorded) {
        with_context(call, [&] {
            recorded.start();
            peer = run(entered(call), group_.deadline_here(timeout_ms));
        });
        if (peer != peer_of(call)) recorded.came_from(peer);
    });
    if (call.stream == nullptr || use.empty()) return peer;
    staged::Staged* const staged = group_.backends.of_messages(call.buffer.device.type).staged;
    if (staged == nullptr) return peer;
    staged->keep(call.buffer.device, call.stream,
                 std::make_shared<const MemoryUse>(std::move(use)));
    return peer;
}

// The same of a backend that does not end it in one call.
template <typename Call>
int GroupMessages::await_message(const Call& call, int64_t timeout_ms) {
    check_message(call);
    group_.identity.check_may_wait(call_name(call));
    const profile::Range range = range_of_message(call, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    const CallSpan span = group_.span_of(timeout_ms);
    if (call.stream != nullptr) {
        hold(*start_message(call, span), call.stream);
        return peer_of(call);
    }
    const MemoryUse use = memory_of_message(call);
    Backend& mover = mover_of(call);
    const auto work = work_of(call, mover, span);
    start_message(call, mover, span.deadline, work);
    work->wait(Deadline::never());  // its own deadline ends it
    if (const Status status = *work->status(); !status.ok()) {
        group_.membership->message_failed();
        throw Error(status);
    }
    return work->source_rank();
}

template <typename Call>
std::shared_ptr<Work> GroupMessages::start_message(const Call& call, const CallSpan& span) {
    if constexpr (std::is_same_v<Call, Receive>) {
        const tutti_device_type device = call.buffer.device.type;
        if (device != TUTTI_CPU && group_.backends.of_messages(device).staged != nullptr) {
            return start_landing(call, span);
        }
    }
    Backend& mover = mover_of(call);
    const auto work = work_of(call, mover, span);
    work->put_in_background();
    keep_until_done(*work, memory_of_message(call));
    start_message(call, mover, span.deadline, work);
    return work;
}

// To a device, by way of memory of the CPU.
std::shared_ptr<Work> GroupMessages::start_landing(const Receive& call, const CallSpan& span) {
    staged::Staged& staged = *group_.backends.of_messages(call.buffer.device.type).staged;
    std::optional<staged::Staged::Landing> landing;
    with_context(call, [&] { landing = staged.prepare(entered(call)); });
    auto entry = std::make_shared<InFlight>(group_.life, call_name(call));
    const auto work = std::make_shared<ReceiveWork>(group_, door_, call_name(call), span.start);
    keep_until_done(*work, memory_of_message(call));
    const auto moving = work_of(call, mover_of(call), span);
    moving->put_in_background();
    work->deliver_from(moving);
    const Receive host = landing->host;
    moving->then(
        [&staged, landing = std::move(*landing), work, entry, moving](const Status& moved) {
            if (!moved.ok()) return work->finish(moved);
            staged.deliver(landing, moving->source_rank(), work);
        },
        Callbacks::of_library());
    try {
        start_message(host, mover_of(host), span.deadline, moving);
    } catch (...) {
        moving->finish(current_status());
    }
    return work;
}

std::shared_ptr<Work> GroupMessages::start(const Send& call, int64_t timeout_ms) {
    check_message(call);
    const profile::Range range = range_of_message(call, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    return start_message(call, group_.span_of(timeout_ms));
}

std::shared_ptr<Work> GroupMessages::start(const Receive& call, int64_t timeout_ms) {
    check_message(call);
    const profile::Range range = range_of_message(call, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    return start_message(call, group_.span_of(timeout_ms));
}

std::shared_ptr<Work> GroupMessages::start(const Receive& call, int64_t timeout_ms,
                                           std::function<void()> deliver) {
    check_message(call);
    const profile::Range range = range_of_message(call, group_.identity);
    // As long as the delivery may come: destroy() waits for it.
    auto entry = std::make_shared<InFlight>(group_.life, call_name(call));
    const CallSpan span = group_.span_of(timeout_ms);
    const auto work = std::make_shared<ReceiveWork>(group_, door_, call_name(call), span.start);
    Backend& mover = mover_of(call);
    const auto moving = work_of(call, mover, span);
    moving->put_in_background();
    work->deliver_from(moving);
    moving->then(
        [work, entry, deliver = std::move(deliver), incoming = call.incoming](const Status& moved) {
            if (!moved.ok()) return work->finish(moved);
            try {
                deliver();
                work->finish({}, incoming->source);
            } catch (...) {
                work->finish(current_status());
            }
        },
        Callbacks::of_library());
    start_message(call, mover, span.deadline, moving);
    return work;
}

void GroupMessages::run(const Send& call, int64_t timeout_ms) {
    if (call.destination == group_.identity.rank) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_dst is ", call.destination,
                        ", this rank itself, which only a send with a work can reach"));
    }
    const InFlight entry(group_.life, call_name(call), InFlight::Of::Any);  // or backends may go
    if (ends_later(group_.backends.of_message(call))) {
        await_message(call, timeout_ms);
        return;
    }
    run_message(
        call,
        [this](const Send& begun, const Deadline& until) {
            mover_of(begun).send(begun, until);
            return begun.destination;
        },
        timeout_ms);
}

int GroupMessages::run(const Receive& call, int64_t timeout_ms) {
    if (call.source == group_.identity.rank) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_src is ", call.source,
                        ", this rank itself, from which only a receive with a work can receive"));
    }
    const InFlight entry(group_.life, call_name(call), InFlight::Of::Any);  // or backends may go
    if (ends_later(group_.backends.of_message(call))) return await_message(call, timeout_ms);
    return run_message(
        call,
        [this](const Receive& begun, const Deadline& until) {
            return mover_of(begun).receive(begun, until);
        },
        timeout_ms);
}

// For batches.
template void GroupMessages::check_message(const Send&) const;
template Send GroupMessages::entered(const Send&) const;
template Backend& GroupMessages::mover_of(const Send&) const;
template std::shared_ptr<MessageWork> GroupMessages::work_of(const Send&, Backend&,
                                                             const CallSpan&);
template std::shared_ptr<Work> GroupMessages::start_message(const Send&, const CallSpan&);
template void GroupMessages::rethrow(const Send&) const;
template void GroupMessages::check_message(const Receive&) const;
template Receive GroupMessages::entered(const Receive&) const;
template Backend& GroupMessages::mover_of(const Receive&) const;
template std::shared_ptr<MessageWork> GroupMessages::work_of(const Receive&, Backend&,
                                                             const CallSpan&);
template std::shared_ptr<Work> GroupMessages::start_message(const Receive&, const CallSpan&);
template void GroupMessages::rethrow(const Receive&) const;

}  // namespace tutti
