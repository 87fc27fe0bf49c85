#include "opened.hpp"

#include <utility>

#include "base/log.hpp"
#include "capabilities.hpp"
#include "membership/common_address.hpp"
#include "place.hpp"

namespace tutti::ext {

namespace {

// For the end of its calls after an abort.
constexpr int64_t grace_ms = 5'000;
// For the end of a call on a stream that a rank which has left may have been part of, and for the
// membership to say which rank is gone.
constexpr int64_t patience_ms = 2'000;

Status timed_out(const Deadline& deadline) {
    return {TUTTI_ERR_TIMEOUT, -1, 0, cat("timed out after ", deadline.timeout_ms(), " ms")};
}

// The message whose time is up, in the words of message/.
Status late(const PostedCall& message) {
    const int peer = message.raw()->peer;
    const std::string who = peer < 0 ? "any rank" : cat("rank ", peer);
    if (message.raw()->kind == TUTTI_CALL_SEND) {
        return {TUTTI_ERR_TIMEOUT, peer, 0, cat("timed out: ", who, " did not receive it")};
    }
    return {TUTTI_ERR_TIMEOUT, peer, 0, cat("timed out waiting for a message of ", who)};
}

// Clears an alarm when the call has ended to which it is attached.
struct AlarmOff {
    AlarmOff(std::shared_ptr<Alarm> of, Alarm::Id set) : alarms(std::move(of)), id(set) {}
    ~AlarmOff() {
        if (id != 0) alarms->clear(id);
    }
    AlarmOff(const AlarmOff&) = delete;
    AlarmOff& operator=(const AlarmOff&) = delete;
    const std::shared_ptr<Alarm> alarms;
    const Alarm::Id id;
};

}  // namespace

Opened::Opened(const tutti_backend_table& table, const char* name, const BackendPlace& at)
    : table_(table),
      name_(name),
      can_(describe(table, at.settings)),
      membership_(at.membership),
      rank_(at.membership.rank()),
      size_(at.membership.size()),
      on_their_way_(patience_ms) {
    if (!at.store) return;
    if (can_.foreign_peers) {
        store_ = at.store;  // the keys are the peers' own
        return;
    }
    store_ = make_prefix_store(
        cat("tutti/backend/", name, "/", at.device.type, "/", at.membership.identity()), at.store);
}

void Opened::open(const BackendPlace& at) {
    const std::string key = cat("module/", name_, "/", at.device.type, "/");
    const auto gather = [&, gathered = 0](const std::string& mine) mutable {
        return at.membership.all_gather(cat(key, gathered++), mine, at.deadline);
    };
    Place place(gather, *this, at.deadline, at.settings);
    place.be_in(at, store_.get());
    if (!can_.foreign_peers && can_.devices.has(TUTTI_CPU)) {
        const std::string address =
            membership::common_address(at.membership, key + "address", at.deadline);
        place.be_reached_at(address, at.membership.world().routes());
    }
    // A call that needs the thread of alarms shall not fail for it.
    if (can_.completion == Completion::Inline) {
        deadlines_->clear(deadlines_->set(Deadline::after_ms(grace_ms), [] {}));
    }
    table_.open(cat("opening backend \"", name_, "\": "), place.raw());
}

// Failures of the backend that an abort has brought about are its cause.
template <typename Act>
void Opened::with_cause(Act&& act) const {
    try {
        act();
    } catch (const Error& error) {
        throw Error(abort_cause_.behind(error.status()));
    }
}

bool Opened::split(const BackendSplit& how, Opened* made) {
    Place place([&](const std::string& mine) { return how.steps.all_gather(mine); }, *this,
                how.steps.deadline(), how.settings);
    if (made != nullptr) place.be_in(*how.place, made->store_.get());
    bool has_split = false;
    with_cause([&] {
        TableCalls* const out = made != nullptr ? &made->table_ : nullptr;
        has_split = table_.split(place.raw(), how.color, out);
    });
    return has_split;
}

void Opened::share_memory(const Device& device, void* memory, SplitSteps& steps) {
    const bool is_of_use =
        can_.completion != Completion::Stream || on_stream_.take(device);  // as its calls
    bool all_have = true;
    for (const auto& one : steps.all_gather(is_of_use ? "1" : "0")) all_have &= one == "1";
    if (!all_have || !table_.can_share_memory()) return;
    Place place([&](const std::string& mine) { return steps.all_gather(mine); }, *this,
                steps.deadline(), "");
    with_cause([&] { table_.share_memory(place.raw(), memory); });
}

void Opened::run(PostedCall& call) {
    with_cause([&] { table_.post(call.raw()); });
}

void Opened::post(std::shared_ptr<PostedCall> call) {
    if (can_.completion == Completion::Stream) on_their_way_.add(*call);
    keep(call, shared_from_this());
    try {
        run(*call);
    } catch (...) {
        on_their_way_.remove(*call);
        forget(*call);
        throw;
    }
}

void Opened::start(std::shared_ptr<PostedCall> message) {
    const Deadline deadline = message->deadline();
    const auto rings = [weak = weak_from_this(), of = std::weak_ptr(message)] {
        const auto self = weak.lock();
        const auto late = of.lock();
        if (self && late && find(late->raw()) == late) self->end_late_message(*late);
    };
    message->attach(std::make_shared<AlarmOff>(deadlines_, deadlines_->set(deadline, rings)));
    post(std::move(message));
}

bool Opened::cancel(const Work& receive) noexcept {
    if (!table_.can_cancel()) return false;
    const auto call = find(*this, receive);
    if (!call) return false;
    call->end_as(PostedCall::Ending::Cancelled);
    if (table_.cancel(call->raw()) > 0) return true;
    call->end_as(PostedCall::Ending::None);
    return false;
}

// A message whose time is up.
void Opened::end_late_message(PostedCall& message) noexcept {
    message.end_as(PostedCall::Ending::Late);
    const int32_t has_ended = table_.cancel(message.raw());
    if (has_ended < 0) {
        has_ended_group_ = true;
        return abort(late(message));
    }
    if (has_ended == 0) message.end_as(PostedCall::Ending::None);
}

void Opened::end_late(const PostedCall& call) noexcept {
    abort(timed_out(call.deadline()));
}

// Ranks of another library report nothing, and nobody listens.
void Opened::report_stall(const PostedCall& call) noexcept {
    if (can_.foreign_peers) return;
    const Fingerprint& print = call.call().fingerprint;
    membership_.stalled(call.sequence(), to_bytes(print), describe(print, call.sequence()));
}

// A late message has failed the group. Its work has not ended yet, so the group exists.
void Opened::report_late_message(const Status& status) noexcept {
    membership_.report(
        {TUTTI_ERR_ABORTED, rank_, 0, cat("rank ", rank_, " gave up a message: ", status.message)});
}

void Opened::enqueued(const std::shared_ptr<PostedCall>& call) noexcept {
    try {
        if (call->call().place == FlatCall::Place::Captured) {
            return finish(call->raw(), TUTTI_OK, -1, nullptr);
        }
        on_stream_.enqueued(call);
    } catch (...) {
        const Status status = current_status();
        tutti_error error = empty_error();
        tell(status, &error);
        finish(call->raw(), status.code, -1, &error);
    }
}

bool Opened::look() noexcept {
    bool moved = table_.test();
    try {
        if (!abort_cause_.is_set() && !on_their_way_.empty()) check();
        moved |= on_stream_.look([this](PostedCall& call) {
            const bool receives = call.raw()->kind == TUTTI_CALL_RECEIVE;
            // An abort may have ended what the device did.
            const tutti_status code = abort_cause_.is_set() ? abort_cause_.get().code : TUTTI_OK;
            finish(call.raw(), code, receives ? call.raw()->peer : -1, nullptr);
        });
    } catch (...) {
        abort(current_status());
    }
    return moved;
}

// Throws unless the calls on their way can end well.
void Opened::check() {
    try {
        table_.check();
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_PEER_LOST || error.status().rank >= 0) throw;
        on_their_way_.check_loss(error.status());
    }
    on_their_way_.check_left();
}

void Opened::left(int rank) noexcept {
    table_.left(rank);
    on_their_way_.left(rank);
}

void Opened::abort(const Status& status) noexcept {
    if (!abort_cause_.set(status)) return;
    const auto gives_up = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->give_up_calls();
    };
    try {
        abort_alarm_ = deadlines_->set(Deadline::after_ms(grace_ms), gives_up);
    } catch (...) {  // then nothing is given up
        log(LogLevel::Error, "the end of an abort is not watched: ", current_status().message);
    }
    table_.abort(status);
}

void Opened::ending(const PostedCall& call, Status& status) noexcept {
    on_their_way_.remove(call);
    if (status.ok()) return;
    if (call.ending() == PostedCall::Ending::Late) {
        status = late(call);
        if (has_ended_group_) report_late_message(status);
    } else if (call.ending() == PostedCall::Ending::Cancelled) {
        status = {TUTTI_ERR_ABORTED, -1, 0, "it was cancelled"};
    } else {
        status = abort_cause_.behind(std::move(status));
    }
}

void Opened::give_up_calls() noexcept {
    const auto calls = give_up(*this);
    if (calls.empty()) return;
    is_given_up_ = true;
    on_stream_.give_up();
    const std::string why =
        cat("backend \"", name_, "\" has not ended ", calls.size(), " calls within ", grace_ms,
            " ms of their abort; their memory may still be in use");
    log(LogLevel::Error, why);
    Status cause = abort_cause_.get();
    cause.message += cat("; ", why);
    for (const auto& call : calls) {
        Status status = cause;
        if (call->ending() == PostedCall::Ending::Late) {
            status = late(*call);
            status.message += "; its memory may still be in use";
            report_late_message(status);
        }
        call->work()->finish(std::move(status));
    }
}

void Opened::close() noexcept {
    deadlines_->clear(abort_alarm_);
    if (!is_given_up_) table_.close();
}

}  // namespace tutti::ext
