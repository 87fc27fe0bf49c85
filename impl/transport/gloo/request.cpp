#include "request.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <gloo/transport/tcp/context.h>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "connection.hpp"

namespace tutti::gloo_channel {

namespace {

struct Completion {
    std::shared_ptr<TransferListener> listener;
    Transfer* transfer;
    std::function<void(Completions&)> act;  // instead
};

std::deque<Completion>& completions_of_this_thread() {
    thread_local std::deque<Completion> completions;
    return completions;
}

// While listeners are told none is open: theirs are outermost again.
thread_local Completions* outermost = nullptr;
thread_local int depth = 0;  // of those that are being told

}  // namespace

Completions::Completions() noexcept {
    if (outermost == nullptr) outermost = this;
}

Completions::~Completions() {
    if (outermost != this) return;
    outermost = nullptr;
    tell();
}

Completions& Completions::open() noexcept {
    TUTTI_ASSERT(outermost != nullptr);
    return *outermost;
}

void Completions::add(const std::shared_ptr<TransferListener>& listener, Transfer& transfer) {
    completions_of_this_thread().push_back({listener, &transfer, nullptr});
}

void Completions::then(std::function<void(Completions&)> act) {
    completions_of_this_thread().push_back({nullptr, nullptr, std::move(act)});
}

// A listener may post, and so complete more, and wait for that: that is told in order here as well,
// after earlier ones.
void Completions::tell() noexcept {
    if (depth >= deepest_) return;  // the caller goes on
    ++depth;
    auto& completions = completions_of_this_thread();
    while (!completions.empty()) {
        const Completion next = std::move(completions.front());
        completions.pop_front();
        if (next.act) {
            next.act(*this);
        } else {
            next.listener->transfer_done(*next.transfer);
        }
    }
    --depth;
}

void Ledger::enter(Request& request) {
    const Lock lock(mutex_);
    request.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &request;
    first_ = &request;
}

void Ledger::leave(Request& request) noexcept {
    const Lock lock(mutex_);
    if (request.next_ != nullptr) request.next_->previous_ = request.previous_;
    (request.previous_ != nullptr ? request.previous_->next_ : first_) = request.next_;
    if (first_ == nullptr) emptied_.notify_all();
}

void Ledger::fail(Completions& completions, int peer, const Status& status) noexcept {
    const Lock lock(mutex_);
    for (Request* request = first_; request != nullptr; request = request->next_) {
        const bool is_one_of_them = peer == messages ? !request->is_collective_
                                                     : peer == everything || request->peer_ == peer;
        if (is_one_of_them) request->complete(completions, status, request->peer_, 0);
    }
}

void Ledger::wait_until_empty() noexcept {
    Lock lock(mutex_);
    while (first_ != nullptr) emptied_.wait(lock);
}

Request::Request(const std::shared_ptr<::gloo::transport::tcp::Context>& context, Ledger& ledger,
                 Transfer& transfer, int peer, Slot slot, void* data, size_t bytes)
    // A pointer that owns nothing: the thread that destroys a request, perhaps Gloo's loop, must
    // not destroy the context and its connections.
    : UnboundBuffer({std::shared_ptr<void>{}, context.get()}, data, bytes),
      ledger_(ledger),
      transfer_(transfer),
      peer_(peer),
      is_collective_(slot.is_collective()) {
    ledger_.enter(*this);
}

Request::~Request() {
    if (!passed_) {
        ledger_.mark_untidy();
        Connection* connection = nullptr;
        {
            const Lock lock(leaving_);
            is_withdrawn_ = true;
            connection = outgoing_;
        }
        if (connection != nullptr) connection->keep_rest_of(*this);
    }
    ledger_.leave(*this);
    // Gloo's loop may be using this. The base class waits for that as well, but only after this
    // part is destroyed; so the wait is moved here.
    std::destroy_at(&shareableNonOwningPtr_);
    std::construct_at(&shareableNonOwningPtr_, this);
    // That wait sees that the user is gone, but not its writes; this does.
    static_cast<void>(uses_.load(std::memory_order_acquire));
    const std::lock_guard<std::mutex> lock(m_);
}

bool Request::begin() noexcept {
    Stage stage = Stage::Posted;
    return stage_.compare_exchange_strong(stage, Stage::Moving, std::memory_order_acq_rel) ||
           stage == Stage::Moving;
}

bool Request::stop() noexcept {
    Stage stage = Stage::Posted;
    return stage_.compare_exchange_strong(stage, Stage::Ended, std::memory_order_acq_rel);
}

void Request::pass(Completions& completions, int world_rank, size_t bytes) noexcept {
    passed_ = true;
    complete(completions, {}, ledger_.member(world_rank), bytes);
}

void Request::overflow(Completions& completions, int world_rank, size_t bytes,
                       size_t room) noexcept {
    passed_ = true;
    const int sender = ledger_.member(world_rank);
    complete(completions,
             {TUTTI_ERR_MISMATCH, sender, 0,
              cat("rank ", sender, " sent ", bytes, " bytes where ", room, " were expected")},
             sender, bytes);
}

void Request::complete(Completions& completions, Status status, int peer, size_t bytes) noexcept {
    if (stage_.exchange(Stage::Ended, std::memory_order_acq_rel) == Stage::Ended) return;
    Transfer& transfer = transfer_;
    completions.add(transfer.listener, transfer);
    transfer.status = std::move(status);
    transfer.peer = peer;
    transfer.bytes = bytes;
    transfer.done.store(true, std::memory_order_release);
}

}  // namespace tutti::gloo_channel
