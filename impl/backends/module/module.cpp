// A backend from outside as one of ours: what the group asks goes to the table, what the backend
// finishes comes by host.cpp. Any thread.
#include "module.hpp"

#include <atomic>
#include <utility>

#include "backend/inline_backend.hpp"
#include "backend/split.hpp"
#include "backend/stream_calls.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "capabilities.hpp"
#include "host.hpp"
#include "on_stream.hpp"
#include "on_their_way.hpp"
#include "place.hpp"
#include "progress/alarm.hpp"

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

// The backend on one rank of one group. Kept alive by the calls that the backend has.
class Opened final : public Instance, public std::enable_shared_from_this<Opened> {
public:
    Opened(const tutti_backend_table& with_table, const char* known_as, const BackendPlace& at)
        : table(with_table),
          name(known_as),
          rank(at.membership.rank()),
          size(at.membership.size()),
          can(describe(table, at.settings)),
          membership_(at.membership) {
        if (at.store) {
            store_ = make_prefix_store(
                cat("tutti/backend/", name, "/", at.device.type, "/", at.membership.identity()),
                at.store);
        }
    }
    // All works have ended; calls may still be on their way out of finish(). Of a backend that has
    // been given up nothing is known any more.
    void close() noexcept {
        deadlines_->clear(abort_alarm_);
        if (!is_given_up_) table.close(instance);
    }

    void open(const BackendPlace& at) {
        const std::string key = cat("module/", name, "/", at.device.type, "/");
        const auto gather = [&, gathered = 0](const std::string& mine) mutable {
            return at.membership.all_gather(cat(key, gathered++), mine, at.deadline);
        };
        Place place(gather, *this, at.deadline, at.settings);
        place.be_in(at, store_.get());
        ext::call(cat("opening backend \"", name, "\": "), table.open, table.user, place.raw(),
                  &instance);
    }

    // Makes the instance of `made`, of a new group that this rank is in; null: it is in none.
    // False: not now.
    bool split(const BackendSplit& how, Opened* made) {
        Place place([&](const std::string& mine) { return how.steps.all_gather(mine); }, *this,
                    how.steps.deadline(), how.settings);
        if (made != nullptr) place.be_in(*how.place, made->store_.get());
        void** const out = made != nullptr ? &made->instance : nullptr;
        tutti_error error = empty_error();
        const tutti_status code = table.split(instance, place.raw(), how.color, out, &error);
        if (code == TUTTI_ERR_UNSUPPORTED) return false;
        if (code != TUTTI_OK) throw Error(with_cause(status_of(code, error)));
        return true;
    }

    std::shared_ptr<void> alloc_memory(const Device& device, size_t bytes) {
        void* memory = nullptr;
        tutti_error error = empty_error();
        const tutti_status code = table.alloc_memory(instance, device.type, device.index,
                                                     static_cast<int64_t>(bytes), &memory, &error);
        if (code != TUTTI_OK || memory == nullptr) return nullptr;
        device::Driver& driver = device::Driver::of(device.type);
        return {memory, [&driver, free = table.free_memory, user = table.user](void* given) {
                    driver.free_later(free, user, given);
                }};
    }

    void share_memory(const Device& device, void* memory, SplitSteps& steps) {
        const bool is_of_use =
            can.completion != Completion::Stream || on_stream_.take(device);  // as its calls
        bool all_have = true;
        for (const auto& one : steps.all_gather(is_of_use ? "1" : "0")) all_have &= one == "1";
        if (!all_have || table.share_memory == nullptr) return;
        Place place([&](const std::string& mine) { return steps.all_gather(mine); }, *this,
                    steps.deadline(), "");
        tutti_error error = empty_error();
        const tutti_status code = table.share_memory(instance, place.raw(), memory, &error);
        if (code != TUTTI_OK) throw Error(with_cause(status_of(code, error)));
    }

    // Throws for a call that never began.
    void post(std::shared_ptr<PostedCall> call) {
        if (can.completion == Completion::Stream) on_their_way_.add(*call);
        keep(call, shared_from_this());
        try {
            hand_over(*call);
        } catch (...) {
            on_their_way_.remove(*call);
            forget(*call);
            throw;
        }
    }

    void* stream(const PostedCall& call) override { return on_stream_.stream(call); }
    void enqueued(const std::shared_ptr<PostedCall>& call) noexcept override {
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

    [[nodiscard]] bool all_ended() const override { return on_stream_.all_ended(); }

    // For a backend that completes on a stream: asks the backend, and ends what the device has
    // done.
    bool look() noexcept {
        bool moved = table.test != nullptr && table.test(instance) != 0;
        try {
            if (!is_aborted_ && !on_their_way_.empty()) check();
            moved |= on_stream_.look([this](PostedCall& call) {
                const bool receives = call.raw()->kind == TUTTI_CALL_RECEIVE;
                finish(call.raw(), code_at_end(), receives ? call.raw()->peer : -1, nullptr);
            });
        } catch (...) {
            abort(current_status());
        }
        return moved;
    }

    [[nodiscard]] bool is_on_the_device() const noexcept {
        return on_stream_.size() == on_their_way_.size();
    }

    void left(int left_rank) noexcept {
        if (table.left != nullptr) table.left(instance, left_rank);
        on_their_way_.left(left_rank);
    }

    device::EventPointer begin(const Device& device, void* stream) {
        return on_stream_.begin(device, stream);
    }
    FlatCall::Place join(FlatCall& call, void* stream) { return on_stream_.join(call, stream); }

    void start(std::shared_ptr<PostedCall> message) {
        const Deadline deadline = message->deadline();
        const auto rings = [weak = weak_from_this(), of = std::weak_ptr(message)] {
            const auto self = weak.lock();
            const auto late = of.lock();
            if (self && late && find(late->raw()) == late) self->end_late(*late);
        };
        message->attach(std::make_shared<AlarmOff>(deadlines_, deadlines_->set(deadline, rings)));
        post(std::move(message));
    }

    bool cancel(const Work& receive) noexcept {
        if (table.cancel == nullptr) return false;
        const auto call = find(*this, receive);
        if (!call) return false;
        call->end_as(PostedCall::Ending::Cancelled);
        if (table.cancel(instance, call->raw()) > 0) return true;
        call->end_as(PostedCall::Ending::None);
        return false;
    }

    void abort(const Status& status) noexcept {
        if (is_aborted_.exchange(true)) return;
        {
            const Lock lock(mutex_);
            abort_cause_ = status;
        }
        const auto gives_up = [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->give_up_calls();
        };
        abort_alarm_ = deadlines_->set(Deadline::after_ms(grace_ms), gives_up);
        table.abort(instance, status.code, status.message.c_str());
    }

    void ending(const PostedCall& call, Status& status) noexcept override {
        on_their_way_.remove(call);
        if (status.ok()) return;
        if (call.ending() == PostedCall::Ending::Late) {
            status = timed_out(call.deadline());
            if (has_ended_group_) tell_all(status);
        } else if (call.ending() == PostedCall::Ending::Cancelled) {
            status = {TUTTI_ERR_ABORTED, -1, 0, "it was cancelled"};
        } else {
            status = with_cause(std::move(status));
        }
    }
    void hand_over(PostedCall& call) {
        const FunctionCall inside("backend");
        try {
            ext::call("", table.post, instance, call.raw());
        } catch (const Error& error) {
            throw Error(with_cause(error.status()));
        }
    }
    // A table's abort takes a status and a reason; the rank at fault is known here.
    [[nodiscard]] Status with_cause(Status status) noexcept {
        const Lock lock(mutex_);
        const bool is_by_abort =
            status.rank < 0 && !abort_cause_.ok() && status.code == abort_cause_.code;
        return is_by_abort ? abort_cause_ : status;
    }

    const tutti_backend_table table;
    const char* const name;
    const int rank;
    const int size;
    const Capabilities can;
    void* instance = nullptr;

private:
    // Clears it when the call has ended.
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

    // A message whose time is up.
    void end_late(PostedCall& call) noexcept {
        call.end_as(PostedCall::Ending::Late);
        const int32_t has_ended = table.cancel == nullptr ? -1 : table.cancel(instance, call.raw());
        if (has_ended < 0) {
            has_ended_group_ = true;
            return abort(timed_out(call.deadline()));
        }
        if (has_ended == 0) call.end_as(PostedCall::Ending::None);
    }

    // A late message has failed the group. Its work has not ended yet, so the group exists.
    void tell_all(const Status& status) noexcept {
        membership_.report({TUTTI_ERR_ABORTED, rank, 0,
                            cat("rank ", rank, " gave up a message: ", status.message)});
    }

    void give_up_calls() noexcept {
        const auto calls = give_up(*this);
        if (calls.empty()) return;
        is_given_up_ = true;
        on_stream_.give_up();
        const std::string why =
            cat("backend \"", name, "\" has not ended ", calls.size(), " calls within ", grace_ms,
                " ms of their abort; their memory may still be in use");
        log(LogLevel::Error, why);
        Status cause = abort_cause();
        cause.message += cat("; ", why);
        for (const auto& call : calls) {
            Status status = cause;
            if (call->ending() == PostedCall::Ending::Late) {
                status = timed_out(call->deadline());
                status.message += "; its memory may still be in use";
                tell_all(status);
            }
            call->work()->finish(std::move(status));
        }
    }

    // Whether the calls on their way can end well.
    void check() {
        try {
            if (table.check != nullptr) ext::call("", table.check, instance);
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_PEER_LOST || error.status().rank >= 0) throw;
            on_their_way_.check_loss(error.status());
        }
        on_their_way_.check_left();
    }
    [[nodiscard]] Status abort_cause() const {
        const Lock lock(mutex_);
        return abort_cause_;
    }
    // An abort may have ended what the device did.
    [[nodiscard]] tutti_status code_at_end() const {
        return is_aborted_ ? abort_cause().code : TUTTI_OK;
    }

    Membership& membership_;
    const std::shared_ptr<Alarm> deadlines_ = Alarm::shared();
    std::atomic<bool> has_ended_group_{false};  // a message whose time was up
    std::shared_ptr<Store> store_;
    std::atomic<bool> is_aborted_{false};
    OnStream on_stream_{can.high_priority};
    OnTheirWay on_their_way_{patience_ms};  // of a backend that completes on a stream
    mutable Mutex mutex_;
    Status abort_cause_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> is_given_up_{false};
    std::atomic<Alarm::Id> abort_alarm_{0};
};

std::unique_ptr<Backend> as_backend(std::shared_ptr<Opened> opened);

// The common part of the two kinds.
template <typename Base>
class Module : public Base {
public:
    explicit Module(std::shared_ptr<Opened> opened) : at_(std::move(opened)) {}
    ~Module() override { at_->close(); }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    [[nodiscard]] const char* name() const override { return at_->name; }
    [[nodiscard]] const Capabilities& capabilities() const override { return at_->can; }
    [[nodiscard]] bool can_split() const override { return at_->table.split != nullptr; }
    bool split(const BackendSplit& how, std::unique_ptr<Backend>& made) override {
        std::shared_ptr<Opened> opened;
        if (how.place) opened = std::make_shared<Opened>(at_->table, at_->name, *how.place);
        const bool has_split = at_->split(how, opened.get());
        if (has_split && opened) made = as_backend(std::move(opened));
        return has_split;
    }
    std::shared_ptr<void> alloc_memory(const Device& device, size_t bytes) override {
        return at_->alloc_memory(device, bytes);
    }
    void share_memory(const Device& device, void* memory, SplitSteps& steps) override {
        at_->share_memory(device, memory, steps);
    }
    void abort(const Status& status) noexcept override { at_->abort(status); }
    void left(int rank) noexcept override { at_->left(rank); }
    void leave() noexcept override {
        if (at_->table.leave != nullptr) at_->table.leave(at_->instance);
    }
    bool test() noexcept override { return at_->table.test(at_->instance) != 0; }
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        at_->start(std::make_shared<PostedCall>(call, deadline, at_->rank, std::move(work)));
    }
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        at_->start(std::make_shared<PostedCall>(call, deadline, at_->rank, std::move(work)));
    }
    bool cancel(const Work& receive) noexcept override { return at_->cancel(receive); }
    void begin_together() noexcept override { together(1); }
    void end_together() noexcept override { together(0); }

protected:
    const std::shared_ptr<Opened> at_;

private:
    void together(int32_t begins) noexcept {
        if (at_->table.together != nullptr) at_->table.together(at_->instance, begins);
    }
};

class InlineModule final : public Module<InlineBackend> {
public:
    using Module::Module;
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        PostedCall posted(call, sequence, deadline, at_->rank, at_->size);
        at_->hand_over(posted);
    }
    [[nodiscard]] bool polls_messages() const override { return at_->can.messages; }
};

class PostingModule : public Module<Backend> {
public:
    using Module::Module;
    void post(Request request, std::shared_ptr<Work> work) override {
        at_->post(std::make_shared<PostedCall>(std::move(request.call), request.sequence,
                                               request.deadline, at_->rank, at_->size,
                                               std::move(work)));
    }
};

class StreamModule final : public PostingModule, public StreamCalls {
public:
    using PostingModule::PostingModule;
    [[nodiscard]] StreamCalls* as_stream_calls() override { return this; }
    FlatCall::Place join(FlatCall& call, void* stream) override { return at_->join(call, stream); }
    device::EventPointer begin(const Device& device, void* stream) override {
        return at_->begin(device, stream);
    }
    void post(Request request, std::shared_ptr<Work> work) override {
        if (request.call.fault) throw Error(*request.call.fault);
        PostingModule::post(std::move(request), std::move(work));
    }
    bool test() noexcept override { return at_->look(); }
    [[nodiscard]] bool runs_alone() const noexcept override { return at_->is_on_the_device(); }
};

std::unique_ptr<Backend> as_backend(std::shared_ptr<Opened> opened) {
    if (opened->can.completion == Completion::Inline)
        return std::make_unique<InlineModule>(std::move(opened));
    if (opened->can.completion == Completion::Stream) {
        return std::make_unique<StreamModule>(std::move(opened));
    }
    return std::make_unique<PostingModule>(std::move(opened));
}

std::unique_ptr<Backend> open(const tutti_backend_table& table, const BackendPlace& at) {
    auto opened = std::make_shared<Opened>(table, at.name, at);
    opened->open(at);
    return as_backend(std::move(opened));
}

}  // namespace

LoadedBackend backend_of(const tutti_backend_table& table) {
    return {[table](const BackendPlace& at) { return open(table, at); },
            [table](const std::string& settings) { return describe(table, settings); }};
}

LoadedBackend load_backend(const std::string& name) {
    const Library library = find_library(name);
    const std::string owner = cat(library.place, ": ");
    if (library.module.backend == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED, owner + "there is no backend in it");
    }
    return backend_of(read_table(library.module.backend, owner));
}

}  // namespace tutti::ext
