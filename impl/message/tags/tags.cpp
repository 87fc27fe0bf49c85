#include "tags.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "membership/missing_ranks.hpp"
#include "reduce/reduce.hpp"

namespace tutti::message {

namespace {

// A message brings this beside its size.
constexpr int content_bits = 2;

uint32_t type_of(const Send& call) {
    return static_cast<uint32_t>(call.buffer.dtype) << content_bits |
           static_cast<uint32_t>(call.content);
}
Content content_of(uint32_t type) {
    return static_cast<Content>(type & ((1U << content_bits) - 1));
}
tutti_dtype dtype_of(uint32_t type) {
    return static_cast<tutti_dtype>(type >> content_bits);
}

}  // namespace

void Tags::add_to(Messages& messages, Channel& channel,
                  const std::function<bool(int rank)>& has_other_way) {
    TaggedMessages& tagged = *channel.tagged();
    const auto tags = std::make_shared<Tags>(messages, tagged, channel.size());
    bool has_any = false;
    messages.enter([&](Queues& queues) {
        for (int rank = 0; rank < channel.size(); ++rank) {
            if (rank == channel.rank() || has_other_way(rank)) continue;
            has_any = true;
            tags->is_peer_[static_cast<size_t>(rank)] = true;
            queues.add(rank, std::make_unique<TagPeer>(queues, tags, rank));
        }
        if (has_any) queues.add(any_source, std::make_unique<TagPeer>(queues, tags, any_source));
    });
    if (!has_any) return;
    // The engine has the peers, and they have this.
    tagged.open(std::shared_ptr<Listener>(messages.shared_from_this(), tags.get()));
}

void Tags::happened() noexcept {
    const GateUse use(gate_);
    if (!use.is_open()) return;
    messages_.enter([this](Queues& queues) { handle(queues); });
}

// A thread that came too late for the gate has left its events here. When this has returned once,
// the channel may go.
void Tags::close() noexcept {
    gate_.wait_until_unused();
    messages_.enter([this](Queues& queues) {
        if (!std::exchange(is_closed_, true)) handle(queues);
    });
}

void Tags::handle(Queues& queues) {
    channel_.collect(events_);
    for (const Event& event : events_) handle(queues, event);
    events_.clear();
}

void Tags::handle(Queues& queues, const Event& event) {
    switch (event.kind) {
        case Event::Kind::Came:
            return came(queues, event);
        case Event::Kind::Ended:
            return ended(queues, event);
        case Event::Kind::Left:
            return left(queues, event);
        case Event::Kind::Aborted:
            return queues.fail(event.status);
    }
}

void Tags::came(Queues& queues, const Event& event) {
    if (event.peer < 0 || !is_peer_[static_cast<size_t>(event.peer)]) {
        drop(*event.arrival);
        if (event.peer < 0) return;
        const Status status{TUTTI_ERR_INTERNAL, event.peer, 0,
                            cat("rank ", event.peer, " sent its message another way")};
        queues.fail_waiting(event.peer, event.tag, status);
        return queues.fail_waiting(any_source, event.tag, status);
    }
    const TaggedMessage message{event.arrival, event.type, event.bytes};
    Receiving* const receiving = queues.matching().find_receiving(event.peer, event.tag);
    if (receiving == nullptr) {
        return queues.arrive(std::make_unique<KeptMessage>(*this, event.peer, event.tag, message));
    }
    queues.flush_later(*queues.peer(event.peer));
    queues.stop_waiting(*receiving);
    if (!take(queues, *receiving, event.peer, message)) queues.rejoin(*receiving);
}

void Tags::ended(Queues& queues, const Event& event) {
    if (event.is_send) {
        Sending& message = *static_cast<Sending*>(event.owner);
        const Status status = event.is_withdrawn ? timed_out(message.call) : event.status;
        return queues.end(message, status);
    }
    Receiving& receiving = *static_cast<Receiving*>(event.owner);
    if (event.is_withdrawn) return queues.rejoin(receiving);
    if (!event.status.ok()) return queues.end(receiving, event.status);
    if (event.bytes != receiving.room.size()) {
        return queues.end(receiving,
                          {TUTTI_ERR_INTERNAL, event.peer, 0,
                           cat("rank ", event.peer, " sent ", event.bytes,
                               " bytes where it had announced ", receiving.room.size())});
    }
    receiving.deliver(event.peer);
    queues.end(receiving, {}, event.peer);
}

void Tags::left(Queues& queues, const Event& event) {
    if (event.peer < 0) return;
    auto& gone = gone_[static_cast<size_t>(event.peer)];
    if (gone) return;
    gone = std::make_unique<Status>(event.status);
    ++number_gone_;
    if (is_peer_[static_cast<size_t>(event.peer)]) queues.fail(event.peer, event.status);
    queues.fail_any_if_alone(number_gone_);
}

void Tags::add_waiting(int source) {
    const bool is_over = source == any_source ? number_gone_ + 1 == gone_.size()
                                              : gone_[static_cast<size_t>(source)] != nullptr;
    if (is_over) {
        throw Error(source == any_source ? membership::all_others_left_error()
                                         : *gone_[static_cast<size_t>(source)]);
    }
    channel_.expect(1);
}

void Tags::send(Sending& message) {
    const Send& call = message.call;
    message.posted =
        &channel_.send(&message, call.destination, call.tag, type_of(call), call.buffer.bytes());
}

bool Tags::stop(const Sending& message) noexcept {
    return channel_.stop(*static_cast<TaggedPost*>(message.posted));
}

bool Tags::take(Queues& queues, Receiving& receiving, int source, const TaggedMessage& message) {
    const tutti_dtype dtype = dtype_of(message.type);
    const size_t element = std::max<size_t>(element_size(dtype), 1);
    const auto count = static_cast<int64_t>(message.bytes / element);
    Status status = receiving.make_room(content_of(message.type), count, dtype, source);
    if (status.ok() && receiving.room.size() != message.bytes) {
        status = {TUTTI_ERR_INTERNAL, source, 0,
                  cat("rank ", source, " announced its message differently")};
    }
    if (!status.ok()) {
        if (!channel_.refuse(*message.arrival)) return false;
        queues.end(receiving, status);
        return true;
    }
    try {
        switch (channel_.take(*message.arrival, &receiving, receiving.room)) {
            case TaggedMessages::Taken::All:
                receiving.deliver(source);
                queues.end(receiving, {}, source);
                break;
            case TaggedMessages::Taken::Coming:
                receiving.has_message = true;
                break;
            case TaggedMessages::Taken::Withdrawn:
                return false;
        }
    } catch (...) {  // no memory
        queues.end(receiving, current_status());
    }
    return true;
}

}  // namespace tutti::message
