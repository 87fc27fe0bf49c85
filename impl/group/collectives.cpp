// The collectives of a group, issued here or in the background, and the effect of a failure on the
// group. Any thread.
#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "group.hpp"
#include "in_flight.hpp"
#include "posted.hpp"
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

size_t bytes_of(const FlatCall& call) {
    size_t bytes = 0;
    for (const ConstBytes input : call.inputs) bytes += input.size();
    for (const Bytes output : call.outputs) bytes += output.size();
    for (const FlatCall& one : call.calls) bytes += bytes_of(one);
    return bytes;
}

}  // namespace

// A timeout is that of one call.
Status Group::cause_for_others(const Status& status, const std::string& operation) const {
    const bool speaks_for_all = status.code == TUTTI_ERR_PEER_LOST ||
                                status.code == TUTTI_ERR_MISMATCH ||
                                status.code == TUTTI_ERR_ABORTED;
    if (speaks_for_all) return status;
    Status of_operation = status;
    of_operation.message = cat(operation, " ", status.message);
    return gave_up(rank_, of_operation);
}

// The group cannot go on after a failed collective. Returns the error for the caller. Other running
// calls end for the same reason, or, if this call had not begun, because of it.
Status Group::fail(Status status, const Fingerprint& call, uint64_t sequence,
                   bool had_begun) noexcept {
    const std::string operation = describe(call, sequence);
    Status cause = membership_->reason_of(status);
    const bool is_of_others = cause.code != status.code || cause.message != status.message;
    if (is_of_others) status = cause;
    {
        const Lock lock(mutex_);
        blame_own_exhaustion(status, rank_);
        if (destroyed_ || !failure_.ok()) {
            status.message = cat(operation, " on ", label(), ": ", status.message);
            return status;
        }
        if (!is_of_others) cause = cause_for_others(status, operation);
        failure_ = status;
        failure_for_others_ = cause;
        gate_.shut();
    }
    if (cause.code == TUTTI_ERR_MISMATCH) {
        membership_->report_mismatch(cause);
    } else {
        membership_->report(cause);
    }
    backends_.abort(had_begun ? status : cause);
    ticket_queue_->hurry();  // those that nobody waits for fail now
    status.message = cat(operation, " on ", label(), ": ", status.message);
    return status;
}

void Group::abandon(const Status& cause) noexcept {
    {
        const Lock lock(mutex_);
        if (destroyed_ || !failure_.ok()) return;
        failure_ = failure_for_others_ = cause;
        gate_.shut();
    }
    membership_->report(cause);
    backends_.abort(cause);
    ticket_queue_->hurry();
}

Status Group::failure() {
    return failure_by([this] { return membership_->trouble(rank_); });
}

Status Group::end_of_calls() {
    return failure_by([this] { return membership_->end_of_calls(); });
}

template <typename Ask>
Status Group::failure_by(Ask&& ask) {
    {
        const Lock lock(mutex_);
        if (!failure_.ok() || destroyed_) return failure_;
    }
    Status trouble;
    try {
        const InFlight entry(*this, "failure", InFlight::Of::Any);
        trouble = ask();
    } catch (const Error&) {  // destroyed meanwhile
    }
    const Lock lock(mutex_);
    return destroyed_ ? failure_ : trouble;  // to leave is no failure
}

void Group::refuse_addends() const {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("all_reduce_addends needs a group that was made with options.reproducible, "
                    "and ",
                    label(), " was not"));
}

// The call was issued on a sound group; one in front of it may have failed since. Ranks have then
// left that one at different places, so what this one sent would be taken for a part of it.
void Group::check_turn() const {
    if (!gate_.is_shut()) return;
    const Lock lock(mutex_);
    if (failure_.ok()) return;
    Status status = failure_for_others_;
    status.message = cat("the group has failed before: ", status.message);
    throw Error(std::move(status));
}

void Group::run_flat(FlatCall call, const Terms& terms) {
    check_may_wait(call_name(call));
    const profile::Range range = range_of(call.fingerprint);
    const InFlight entry(*this, call_name(call));
    if (is_nothing(call)) return;
    MemoryUse use = memory_of(call);
    const Route& route = backends_.of(call);
    enter(route, call, terms.stream, true);
    if (route.inlined == nullptr) {
        return run_posted(route, std::move(call), span_of(terms.timeout_ms), std::move(use));
    }
    const Deadline until = deadline_here(terms.timeout_ms);
    run_in_turn(call.fingerprint, until, [&](uint64_t sequence) {
        route.inlined->run(call, sequence, until);
        if (call.alloc) share_memory(*call.alloc, sequence, until);
    });
    if (terms.stream == nullptr || use.empty()) return;
    route.staged->keep(call.device, terms.stream,
                       std::make_shared<const MemoryUse>(std::move(use)));
}

// The turn is over when the call is posted: what comes next need not wait for its end.
// With a stream, that waits for the end, and nobody here does.
void Group::run_posted(const Route& route, FlatCall call, const Span& span, MemoryUse use) {
    const Deadline& until = span.deadline;
    void* const stream = call.stream;
    const bool is_beside = call.place == FlatCall::Place::Beside;
    const Fingerprint fingerprint = call.fingerprint;
    const auto work = std::make_shared<Posted>(*this, route, std::move(call), span);
    if (stream != nullptr) {
        keep_until_done(*work, std::move(use));
        work->put_in_background();
    }
    take_turn(fingerprint, until, [&](uint64_t sequence) { work->run(sequence); });
    if (stream != nullptr) return hold(*work, is_beside ? stream : nullptr);
    if (!work->wait(until)) {
        work->expire();
        work->wait(Deadline::never());
    }
    if (const Status status = *work->status(); !status.ok()) throw Error(status);
}

void Group::hold(const Work& work, void* stream) {
    work.wait_enqueued();
    if (const auto status = work.status(); status && !status->ok()) throw Error(*status);
    if (stream == nullptr) return;  // the work is on it
    if (const auto end = work.stream_end()) end->hold(stream);
}

void Group::post(const Route& route, FlatCall& call, uint64_t sequence, const Deadline& until,
                 Posted& work) noexcept {
    const InOperation inside(as_operator());
    Status status;
    try {
        check_turn();
        prepare(call.fingerprint, sequence, until);
        if (route.inlined == nullptr || route.staged != nullptr) {
            return route.backend->post({std::move(call), sequence, until}, work.shared_from_this());
        }
        route.inlined->run(call, sequence, until);
    } catch (...) {
        status = current_status();
    }
    work.finish(std::move(status));
}

std::shared_ptr<Work> Group::start_flat(FlatCall call, const Terms& terms,
                                        std::function<void()> deliver) {
    const profile::Range range = range_of(call.fingerprint);
    const InFlight entry(*this, call_name(call));
    if (is_nothing(call)) {
        const auto work = std::make_shared<Work>(call_name(call));
        work->enqueued(std::make_shared<const NoStreamEvent>());
        work->finish({});
        return work;
    }
    const Route& route = backends_.of(call);
    enter(route, call, terms.stream, false);
    const Span span = span_of(terms.timeout_ms);
    MemoryUse use = memory_of(call);
    const bool is_long = has_spare_processor_ && bytes_of(call) >= Looks::long_bytes;
    const auto work =
        std::make_shared<Posted>(*this, route, std::move(call), span, std::move(deliver));
    keep_until_done(*work, std::move(use));
    const bool ends_inline = route.inlined != nullptr;
    if (!ends_inline) work->put_in_background();
    const bool may_post_here = terms.may_post_here && !ends_inline && !compares_first_;
    const auto post_here = [&](uint64_t sequence) { work->run(sequence); };
    if (may_post_here && ticket_queue_->run_if_free(post_here)) return work;
    auto start = terms.may_post_here ? TicketQueue::Start::Soon : TicketQueue::Start::AtOnce;
    if (terms.may_post_here && is_long) start = TicketQueue::Start::AfterFirstRest;
    work->set_sequence_number(ticket_queue_->enqueue(work, span.deadline, start));
    return work;
}

}  // namespace tutti
