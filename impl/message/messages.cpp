// Messages in the background, and the end of all. Finishing works, calling channels and asking for
// trouble happen without the lock.
#include "messages.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace tutti::message {

namespace {

std::unique_ptr<Operation> make_operation(const Message& message, const Deadline& deadline,
                                          const std::shared_ptr<Work>& work) {
    return std::visit(
        [&](const auto& call) -> std::unique_ptr<Operation> {
            using Call = std::remove_cvref_t<decltype(call)>;
            using Kind = std::conditional_t<std::is_same_v<Call, Send>, Sending, Receiving>;
            return std::make_unique<Kind>(call, deadline, work);
        },
        message);
}

}  // namespace

Messages::Messages(Setting setting)
    : rank_(setting.rank),
      trouble_(std::move(setting.trouble)),
      spins_(setting.spins),
      looks_early_(setting.looks_early),
      driver_(setting.driver),
      alarm_(Alarm::shared()),
      doorbell_(setting.doorbell == nullptr ? own_doorbell_ : *setting.doorbell),
      queues_(setting.rank, setting.size) {}

Messages::~Messages() {
    abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    close();
}

void Messages::start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    begin_alone(std::make_unique<Sending>(call, deadline, std::move(work)));
}

void Messages::start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    begin_alone(std::make_unique<Receiving>(call, deadline, std::move(work)));
}

void Messages::begin_alone(std::unique_ptr<Operation> operation) {
    const Deadline deadline = operation->deadline;
    begin(deadline, [&](Queues& queues) TUTTI_REQUIRES(mutex_) {
        const bool is_driven = employ_for(*operation);
        operation->post(queues);
        static_cast<void>(operation.release());  // it ends by itself from here on
        return is_driven;
    });
}

void Messages::start(std::span<const Message> batch, const Deadline& deadline,
                     std::span<const std::shared_ptr<Work>> works) {
    std::array<std::byte, 512> room;
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    std::pmr::vector<std::unique_ptr<Operation>> operations(&memory);  // before any starts
    operations.reserve(batch.size());
    for (size_t index = 0; index < batch.size(); ++index) {
        operations.push_back(make_operation(batch[index], deadline, works[index]));
    }
    begin(deadline, [&](Queues& queues) TUTTI_REQUIRES(mutex_) {
        bool are_driven = true;
        for (auto& own : operations) {
            Operation& operation = *own.release();
            try {
                are_driven &= employ_for(operation);
                operation.post(queues);
            } catch (...) {
                queues.end(operation, current_status());
            }
        }
        return are_driven;
    });
}

// `post` starts some, and returns whether only a thread here moves them.
template <typename Post>
void Messages::begin(const Deadline& deadline, Post&& post) {
    Deferred after;
    bool is_first_late = false;
    const bool may_be_late = deadline.timeout_ms() <= 0 && !deadline.is_never();
    {
        const Lock lock(mutex_);
        queues_.set_driver(nullptr);
        const bool are_driven = post(queues_);
        if (are_driven && may_be_late) queues_.expire(Clock::now());
        mover_.note_new();
        may_have_some_.store(true, std::memory_order_relaxed);
        employ_mover();
        collect(after);
        is_first_late = queues_.next_expiry() < watched_;
    }
    finish(after);
    if (is_first_late) enter([](Queues& /*queues*/) {});  // only now that a channel has it
}

// Whether the mover has to move it, and is there. Throws if the system has no thread for it.
bool Messages::employ_for(const Operation& operation) {
    if (!queues_.is_driven(operation)) return false;
    mover_.start();
    const bool is_long = looks_early_ && operation.bytes() >= Looks::long_bytes;
    if (is_long && mover_.shorten() && is_dozing_) doorbell_.wake();
    return true;
}

// Collects what is to be done without the lock: by finish(), which close() waits for. The program
// may end the group as soon as its works have finished.
void Messages::collect(Deferred& after) noexcept {
    queues_.take(after);
    if (!after.empty()) static_cast<void>(finishing_.enter());
}

void Messages::finish(Deferred& after) noexcept {
    if (after.empty()) return;
    after.run(doorbell_);
    finishing_.leave();
}

// Collects what is to be done without the lock, and first sets the alarm for the next expiry.
void Messages::leave(Deferred& after) noexcept {
    collect(after);
    try {
        watch(queues_.next_expiry());
    } catch (...) {  // no memory, or no thread: the next caller tries again
    }
}

void Messages::watch(Clock::time_point when) {
    if (when >= watched_) return;
    const auto id = alarm_->set(Deadline::at(when), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ring();
    });
    alarm_->clear(std::exchange(watching_, id));
    watched_ = when;
}

// Something in the background may be late.
void Messages::ring() noexcept {
    Deferred after;
    {
        const Lock lock(mutex_);
        queues_.set_driver(nullptr);
        watched_ = Clock::time_point::max();
        queues_.expire(Clock::now());
        leave(after);
    }
    finish(after);
}

bool Messages::cancel(const Work& receive) noexcept {
    bool cancelled = false;
    enter([&](Queues& queues) {
        cancelled = queues.cancel(receive, {TUTTI_ERR_ABORTED, -1, 0, "it was cancelled"});
    });
    return cancelled;
}

void Messages::abort(const Status& status) noexcept {
    enter([&](Queues& queues) { queues.fail(status); });
}

void Messages::close() noexcept {
    std::thread mover;
    std::vector<Peer*> peers;
    {
        const Lock lock(mutex_);
        mover = mover_.end();
        alarm_->clear(watching_);
        peers = queues_.all_peers();
    }
    if (mover.joinable()) {
        doorbell_.wake();
        mover.join();
    }
    for (Peer* const peer : peers) peer->close();
    finishing_.wait_until_unused();
}

}  // namespace tutti::message
