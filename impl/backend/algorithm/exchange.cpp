#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "control/stalls.hpp"

namespace tutti {

namespace {

constexpr size_t eager_bytes = 4096 - sizeof(Fingerprint);

// A first message as it travels.
struct Opening {
    Fingerprint fingerprint;
    std::array<std::byte, eager_bytes> data;
};
static_assert(sizeof(Opening) == 4096);

class EventListener : public TransferListener {
public:
    Event event;
    void transfer_done(Transfer& /*transfer*/) noexcept override { event.notify(); }
};

// One for each thread, not for each call: a late notify of an earlier call only makes a waiter look
// once more.
const std::shared_ptr<EventListener>& listener_of_this_thread() {
    thread_local const auto listener = std::make_shared<EventListener>();
    return listener;
}

}  // namespace

struct Exchange::Message {
    int peer = -1;
    bool is_send = false;
    bool is_open = true;  // the first message, if this is it, is dealt with
    bool has_body = false;
    std::unique_ptr<Opening> opening;  // of the first message between the two
    std::span<std::byte> target;       // of a receive
    Transfer head;                     // the opening
    Transfer body;                     // the data, if they did not fit
};

Exchange::Exchange(Channel& channel, const Fingerprint& fingerprint, uint64_t number,
                   const Deadline& deadline)
    : channel_(channel),
      fingerprint_(fingerprint),
      number_(number),
      deadline_(deadline),
      patience_(Deadline::after_ms(control::stall_ms)),
      event_(listener_of_this_thread(), &listener_of_this_thread()->event),
      listener_(listener_of_this_thread()) {}

Exchange::~Exchange() = default;

Exchange::Peer& Exchange::peer(int rank) {
    const auto found = std::ranges::find(peers_, rank, &Peer::rank);
    return found != peers_.end() ? *found : peers_.emplace_back(Peer{rank});
}

Exchange::Message& Exchange::add(int peer) {
    TUTTI_ASSERT(peer >= 0 && peer < size() && peer != rank());
    Message& message = messages_.emplace_back();
    message.peer = peer;
    message.head.listener = listener_;
    message.body.listener = listener_;
    return message;
}

Exchange::Ticket Exchange::send(int to, std::span<const std::byte> bytes) {
    Message& message = add(to);
    message.is_send = true;
    const Slot slot = Slot::collective(number_);
    if (Peer& known = peer(to); !known.greeted) {
        known.greeted = true;
        message.is_open = false;
        message.opening = std::make_unique_for_overwrite<Opening>();
        message.opening->fingerprint = fingerprint_;
        const size_t eager = bytes.size() <= eager_bytes ? bytes.size() : 0;
        if (eager > 0) std::memcpy(message.opening->data.data(), bytes.data(), eager);
        channel_.post_send(message.head, to, slot, message.opening.get(),
                           sizeof(Fingerprint) + eager);
        if (bytes.size() == eager) return messages_.size() - 1;
    }
    message.has_body = true;
    channel_.post_send(message.body, to, slot, bytes.data(), bytes.size());
    return messages_.size() - 1;
}

Exchange::Ticket Exchange::receive(int from, std::span<std::byte> bytes) {
    Message& message = add(from);
    message.target = bytes;
    const Slot slot = Slot::collective(number_);
    if (Peer& known = peer(from); !known.awaited) {
        known.awaited = true;
        message.is_open = false;
        message.opening = std::make_unique_for_overwrite<Opening>();
        channel_.post_receive(message.head, from, slot, message.opening.get(), sizeof(Opening));
        if (bytes.size() <= eager_bytes) return messages_.size() - 1;
    }
    message.has_body = true;
    channel_.post_receive(message.body, from, slot, bytes.data(), bytes.size());
    return messages_.size() - 1;
}

void Exchange::await(Transfer& transfer, int peer, const char* doing) {
    TUTTI_FAULT_POINT("exchange.wait");
    while (!transfer.done.load(std::memory_order_acquire)) {
        const uint32_t ticket = event_->ticket();
        if (transfer.done.load(std::memory_order_acquire)) break;
        if (event_->wait(ticket, told_ ? deadline_ : deadline_.or_earlier(patience_))) continue;
        if (transfer.done.load(std::memory_order_acquire)) break;
        if (deadline_.expired()) {
            throw Error(TUTTI_ERR_TIMEOUT, cat("timed out ", doing, " rank ", peer), peer);
        }
        told_ = true;
        channel_.stalled(number_, describe(fingerprint_, number_));
    }
    transfer.hold.reset();
    if (!transfer.status.ok()) throw Error(transfer.status);
}

void Exchange::open(Message& message) {
    await(message.head, message.peer, message.is_send ? "sending to" : "waiting for");
    message.is_open = true;
    if (!message.is_send) {
        if (message.head.bytes == 0) await_reason(message.peer);
        const Opening& opening = *message.opening;
        if (message.head.bytes < sizeof(Fingerprint)) {
            throw Error(TUTTI_ERR_MISMATCH,
                        cat("rank ", message.peer, " sent a first message of ", message.head.bytes,
                            " bytes, which is no fingerprint"),
                        message.peer);
        }
        if (opening.fingerprint != fingerprint_) fail_mismatch(message, opening.fingerprint);
        const size_t eager = message.has_body ? 0 : message.target.size();
        if (message.head.bytes != sizeof(Fingerprint) + eager) {
            throw Error(TUTTI_ERR_INTERNAL, cat("rank ", message.peer, " cut its data differently"),
                        message.peer);
        }
        if (eager > 0) std::memcpy(message.target.data(), opening.data.data(), eager);
    }
    message.opening.reset();
}

void Exchange::wait(Ticket ticket) {
    Message& message = messages_[ticket];
    if (!message.is_open) open(message);
    if (!message.has_body) return;
    await(message.body, message.peer, message.is_send ? "sending to" : "waiting for");
    message.has_body = false;
    if (message.is_send) return;
    if (message.body.bytes == 0 && !message.target.empty()) await_reason(message.peer);
    if (message.body.bytes != message.target.size()) {
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("rank ", message.peer, " sent ", message.body.bytes, " bytes where ",
                        message.target.size(), " were expected"),
                    message.peer);
    }
}

// The peer took its message back, for its call has failed. Why, it has told the group, and that
// ends the messages that nobody takes any more.
void Exchange::await_reason(int peer) {
    for (;;) {
        Transfer untaken;
        untaken.listener = listener_;
        channel_.post_send(untaken, peer, Slot::collective(number_), nullptr, 0);
        await(untaken, peer, "waiting for");
    }
}

void Exchange::wait_all() {
    for (Ticket ticket = 0; ticket < messages_.size(); ++ticket) wait(ticket);
}

void Exchange::fail_mismatch(const Message& message, const Fingerprint& theirs) const {
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", message.peer, " called ", describe(theirs, number_), " while rank ",
                    rank(), " called ", describe(fingerprint_, number_)),
                message.peer);
}

}  // namespace tutti
