// Reads with suspicion: a descriptor and the head of data are copied once, and then checked. Bytes
// that are no message end the messages from that rank, and touch nothing.
#include "inbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "base/error.hpp"
#include "memory/copying.hpp"
#include "memory/segment.hpp"
#include "progress/doorbell.hpp"
#include "reduce/reduce.hpp"

namespace tutti::message {

namespace {

constexpr size_t max_read = size_t{256} * 1024;     // before others have their turn
constexpr size_t read_at_once = size_t{32} * 1024;  // of the stream at a time
constexpr size_t read_there_at_once = size_t{1024} * 1024;
constexpr size_t max_kept = size_t{4} * 1024 * 1024;  // data of messages that came early

// The size of the data that came with the descriptor; nothing if they did not.
std::optional<size_t> eager_size(const Descriptor::Head& head) {
    if (head.count < 0 || head.count > static_cast<int64_t>(eager_bytes)) return std::nullopt;
    const size_t size = static_cast<size_t>(head.count) * element_size(head.dtype);
    return size <= eager_bytes ? std::optional(size) : std::nullopt;
}

}  // namespace

bool Inbox::advance() {
    if (!broken_.ok()) return false;
    const bool polled = poll();
    const bool read_some = read_there();
    return read() || polled || read_some;
}

bool Inbox::break_off(const char* what) {
    broken_ = {TUTTI_ERR_INTERNAL, sender_.rank, 0, cat("rank ", sender_.rank, " wrote ", what)};
    return false;
}

bool Inbox::poll() {
    Ring& ring = *view_.ring;
    bool moved = false;
    while (queues_.matching().wants(sender_.rank)) {
        const size_t place = next_ % max_descriptors;
        const Descriptor& descriptor = ring.descriptors[place];
        if (descriptor.sequence.load(std::memory_order_acquire) != next_) break;
        Offer offer{next_, {}, nullptr, {}};
        std::memcpy(&offer.where, descriptor.data, sizeof offer.where);
        std::memcpy(&offer.head, &descriptor.head, sizeof offer.head);
        const auto size = eager_size(offer.head);
        const bool is_sound =
            offer.head.offer == given ? size.has_value() : offer.head.offer < max_offers;
        if (!is_sound || offer.head.tag < 0) return break_off("a descriptor that no message has");
        if (size && *size > 0) {
            offer.data = *size <= Descriptor::most ? descriptor.data : ring.eager[place];
        }
        if (!deliver(offer)) break;
        moved = true;
        give_back(next_++);
    }
    return moved;
}

// A sender that sleeps for room has filled all of it, so it is enough to wake it now and then.
void Inbox::give_back(uint64_t descriptor) {
    if (descriptor % (max_descriptors / 4) != 0) {
        view_.ring->consumed.store(descriptor, std::memory_order_release);
        return;
    }
    view_.ring->consumed.exchange(descriptor, std::memory_order_seq_cst);
    theirs_.ring_after_exchange();
}

// False: not now.
bool Inbox::deliver(const Offer& offer) {
    Matching& matching = queues_.matching();
    if (Receiving* const receiving = matching.find_receiving(sender_.rank, offer.head.tag)) {
        take(*receiving, offer, true);
        return true;
    }
    if (matching.arrivals_from(sender_.rank) >= purge_at_) {
        matching.drop_arrivals([this](const Arrival& arrival) {
            return arrival.source == sender_.rank &&
                   !is_offered(static_cast<const OfferedArrival&>(arrival));
        });
        const size_t still = matching.arrivals_from(sender_.rank);
        if (still > max_offers + given_) return break_off("more descriptors than it has messages");
        purge_at_ = std::max<size_t>(64, 2 * still);
    }
    try {
        keep(offer);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void Inbox::keep(const Offer& offer) {
    Matching& matching = queues_.matching();
    auto arrival = std::make_unique<OfferedArrival>(sender_.rank, offer.head.tag);
    arrival->sequence = offer.sequence;
    arrival->head = offer.head;
    arrival->where = offer.where;
    const size_t size = offer.data == nullptr ? 0 : *eager_size(offer.head);
    const bool is_given = offer.head.offer == given;
    if (size > 0 && (is_given || matching.kept() + size <= max_kept)) {
        arrival->data = std::make_unique_for_overwrite<std::byte[]>(size);
        arrival->kept = size;
        std::memcpy(arrival->data.get(), offer.data, size);
    }
    if (is_given) ++given_;
    matching.add(std::move(arrival));
}

bool Inbox::is_offered(const OfferedArrival& arrival) const {
    if (arrival.head.offer == given) return true;
    return view_.ring->offers[arrival.head.offer].load(std::memory_order_acquire) ==
           state_of(arrival.sequence, State::Offered);
}

bool Inbox::take(Receiving& receiving, const OfferedArrival& arrival) {
    if (arrival.head.offer == given) --given_;
    return take(receiving, {arrival.sequence, arrival.head, arrival.data.get(), arrival.where},
                false);
}

// `waits`: it stands among the receives that wait.
bool Inbox::take(Receiving& receiving, const Offer& offer, bool waits) {
    const Descriptor::Head& head = offer.head;
    const Status status = receiving.make_room(head.content, head.count, head.dtype, sender_.rank);
    const std::span<std::byte> room = receiving.room;
    const bool is_all_here = !status.ok() || room.empty() || offer.data != nullptr;
    const bool is_there = !is_all_here && is_read_there(offer.where, room.size(), true);
    const State state = is_all_here ? State::Taken : is_there ? State::BeingRead : State::Wanted;
    if (!settle(offer.sequence, head.offer, State::Offered, state)) return false;
    if (waits) queues_.stop_waiting(receiving);
    if (!is_all_here) {
        receiving.has_message = true;
        receiving.sequence = offer.sequence;
        receiving.offer = head.offer;
        receiving.where = offer.where;
        receiving.moved = 0;
        (is_there ? reading_ : streaming_).push_back(receiving);
        return true;
    }
    if (status.ok()) {
        if (!room.empty()) std::memcpy(room.data(), offer.data, room.size());
        receiving.deliver(sender_.rank);
    }
    queues_.end(receiving, status, status.ok() ? sender_.rank : -1);
    return true;
}

// `is_exchange`: this rank sends long data to the same rank, or still may.
bool Inbox::is_read_there(const Location& where, size_t bytes, bool is_exchange) const {
    if (sender_.long_data == LongData::Streamed) return false;
    if (sees(where, bytes)) return true;
    if (sender_.process == 0) return false;
    return sender_.long_data == LongData::InPlace || is_read_in_place(bytes) ||
           (is_exchange && is_exchanged_in_place(bytes));
}

bool Inbox::sees(const Location& where, size_t bytes) const {
    return where.place != 0 && shared_.find(sender_.place, where.place).size() >= bytes;
}

// False: the system does not let this rank.
bool Inbox::read_some(const Receiving& receiving, size_t length) const {
    const Bytes room = receiving.room;
    const Bytes into = room.subspan(receiving.moved, length);
    if (!sees(receiving.where, room.size())) {
        return sender_.process != 0 &&
               shm::read_memory(sender_.process, receiving.where.address + receiving.moved, into);
    }
    const ConstBytes data = shared_.find(sender_.place, receiving.where.place);
    shm::copy_data(into, data.subspan(receiving.moved, length), shm::stores_for(room.size(), 2));
    return true;
}

// False: the sender has taken it back.
bool Inbox::settle(uint64_t sequence, uint32_t offer, State from, State to) {
    if (offer == given) return true;
    Ring& ring = *view_.ring;
    uint64_t expected = state_of(sequence, from);
    if (!ring.offers[offer].compare_exchange_strong(expected, state_of(sequence, to),
                                                    std::memory_order_seq_cst)) {
        return false;
    }
    if (to == State::BeingRead) return true;  // nothing for the sender to do
    ring.settled.exchange(++settled_, std::memory_order_seq_cst);
    theirs_.ring_after_exchange();
    return true;
}

// One message after the other, a piece at a time.
bool Inbox::read_there() {
    if (reading_.empty()) return false;
    Receiving& receiving = reading_.front();
    if (receiving.moved == 0 &&
        !is_read_there(receiving.where, receiving.room.size(), outbox_.has_long_data())) {
        end_reading(receiving, false);
        return true;
    }
    const size_t length = std::min(receiving.room.size() - receiving.moved, read_there_at_once);
    const bool is_read = read_some(receiving, length);
    if (is_read) receiving.moved += length;
    if (!is_read || receiving.moved == receiving.room.size()) {
        end_reading(receiving, is_read);
    }
    return true;
}

// Data that could not be read come in the stream. If the sender gave the message up meanwhile, none
// come, and the receive ends for the same reason as the sender.
void Inbox::end_reading(Receiving& receiving, bool has_all) {
    receiving.leave_list();
    const bool is_mine = settle(receiving.sequence, receiving.offer, State::BeingRead,
                                has_all ? State::Taken : State::Wanted);
    if (!is_mine || !has_all) {
        receiving.moved = 0;
        streaming_.push_back(receiving);
        return;
    }
    receiving.deliver(sender_.rank);
    queues_.end(receiving, {}, sender_.rank);
}

bool Inbox::read() {
    size_t turn = 0;
    while (!streaming_.empty() && turn < max_read) {
        const uint64_t all = view_.ring->written.load(std::memory_order_acquire) - read_;
        if (all > view_.stream_bytes) return break_off("more than there is room for");
        if (current_ == nullptr) {
            if (all < stream_step) break;
            if (!read_head(all)) return false;
            turn += stream_step;
            continue;
        }
        const size_t left = current_->room.size() - current_->moved;
        const size_t place = static_cast<size_t>(read_) & (view_.stream_bytes - 1);
        const size_t length =
            std::min({left, static_cast<size_t>(all), view_.stream_bytes - place, read_at_once});
        if (length == 0) break;
        read_data(length);
        turn += length;
    }
    return turn > 0;
}

bool Inbox::read_head(uint64_t all) {
    StreamHead head{};
    const size_t place = static_cast<size_t>(read_) & (view_.stream_bytes - 1);
    std::memcpy(&head, view_.stream + place, sizeof head);
    current_ = streaming_.find([&](const Receiving& one) { return one.sequence == head.sequence; });
    if (current_ == nullptr || current_->room.size() != head.bytes || all % stream_step != 0) {
        current_ = nullptr;
        return break_off("data of another message than this rank took");
    }
    read_ += stream_step;
    return true;
}

// Reads the part of the current message that is there, in one piece.
void Inbox::read_data(size_t length) {
    Receiving& receiving = *current_;
    const size_t bytes = receiving.room.size();
    const size_t place = static_cast<size_t>(read_) & (view_.stream_bytes - 1);
    shm::copy_out(receiving.room.subspan(receiving.moved, length), {view_.stream + place, length},
                  shm::stores_for(bytes, 2));
    receiving.moved += length;
    const bool is_last = receiving.moved == bytes;
    read_ += is_last ? (length + stream_step - 1) / stream_step * stream_step : length;
    view_.ring->read.exchange(read_, std::memory_order_seq_cst);
    theirs_.ring_after_exchange();
    if (!is_last) return;
    current_ = nullptr;
    receiving.deliver(sender_.rank);
    queues_.end(receiving, {}, sender_.rank);
}

void Inbox::fail(const Status& status) {
    current_ = nullptr;
    while (!reading_.empty()) queues_.end(reading_.front(), status);
    while (!streaming_.empty()) queues_.end(streaming_.front(), status);
}

}  // namespace tutti::message
