// The messages of a group between two ranks, issued here or in the background. Any thread.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "group.hpp"
#include "in_flight.hpp"

namespace tutti {

namespace {

// Not in the call that starts it.
bool ends_later(const Route& route) {
    return route.inlined == nullptr || route.poller != nullptr;
}

template <typename Call>
const Device& place_of(const Call& call) {
    return call.buffer.device;
}
const Device& place_of(const Message& message) {
    return std::visit([](const auto& call) -> const Device& { return place_of(call); }, message);
}

int peer_of(const Send& call) {
    return call.destination;
}
int peer_of(const Receive& call) {
    return call.source;
}

// "send to rank 3 (tag 5)".
std::string described(const char* name, bool sends, int peer, int tag) {
    const std::string rank = peer == any_source ? "any rank" : cat("rank ", peer);
    return cat(name, sends ? " to " : " from ", rank, " (tag ", tag, ")");
}

template <typename Call>
constexpr bool is_send = std::is_same_v<Call, Send>;

bool has_stream(const Message& message) {
    return place_of(message).type != TUTTI_CPU ||
           std::visit([](const auto& call) { return call.stream != nullptr; }, message);
}

// Whether nothing can be on a stream before it, or an earlier call has recorded that.
template <typename Call>
bool has_entered(const Call& call) {
    const bool has_stream = call.buffer.device.type != TUTTI_CPU || call.stream != nullptr;
    return call.begun || !has_stream;
}

MemoryUse memory_of(const Send& call) {
    MemoryUse use;
    use.add(call.buffer.data);
    return use;
}
MemoryUse memory_of(const Receive& call) {
    MemoryUse use;
    use.add(call.buffer.data);
    return use;
}

}  // namespace

// A message. With a backend that is polled, the waiting thread polls, else the poller's thread; and
// the end of the group waits until the backend is done with it, as other backends do themselves.
class Group::MessageWork : public Work {
public:
    // One whose failure tells of itself has no peer.
    MessageWork(Group& group, const char* operation, Clock::time_point started)
        : Work(operation, started), door_(group.door_) {
        belongs_to(&group);
    }
    MessageWork(Group& group, const char* operation, Clock::time_point started, const Route& route,
                bool sends, int peer, int tag)
        : Work(operation, started),
          door_(group.door_),
          poller_(route.poller),
          what_(What{&group, sends, peer, tag}) {
        belongs_to(&group);
        if (ends_later(route)) entry_.emplace(group, operation);
    }

    // Before it is started: what moves it on threads that wait; null: nothing does.
    void set_helper(Helper* helper) { helper_ = helper; }
    // The caller does not wait for it at once.
    void put_in_background() {
        if (!poller_) return;
        poller_->begin_background();
        is_polled_for_ = true;
    }
    // It was never started, if it is polled for still.
    ~MessageWork() override { end_polling(); }

    void failure_is_known() const noexcept override {
        with_group([](Group& group) { group.message_failed(); });
    }
    void hurry() const noexcept override {
        with_helper([](Helper& helper) { helper.hurry(); });
    }

protected:
    // Nothing if it has ended.
    template <typename Act>
    void with_group(Act&& act) const {
        std::optional<InFlight> entry;
        if (Group* const group = door_->enter(entry, operation())) act(*group);
    }
    [[nodiscard]] std::shared_ptr<Source> polled() const override { return poller_; }
    [[nodiscard]] std::string describe() const override {
        if (!what_) return {};
        const auto& [group, sends, peer, tag] = *what_;
        return cat(described(operation(), sends, peer, tag), " on ", group->label());
    }
    Afterwards settle(Status& /*status*/) noexcept override {
        end_polling();
        return InFlight::leave_afterwards(entry_);
    }
    [[nodiscard]] const Helper* helper() const override { return helper_; }
    void help(const IsOver& is_over, const Deadline& deadline) const override {
        with_helper([&](Helper& helper) { helper.help(is_over, deadline); });
    }
    void look() const noexcept override {
        with_helper([](Helper& helper) { static_cast<void>(helper.advance()); });
    }

private:
    // The helper goes with the group, which all works end before.
    template <typename Act>
    void with_helper(Act&& act) const {
        if (helper_ == nullptr) return;
        with_group([&](const Group& /*group*/) { act(*helper_); });
    }
    void end_polling() noexcept {
        if (std::exchange(is_polled_for_, false)) poller_->end_background();
    }

    struct What {
        Group* group;  // which it ends before
        bool sends;
        int peer;
        int tag;
    };

    const std::shared_ptr<Door> door_;
    const std::shared_ptr<Poller> poller_;  // null: it is not polled
    std::optional<What> what_;
    std::optional<InFlight> entry_;
    Helper* helper_ = nullptr;
    bool is_polled_for_ = false;
};

// A receive can be cancelled until its message comes.
class Group::ReceiveWork final : public MessageWork {
public:
    template <typename... Others>
    explicit ReceiveWork(Group& group, Others&&... others)
        : MessageWork(group, std::forward<Others>(others)...) {}

    // The message is received by another work, and delivered then.
    void deliver_from(const std::shared_ptr<MessageWork>& moving) {
        moving_ = moving;
        is_delivered_ = true;
    }

    std::optional<bool> cancel() override {
        const auto moving = moving_.lock();
        bool cancelled = false;
        if (is_delivered_ && !moving) return cancelled;
        with_group([&](Group& group) { cancelled = group.cancel(moving ? *moving : *this); });
        return cancelled;
    }

    void hurry() const noexcept override {
        if (!is_delivered_) return MessageWork::hurry();
        if (const auto moving = moving_.lock()) moving->hurry();
    }

protected:
    // A waiting thread can move the message; the delivery follows elsewhere.
    void help(const IsOver& is_over, const Deadline& deadline) const override {
        if (!is_delivered_) return MessageWork::help(is_over, deadline);
        if (const auto moving = moving_.lock()) moving->wait(deadline);
    }
    void look() const noexcept override {
        if (!is_delivered_) return MessageWork::look();
        if (const auto moving = moving_.lock()) static_cast<void>(moving->poll());
    }

private:
    std::weak_ptr<MessageWork> moving_;
    bool is_delivered_ = false;
};

// A group that has failed or ended has no receive that waits.
bool Group::cancel(const Work& receive) noexcept {
    try {
        const InFlight entry(*this, "cancel");
        return backends_.cancel(receive);
    } catch (...) {
        return false;
    }
}

template <typename Call>
void Group::check_message(const Call& call) const {
    check(call, size_);
    check_bound(place_of(call), "the buffer is on");
    backends_.check_messages(place_of(call).type, call.content != Content::Elements);
    backends_.check_plain(place_of(call).type, call.tag, peer_of(call), rank_);
}

// The backend that moves it. No send passes one that was started before and waits for a device.
template <typename Call>
Backend& Group::mover_of(const Call& call) const {
    if constexpr (is_send<Call>) {
        const bool is_here = call.buffer.device.type == TUTTI_CPU;
        staged::Staged* const waiting = is_here ? backends_.waiting_before(call) : nullptr;
        if (waiting != nullptr) return *waiting;
    }
    return *backends_.of_message(call).backend;
}

template <typename Call>
std::shared_ptr<Group::MessageWork> Group::work_of(const Call& call, Backend& mover,
                                                   Work::Clock::time_point now) {
    using Kind = std::conditional_t<is_send<Call>, MessageWork, ReceiveWork>;
    auto work = std::make_shared<Kind>(*this, call_name(call), now, backends_.of_message(call),
                                       is_send<Call>, peer_of(call), call.tag);
    work->set_helper(mover.message_helper());
    if (call.buffer.device.type == TUTTI_CPU) work->set_on_cpu();
    return work;
}

void Group::message_failed() noexcept {
    try {
        const InFlight entry(*this, "failure", InFlight::Of::Any);
        membership_->message_failed();
    } catch (const Error&) {  // destroyed meanwhile
    }
}

template <typename Call, typename Act>
void Group::with_context(const Call& call, Act&& act) const {
    try {
        act();
    } catch (...) {
        membership_->message_failed();
        Status status = current_status();
        status.message = cat(described(call_name(call), is_send<Call>, peer_of(call), call.tag),
                             " on ", label(), ": ", status.message);
        throw Error(status);
    }
}

// The work that is on the stream by now comes before the message, unless an earlier call has
// recorded it.
template <typename Call>
Call Group::entered(const Call& call) const {
    Call begun = call;
    if (begun.begun) return begun;
    if (call.buffer.device.type == TUTTI_CPU) {
        if (call.stream == nullptr) return begun;
        refuse("options.stream is given, and the buffer is in memory of the CPU");
    }
    StreamCalls* const streams = backends_.of_messages(call.buffer.device.type).streams;
    if (streams != nullptr) begun.begun = streams->begin(call.buffer.device, call.stream);
    return begun;
}

template <typename Call>
void Group::start_message(const Call& call, Backend& mover, const Deadline& until,
                          const std::shared_ptr<Work>& work) {
    with_context(call, [&] {
        if (has_entered(call)) return mover.start(call, until, work);
        mover.start(entered(call), until, work);
    });
}

template <typename Call, typename Run>
void Group::run_message(const Call& call, Run&& run, int64_t timeout_ms) {
    check_message(call);
    check_may_wait(call_name(call));
    const profile::Range range = range_of(call);
    const InFlight entry(*this, call_name(call));
    MemoryUse use = memory_of(call);
    with_context(call, [&] { run(entered(call), deadline_here(timeout_ms)); });
    if (call.stream == nullptr || use.empty()) return;
    staged::Staged* const staged = backends_.of_messages(call.buffer.device.type).staged;
    if (staged == nullptr) return;
    staged->keep(call.buffer.device, call.stream,
                 std::make_shared<const MemoryUse>(std::move(use)));
}

// The same of a backend that does not end it in one call.
template <typename Call>
int Group::await_message(const Call& call, int64_t timeout_ms) {
    check_message(call);
    check_may_wait(call_name(call));
    const profile::Range range = range_of(call);
    const InFlight entry(*this, call_name(call));
    const Span span = span_of(timeout_ms);
    if (call.stream != nullptr) {
        hold(*start_message(call, span), call.stream);
        return peer_of(call);
    }
    const MemoryUse use = memory_of(call);
    Backend& mover = mover_of(call);
    const auto work = work_of(call, mover, span.start);
    start_message(call, mover, span.deadline, work);
    work->wait(Deadline::never());  // its own deadline ends it
    if (const Status status = *work->status(); !status.ok()) {
        membership_->message_failed();
        throw Error(status);
    }
    return work->source_rank();
}

template <typename Call>
std::shared_ptr<Work> Group::start_message(const Call& call, const Span& span) {
    if constexpr (std::is_same_v<Call, Receive>) {
        const tutti_device_type device = call.buffer.device.type;
        if (device != TUTTI_CPU && backends_.of_messages(device).staged != nullptr) {
            return start_landing(call, span);
        }
    }
    Backend& mover = mover_of(call);
    const auto work = work_of(call, mover, span.start);
    work->put_in_background();
    keep_until_done(*work, memory_of(call));
    start_message(call, mover, span.deadline, work);
    return work;
}

// To a device, by way of memory of the CPU.
std::shared_ptr<Work> Group::start_landing(const Receive& call, const Span& span) {
    staged::Staged& staged = *backends_.of_messages(call.buffer.device.type).staged;
    std::optional<staged::Staged::Landing> landing;
    with_context(call, [&] { landing = staged.prepare(entered(call)); });
    auto entry = std::make_shared<InFlight>(*this, call_name(call));
    const auto work = std::make_shared<ReceiveWork>(*this, call_name(call), span.start);
    keep_until_done(*work, memory_of(call));
    const auto moving = work_of(call, mover_of(call), span.start);
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

std::shared_ptr<Work> Group::start(const Send& call, int64_t timeout_ms) {
    check_message(call);
    const profile::Range range = range_of(call);
    const InFlight entry(*this, call_name(call));
    return start_message(call, span_of(timeout_ms));
}

std::shared_ptr<Work> Group::start(const Receive& call, int64_t timeout_ms) {
    check_message(call);
    const profile::Range range = range_of(call);
    const InFlight entry(*this, call_name(call));
    return start_message(call, span_of(timeout_ms));
}

std::shared_ptr<Work> Group::start(const Receive& call, int64_t timeout_ms,
                                   std::function<void()> deliver) {
    check_message(call);
    const profile::Range range = range_of(call);
    // As long as the delivery may come: destroy() waits for it.
    auto entry = std::make_shared<InFlight>(*this, call_name(call));
    const Span span = span_of(timeout_ms);
    const auto work = std::make_shared<ReceiveWork>(*this, call_name(call), span.start);
    Backend& mover = mover_of(call);
    const auto moving = work_of(call, mover, span.start);
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

void Group::check_batch(std::span<const Message> batch) const {
    for (const Message& message : batch) {
        std::visit([this](const auto& call) { check_message(call); }, message);
    }
}

// The backend that moves all of them and ends them on the caller's thread; null: there is none.
Backend* Group::mover_of_all(std::span<const Message> batch) const {
    Backend* all = nullptr;
    for (const Message& message : batch) {
        const auto mover = [this](const auto& call) -> Backend* {
            const bool is_here = has_entered(call) && !ends_later(backends_.of_message(call));
            return is_here ? &mover_of(call) : nullptr;
        };
        Backend* const one = std::visit(mover, message);
        if (one == nullptr || (all != nullptr && one != all)) return nullptr;
        all = one;
    }
    return all;
}

// Without works; false if the backend has no such way.
bool Group::run_here(std::span<const Message> batch, int64_t timeout_ms) {
    const profile::Range range = range_of(batch);
    const InFlight entry(*this, "batch_isend_irecv");
    MemoryUse use;
    for (const Message& message : batch) {
        std::visit([&](const auto& call) { use.add(call.buffer.data); }, message);
    }
    Backend* const mover = mover_of_all(batch);
    if (mover == nullptr) return false;
    const auto end = mover->run_batch(batch, deadline_here(timeout_ms));
    if (!end || end->status.ok()) return end.has_value();
    const auto fail = [&](const auto& call) {
        with_context(call, [&] { throw Error(end->status); });
    };
    std::visit(fail, batch[end->first_failed]);
    return true;
}

void Group::run(std::span<const Message> batch, int64_t timeout_ms) {
    check_may_wait("batch_isend_irecv");
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

std::vector<std::shared_ptr<Work>> Group::start(std::span<const Message> batch,
                                                int64_t timeout_ms) {
    check_batch(batch);
    const profile::Range range = range_of(batch);
    const InFlight entry(*this, "batch_isend_irecv");
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
    const Span span = span_of(timeout_ms);
    Backend* const mover = entered_all.empty() ? mover_of_all(batch) : nullptr;
    if (mover != nullptr) return start_here(batch, *mover, span);
    std::vector<std::shared_ptr<Work>> works(batch.size());
    const Together together(backends_);
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
std::vector<std::shared_ptr<Work>> Group::start_here(std::span<const Message> batch, Backend& mover,
                                                     const Span& span) {
    std::vector<std::shared_ptr<Work>> works;
    works.reserve(batch.size());
    const auto add = [&](const auto& call) {
        works.push_back(work_of(call, mover, span.start));
        keep_until_done(*works.back(), memory_of(call));
    };
    for (const Message& message : batch) std::visit(add, message);
    mover.start_batch(batch, span.deadline, works);
    return works;
}

void Group::run(const Send& call, int64_t timeout_ms) {
    if (call.destination == rank_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_dst is ", call.destination,
                        ", this rank itself, which only a send with a work can reach"));
    }
    if (ends_later(backends_.of_message(call))) {
        await_message(call, timeout_ms);
        return;
    }
    run_message(
        call,
        [this](const Send& begun, const Deadline& until) { mover_of(begun).send(begun, until); },
        timeout_ms);
}

int Group::run(const Receive& call, int64_t timeout_ms) {
    if (call.source == rank_) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("group_src is ", call.source,
                        ", this rank itself, from which only a receive with a work can receive"));
    }
    if (ends_later(backends_.of_message(call))) return await_message(call, timeout_ms);
    int source = -1;
    run_message(
        call,
        [&](const Receive& begun, const Deadline& until) {
            source = mover_of(begun).receive(begun, until);
        },
        timeout_ms);
    return source;
}

}  // namespace tutti
