#include "collectives.hpp"

#include <utility>

#include "alloc_memory.hpp"
#include "base/error.hpp"
#include "foreign_peers.hpp"
#include "hold.hpp"
#include "memory/held_memory.hpp"
#include "notes.hpp"
#include "posted.hpp"
#include "profile/range.hpp"
#include "turn.hpp"

namespace tutti {

namespace {

// Before the call's turn, or what the caller does with its stream next might come first.
void enter(const Route& route, FlatCall& call, void* stream, bool waits) {
    if (route.streams != nullptr) return route.streams->enter(call, stream, waits);
    if (stream == nullptr) return;
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                "options.stream is given, and the call has no buffers on a device with streams");
}

// No rank waits for this one in such a call.
bool is_nothing(const FlatCall& call) {
    return call.kind == FlatCall::Kind::Coalesced && call.calls.empty();
}

MemoryUse memory_of(const FlatCall& call) {
    MemoryUse use;
    if (use.is_off()) return use;
    const auto add = [&use](const FlatCall& one) {
        for (const ConstBytes input : one.inputs) use.add(input.data());
        for (const Bytes output : one.outputs) use.add(output.data());
    };
    add(call);
    for (const FlatCall& one : call.calls) add(one);
    return use;
}

// In a profiler: "all_reduce 100 float32 on world".
profile::Range range_of(const Fingerprint& call, const GroupIdentity& group) {
    return profile::Range([&] { return cat(summary(call), " on ", group.name); });
}

size_t bytes_of(const FlatCall& call) {
    size_t bytes = 0;
    for (const ConstBytes input : call.inputs) bytes += input.size();
    for (const Bytes output : call.outputs) bytes += output.size();
    for (const FlatCall& one : call.calls) bytes += bytes_of(one);
    return bytes;
}

}  // namespace

void Collectives::refuse_addends() const {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("all_reduce_addends needs a group that was made with options.reproducible, "
                    "and ",
                    group_.identity.label(), " was not"));
}

void Collectives::run(FlatCall call, const Terms& terms) {
    group_.identity.check_may_wait(call_name(call));
    const profile::Range range = range_of(call.fingerprint, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    if (is_nothing(call)) return;
    MemoryUse use = memory_of(call);
    const Route& route = group_.backends.of(call);
    enter(route, call, terms.stream, true);
    if (route.inlined == nullptr) {
        return run_posted(route, std::move(call), terms, std::move(use));
    }
    const Deadline until = group_.deadline_here(terms.timeout_ms);
    record::as_call(
        record_of(call, group_, {terms.timeout_ms, terms.tag}), [&](record::Call& recorded) {
            run_in_turn(group_, call.fingerprint, until, recorded, [&](uint64_t sequence) {
                route.inlined->run(call, sequence, until);
                if (call.alloc) share_memory(group_, *call.alloc, sequence, until);
            });
        });
    if (terms.stream == nullptr || use.empty()) return;
    route.staged->keep(call.device, terms.stream,
                       std::make_shared<const MemoryUse>(std::move(use)));
}

// The turn is over when the call is posted: what comes next need not wait for its end.
// With a stream, that waits for the end, and nobody here does.
void Collectives::run_posted(const Route& route, FlatCall call, const Terms& terms, MemoryUse use) {
    const CallSpan span = group_.span_of(terms.timeout_ms);
    const Deadline& until = span.deadline;
    void* const stream = call.stream;
    const bool is_beside = call.place == FlatCall::Place::Beside;
    const Fingerprint fingerprint = call.fingerprint;
    const auto work = std::make_shared<Posted>(group_, route, std::move(call), span, terms.tag);
    if (stream != nullptr) {
        keep_until_done(*work, std::move(use));
        work->put_in_background();
    }
    take_turn(group_, fingerprint, until, [&](uint64_t sequence) { work->run(sequence); });
    if (stream != nullptr) return hold(*work, is_beside ? stream : nullptr);
    if (!work->wait(until)) {
        work->expire();
        work->wait(Deadline::never());
    }
    if (const Status status = *work->status(); !status.ok()) throw Error(status);
}

std::shared_ptr<Work> Collectives::start(FlatCall call, const Terms& terms,
                                         std::function<void()> deliver) {
    const profile::Range range = range_of(call.fingerprint, group_.identity);
    const InFlight entry(group_.life, call_name(call));
    if (is_nothing(call)) {
        const auto work = std::make_shared<Work>(call_name(call));
        work->enqueued(std::make_shared<const NoStreamEvent>());
        work->finish({});
        return work;
    }
    const Route& route = group_.backends.of(call);
    enter(route, call, terms.stream, false);
    const CallSpan span = group_.span_of(terms.timeout_ms);
    MemoryUse use = memory_of(call);
    const bool is_long = has_spare_processor_ && bytes_of(call) >= Looks::long_bytes;
    const auto work = std::make_shared<Posted>(group_, route, std::move(call), span, terms.tag,
                                               std::move(deliver));
    keep_until_done(*work, std::move(use));
    const bool ends_inline = route.inlined != nullptr;
    if (!ends_inline) work->put_in_background();
    const bool may_post_here =
        terms.may_post_here && !ends_inline && !group_.identity.compares_first;
    const auto post_here = [&](uint64_t sequence) { work->run(sequence); };
    if (may_post_here && group_.ticket_queue->run_if_free(post_here)) return work;
    auto start = terms.may_post_here ? TicketQueue::Start::Soon : TicketQueue::Start::AtOnce;
    if (terms.may_post_here && is_long) start = TicketQueue::Start::AfterFirstRest;
    work->set_sequence_number(group_.ticket_queue->enqueue(work, span.deadline, start));
    return work;
}

void Collectives::monitored_barrier(bool wait_all_ranks, int64_t timeout_ms) {
    const Fingerprint call{CallKind::MonitoredBarrier, 0, 0, -1, 0};
    const char* const name = name_of(call.kind);
    group_.identity.check_may_wait(name);
    check_has_membership(group_.identity, name);
    const profile::Range range = range_of(call, group_.identity);
    const InFlight entry(group_.life, name);
    const Deadline until = group_.deadline_here(timeout_ms);
    record::as_call(record_of(call, group_, {timeout_ms}), [&](record::Call& recorded) {
        run_in_turn(group_, call, until, recorded, [&](uint64_t sequence) {
            take_barrier_step(group_, call, sequence, wait_all_ranks, until);
        });
    });
}

void Collectives::check_coalescing() const {
    group_.backends.check(lower(Coalesced{}, group_.identity.rank, group_.identity.size));
    const InFlight entry(group_.life, "coalescing_begin");
}

}  // namespace tutti
