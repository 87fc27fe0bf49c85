// How a group issues its collectives, here or in the background, and what a failure does to it.
// Any thread.
#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "call/lower.hpp"
#include "entry.hpp"
#include "group.hpp"
#include "posted.hpp"

namespace tutti {

namespace {

// Nobody waits for this rank in it.
bool is_nothing(const FlatCall& call) {
    return call.kind == FlatCall::Kind::Coalesced && call.calls.empty();
}

}  // namespace

// Nobody can go on after a collective that failed. Returns what to tell the caller. What else runs
// here ends for the same reason, or, if the call had not begun, because of it.
Status Group::fail(Status status, const Fingerprint& call, uint64_t number,
                   bool had_begun) noexcept {
    const std::string operation = describe(call, number);
    {
        const Lock lock(mutex_);
        blame_own_exhaustion(status, rank_);
        if (destroyed_ || !failure_.ok()) {
            status.message = cat(operation, " on ", label(), ": ", status.message);
            return status;
        }
        failure_ = status;
        inside_.fetch_or(harmed);
    }
    Status cause = status;
    if (cause.code == TUTTI_ERR_TIMEOUT) cause.code = TUTTI_ERR_ABORTED;  // it is not theirs
    const bool speaks_for_all = status.code == TUTTI_ERR_PEER_LOST ||
                                status.code == TUTTI_ERR_MISMATCH ||
                                status.code == TUTTI_ERR_ABORTED;
    if (!speaks_for_all) {
        cause.message = cat("rank ", rank_, " gave up: ", operation, " ", status.message);
        if (cause.rank < 0) cause.rank = rank_;
    }
    membership_->report(cause);
    backends_.abort(had_begun ? status : cause);
    status.message = cat(operation, " on ", label(), ": ", status.message);
    return status;
}

FlatCall Group::check_and_lower(Collective&& call) const {
    check(call, rank_, size_);
    if (!reproducible_ && std::holds_alternative<AllReduceAddends>(call)) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("all_reduce_addends needs a group that was made with "
                        "options.reproducible, and ",
                        label(), " was not"));
    }
    if (reproducible_) {
        std::visit(
            [](auto& one) {
                if constexpr (requires { one.op.make_reproducible(); }) one.op.make_reproducible();
            },
            call);  // those of a Coalesced are, each
    }
    FlatCall flat = lower(std::move(call), rank_, size_);
    backends_.check(flat);
    return flat;
}

// One after the other, in an order that all ranks share. A turn that does not come in time ends the
// group, and with it what is in front.
template <typename Job>
void Group::take_turn(const FlatCall& call, const Deadline& until, Job&& job) {
    Status late;
    const auto in_turn = [&](uint64_t number) {
        if (!late.ok()) throw Error(late);
        job(number);
    };
    turns_->run(until, in_turn, [&](uint64_t number) {
        late = fail({TUTTI_ERR_TIMEOUT, -1, 0,
                     "timed out waiting for this rank's earlier collectives to end"},
                    call.fingerprint, number, false);
    });
}

void Group::run(Collective collective, int64_t timeout_ms) {
    FlatCall call = check_and_lower(std::move(collective));
    const Entry entry(*this, call_name(call));
    if (gathering_.take(call, timeout_ms) || is_nothing(call)) return;
    const Route& route = backends_.of(call);
    if (route.inlined == nullptr) return run_posted(route, std::move(call), deadline(timeout_ms));
    const Deadline until = deadline_here(timeout_ms);
    take_turn(call, until, [&](uint64_t number) {
        try {
            prepare(call, number, until);
            if (!pass_monitored_barrier(call, number, until)) {
                route.inlined->run(call, number, until);
            }
        } catch (...) {
            throw Error(fail(current_status(), call.fingerprint, number));
        }
    });
}

// The turn is over when the call is posted: what comes next need not wait for its end.
void Group::run_posted(const Route& route, FlatCall call, const Deadline& until) {
    const auto work = std::make_shared<Posted>(*this, route, call);
    take_turn(call, until, [&](uint64_t number) {
        post(route, {std::move(call), number, until}, work);
    });
    if (!work->wait(until)) {
        work->expire(until);
        work->wait(Deadline::never());
    }
    if (const Status status = *work->status(); !status.ok()) throw Error(status);
}

void Group::post(const Route& route, Request request,
                 const std::shared_ptr<Posted>& work) noexcept {
    work->set_number(request.sequence);
    try {
        prepare(request.call, request.sequence, request.deadline);
        if (pass_monitored_barrier(request.call, request.sequence, request.deadline)) {
            return work->finish({});
        }
        route.backend->post(std::move(request), work);
    } catch (...) {
        work->finish(current_status());
    }
}

std::shared_ptr<Work> Group::start(Collective collective, int64_t timeout_ms,
                                   std::function<void()> deliver) {
    FlatCall call = check_and_lower(std::move(collective));
    const Entry entry(*this, call_name(call));
    if (gathering_.has_begun() && call.kind != FlatCall::Kind::Coalesced) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "work must be NULL while calls are gathered; the end of the coalescing gives "
                    "one for all");
    }
    if (is_nothing(call)) {
        const auto work = std::make_shared<Work>(nullptr, call_name(call));
        work->finish({});
        return work;
    }
    const Route& route = backends_.of(call);
    const Deadline until = deadline(timeout_ms);
    const auto work = std::make_shared<Posted>(*this, route, call, std::move(deliver));
    const bool ends_inline = route.inlined != nullptr;
    if (!ends_inline) Posted::put_in_background(work, route, until);
    auto job = [this, &route, work, until, call = std::move(call)](uint64_t number) mutable {
        post(route, {std::move(call), number, until}, work);
    };
    if (!ends_inline && !compares_first_ && turns_->run_if_free(job)) return work;
    work->set_number(turns_->queue(std::move(job)));
    return work;
}

void Group::begin_coalescing() {
    backends_.check(lower(Coalesced{}, rank_, size_));
    const Entry entry(*this, "coalescing_begin");
    gathering_.begin();
}

Coalesced Group::end_coalescing() {
    const Entry entry(*this, "coalescing_end");
    return gathering_.end();
}

}  // namespace tutti
