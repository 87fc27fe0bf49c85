#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "membership/stalls.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

// A first message as it travels.
struct Opening {
    Exchange::Head head;
    std::array<std::byte, Exchange::eager_bytes> data;
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

int place_in(std::span<const int> members, int rank) {
    const auto found = std::ranges::find(members, rank);
    TUTTI_ASSERT(found != members.end());
    return static_cast<int>(found - members.begin());
}

}  // namespace

struct Exchange::Message {
    int peer = -1;
    bool is_send = false;
    bool is_open = true;  // the first message, if this is it, is dealt with
    bool has_body = false;
    bool any_size = false;             // of a first message: what came is what is expected
    std::unique_ptr<Opening> opening;  // of the first message between the two
    std::span<std::byte> target;       // of a receive
    uint64_t given = unsaid;           // what this rank sends in return for it
    Transfer head;                     // the opening
    Transfer body;                     // the data, if they did not fit

    // Bytes of data, of a receive whose opening has come.
    [[nodiscard]] size_t expected() const {
        return any_size ? std::min(head.bytes - sizeof(Head), target.size()) : target.size();
    }
};

Exchange::Exchange(Channel& channel, const Fingerprint& fingerprint, uint64_t sequence,
                   const Deadline& deadline, const Step& step, std::span<const int> members)
    : channel_(channel),
      members_(members),
      rank_(members.empty() ? channel.rank() : place_in(members, channel.rank())),
      size_(members.empty() ? channel.size() : static_cast<int>(members.size())),
      fingerprint_(fingerprint),
      sequence_(sequence),
      step_(step),
      deadline_(deadline),
      stall_deadline_(Deadline::after_ms(membership::stall_ms)),
      exceptions_(std::uncaught_exceptions()),
      event_(listener_of_this_thread(), &listener_of_this_thread()->event),
      listener_(listener_of_this_thread()) {}

// After a failure the others shall hear of that, not go on with what they find.
Exchange::~Exchange() {
    if (std::uncaught_exceptions() <= exceptions_) return;
    for (const Peer& one : peers_) {
        if (one.greeted) channel_.take_back(group_rank(one.rank), slot());
    }
}

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

Exchange::Ticket Exchange::send(int to, std::span<const std::byte> bytes, uint64_t expected) {
    Message& message = add(to);
    message.is_send = true;
    message.head.may_end_early = message.body.may_end_early =
        fingerprint_.root < 0 || step_.past.may_end_unheard();
    if (Peer& known = peer(to); !known.greeted) {
        known.greeted = true;
        message.is_open = false;
        message.opening = std::make_unique_for_overwrite<Opening>();
        message.opening->head = {fingerprint_, step_.past.latest(), bytes.size(), expected};
        const size_t eager = bytes.size() <= eager_bytes ? bytes.size() : 0;
        if (eager > 0) std::memcpy(message.opening->data.data(), bytes.data(), eager);
        message.head.is_followed = bytes.size() > eager;
        channel_.post_send(message.head, group_rank(to), slot(), message.opening.get(),
                           sizeof(Head) + eager);
        if (bytes.size() == eager) return messages_.size() - 1;
    }
    message.has_body = true;
    channel_.post_send(message.body, group_rank(to), slot(), bytes.data(), bytes.size());
    return messages_.size() - 1;
}

Exchange::Ticket Exchange::receive(int from, std::span<std::byte> bytes, uint64_t given) {
    Message& message = add(from);
    message.target = bytes;
    message.given = given;
    if (Peer& known = peer(from); !known.awaited) {
        known.awaited = true;
        message.is_open = false;
        message.opening = std::make_unique_for_overwrite<Opening>();
        channel_.post_receive(message.head, group_rank(from), slot(), message.opening.get(),
                              sizeof(Opening));
        if (bytes.size() <= eager_bytes) return messages_.size() - 1;
    }
    message.has_body = true;
    channel_.post_receive(message.body, group_rank(from), slot(), bytes.data(), bytes.size());
    return messages_.size() - 1;
}

Exchange::Ticket Exchange::receive_first(int from, std::span<std::byte> room) {
    TUTTI_ASSERT(!peer(from).awaited && room.size() <= eager_bytes);
    const Ticket ticket = receive(from, room);
    messages_[ticket].any_size = true;
    return ticket;
}

std::span<std::byte> Exchange::wait_first(Ticket ticket) {
    wait(ticket);
    return messages_[ticket].target;
}

Exchange::Swap Exchange::swap(int with, std::span<const std::byte> outgoing,
                              std::span<std::byte> incoming) {
    TUTTI_ASSERT(!peer(with).greeted && !peer(with).awaited);
    const Ticket coming = receive(with, incoming, outgoing.size());
    return {coming, send(with, outgoing, incoming.size())};
}

std::span<std::byte> Exchange::room(size_t bytes) {
    return {rooms_.emplace_back(rooms().take(bytes)).get(), bytes};
}

void Exchange::await(Transfer& transfer, int peer, const char* doing, const Deadline& deadline) {
    TUTTI_FAULT_POINT("exchange.wait");
    while (!transfer.done.load(std::memory_order_acquire)) {
        const uint32_t ticket = event_->ticket();
        if (transfer.done.load(std::memory_order_acquire)) break;
        if (channel_.wait(*event_, ticket, deadline.or_earlier(stall_deadline_))) {
            if (reported_stall_) check_arrived();
            continue;
        }
        if (transfer.done.load(std::memory_order_acquire)) break;
        if (deadline.expired()) {
            const int late = group_rank(peer);
            throw Error(TUTTI_ERR_TIMEOUT, cat("timed out ", doing, " rank ", late), late);
        }
        stall_deadline_ = Deadline::after_ms(membership::stall_ms);
        channel_.compare();
        if (std::exchange(reported_stall_, true)) continue;
        check_arrived();
        report_stall();
    }
    transfer.hold.reset();
    if (!transfer.status.ok()) throw Error(transfer.status);
}

void Exchange::open(Message& message, const Deadline& deadline) {
    await(message.head, message.peer, message.is_send ? "sending to" : "waiting for", deadline);
    message.is_open = true;
    if (!message.is_send) {
        if (message.head.bytes == 0) await_reason(message.peer);
        check_opening(message);
        message.target = message.target.first(message.expected());
        const size_t eager = message.has_body ? 0 : message.target.size();
        if (eager > 0) std::memcpy(message.target.data(), message.opening->data.data(), eager);
    }
    message.opening.reset();
}

void Exchange::check_opening(const Message& message) const {
    const int sender = group_rank(message.peer);
    if (message.head.bytes < sizeof(Head)) {
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("rank ", sender, " sent a first message of ", message.head.bytes,
                        " bytes, which is too short for a header"),
                    sender);
    }
    const Head& head = message.opening->head;
    if (head.previous != step_.past.latest()) fail_previous(message.peer, head.previous);
    if (head.fingerprint != fingerprint_) fail_mismatch(message.peer, head.fingerprint);
    check_size(message.peer, head.sent, rank(), message.expected());
    if (message.given != unsaid && head.expected != unsaid) {
        check_size(rank(), message.given, message.peer, head.expected);
    }
    const size_t eager = message.has_body ? 0 : message.expected();
    if (message.head.bytes != sizeof(Head) + eager) {
        throw Error(TUTTI_ERR_INTERNAL, cat("rank ", sender, " segmented its data differently"),
                    sender);
    }
}

// A rank that this one waits for may be further on.
void Exchange::report_stall() const {
    const auto report = [this](const Fingerprint& call, uint64_t sequence) {
        channel_.membership().stalled(sequence, to_bytes(call), describe(call, sequence));
    };
    for (const PastCall& past : step_.past.all()) {
        if (past.sequence != 0) report(past.call, past.sequence);
    }
    report(step_.whole, sequence_);
}

// A message that this rank waits for may never come, because of a mismatch in one that has arrived.
void Exchange::check_arrived() const {
    for (const Message& message : messages_) {
        if (message.is_send || message.is_open) continue;
        const Transfer& head = message.head;
        if (!head.done.load(std::memory_order_acquire)) continue;
        if (head.status.ok() && head.bytes > 0) check_opening(message);
    }
}

void Exchange::wait(Ticket ticket, const Deadline& deadline) {
    Message& message = messages_[ticket];
    if (!message.is_open) open(message, deadline);
    if (!message.has_body) return;
    await(message.body, message.peer, message.is_send ? "sending to" : "waiting for", deadline);
    message.has_body = false;
    if (message.is_send) return;
    if (message.body.bytes == 0 && !message.target.empty()) await_reason(message.peer);
    if (message.body.bytes != message.target.size()) {
        const int sender = group_rank(message.peer);
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("rank ", sender, " sent ", message.body.bytes, " bytes where ",
                        message.target.size(), " were expected"),
                    sender);
    }
}

// The peer withdrew its message, because its call failed. It has reported why to the group, which
// ends all that is under way.
void Exchange::await_reason(int peer) {
    for (;;) {
        Transfer never;
        never.listener = listener_;
        channel_.post_receive(never, group_rank(peer), Slot::silence(), nullptr, 0);
        await(never, peer, "waiting for", deadline_);
    }
}

void Exchange::wait_all() {
    for (Ticket ticket = 0; ticket < messages_.size(); ++ticket) wait(ticket);
}

void Exchange::fail_mismatch(int peer, const Fingerprint& theirs) const {
    throw Error(mismatch(group_rank(peer), theirs, group_rank(rank()), fingerprint_, sequence_));
}

// Both calls have ended: each rank of theirs sent, or received from others.
void Exchange::fail_previous(int peer, const PastCall& theirs) const {
    const PastCall& ours = step_.past.latest();
    if (theirs.sequence == ours.sequence && theirs.sequence != 0) {
        throw Error(
            mismatch(group_rank(peer), theirs.call, group_rank(rank()), ours.call, ours.sequence));
    }
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", group_rank(peer), " has called other things than rank ",
                    group_rank(rank()), " before ", describe(step_.whole, sequence_)),
                group_rank(peer));
}

void Exchange::check_size(int sender, uint64_t sent, int receiver, uint64_t expected) const {
    if (sent == expected) return;
    throw Error(size_mismatch(group_rank(sender), sent, group_rank(receiver), expected,
                              fingerprint_.dtype,
                              group_rank(sender == rank() ? receiver : sender)));
}

}  // namespace tutti
