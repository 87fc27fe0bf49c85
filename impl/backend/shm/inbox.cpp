// Nothing that the sender writes is believed: a letter and the head of data are copied once, and
// then looked at. What is wrong ends what comes from there, and touches nothing.
#include "inbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "base/error.hpp"
#include "pieces.hpp"
#include "reduce/reduce.hpp"
#include "segment.hpp"
#include "table.hpp"
#include "waiting.hpp"

namespace tutti::shm {

namespace {

constexpr size_t most_read = size_t{256} * 1024;    // before others have their turn
constexpr size_t read_at_once = size_t{32} * 1024;  // of the stream at a time
constexpr size_t read_there_at_once = size_t{512} * 1024;
constexpr size_t most_kept = size_t{4} * 1024 * 1024;  // data of messages that came early

// Of data that came with the letter; nothing if they did not.
std::optional<size_t> eager_size(const Letter::Head& head) {
    if (head.count < 0 || head.count > static_cast<int64_t>(eager_bytes)) return std::nullopt;
    const size_t size = static_cast<size_t>(head.count) * element_size(head.dtype);
    return size <= eager_bytes ? std::optional(size) : std::nullopt;
}

}  // namespace

bool Inbox::advance(Matching& matching, Ends& ends) {
    if (!broken_.ok()) return false;
    const bool heard = hear(matching, ends);
    const bool read_some = read_there(ends);
    return read(ends) || heard || read_some;
}

bool Inbox::break_off(const char* what) {
    broken_ = {TUTTI_ERR_INTERNAL, sender_.rank, 0, cat("rank ", sender_.rank, " wrote ", what)};
    return false;
}

bool Inbox::hear(Matching& matching, Ends& ends) {
    Box& box = *view_.box;
    bool moved = false;
    while (matching.wants(sender_.rank)) {
        const size_t place = next_ % most_letters;
        const Letter& letter = box.letters[place];
        if (letter.number.load(std::memory_order_acquire) != next_) break;
        Offer offer{next_, {}, nullptr, {}};
        std::memcpy(&offer.where, letter.data, sizeof offer.where);
        std::memcpy(&offer.head, &letter.head, sizeof offer.head);
        if (offer.head.offer >= most_offers || offer.head.tag < 0) {
            return break_off("a letter that no message has");
        }
        if (const auto size = eager_size(offer.head); size && *size > 0) {
            offer.data = *size <= Letter::most ? letter.data : box.eager[place];
        }
        if (!deliver(offer, matching, ends)) break;
        moved = true;
        give_back(next_++);
    }
    return moved;
}

// Who sleeps for room has filled all of it, so it is enough to wake it now and then.
void Inbox::give_back(uint64_t letter) {
    if (letter % (most_letters / 4) != 0) {
        view_.box->heard.store(letter, std::memory_order_release);
        return;
    }
    view_.box->heard.exchange(letter, std::memory_order_seq_cst);
    ring_after_exchange(theirs_);
}

// False: not now.
bool Inbox::deliver(const Offer& offer, Matching& matching, Ends& ends) {
    if (Receiving* const receiving = matching.find_receiving(sender_.rank, offer.head.tag)) {
        take(*receiving, offer, &matching, ends);
        return true;
    }
    if (matching.arrivals_from(sender_.rank) >= purge_at_) {
        matching.drop_arrivals([this](const Arrival& arrival) {
            return arrival.source == sender_.rank && !is_offered(arrival);
        });
        const size_t still = matching.arrivals_from(sender_.rank);
        if (still > most_offers) return break_off("more letters than it has messages");
        purge_at_ = std::max<size_t>(64, 2 * still);
    }
    try {
        keep(offer, matching);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void Inbox::keep(const Offer& offer, Matching& matching) {
    auto arrival = std::make_unique<Arrival>();
    arrival->source = sender_.rank;
    arrival->number = offer.number;
    arrival->head = offer.head;
    arrival->where = offer.where;
    const size_t size = offer.data == nullptr ? 0 : *eager_size(offer.head);
    if (size > 0 && matching.kept() + size <= most_kept) {
        arrival->data = std::make_unique_for_overwrite<std::byte[]>(size);
        arrival->kept = size;
        std::memcpy(arrival->data.get(), offer.data, size);
    }
    matching.add(std::move(arrival));
}

bool Inbox::take(Receiving& receiving, const Arrival& arrival, Ends& ends) {
    const Offer offer{arrival.number, arrival.head, arrival.data.get(), arrival.where};
    return take(receiving, offer, nullptr, ends);
}

// `matching`: the receive waits in it.
bool Inbox::take(Receiving& receiving, const Offer& offer, Matching* matching, Ends& ends) {
    const Letter::Head& head = offer.head;
    const Status status = receiving.make_room(head.content, head.count, head.dtype, sender_.rank);
    const std::span<std::byte> room = receiving.room;
    const bool is_all_here = !status.ok() || room.empty() || offer.data != nullptr;
    const bool is_there = !is_all_here && is_read_there(offer.where, room.size());
    const Fate fate = is_all_here ? Fate::Taken : is_there ? Fate::BeingRead : Fate::Wanted;
    if (!settle(offer.number, head.offer, Fate::Offered, fate)) return false;
    if (matching != nullptr) matching->remove(receiving);
    if (!is_all_here) {
        receiving.number = offer.number;
        receiving.offer = head.offer;
        receiving.where = offer.where;
        (is_there ? reading_ : streaming_).push_back(receiving);
        return true;
    }
    if (status.ok()) {
        if (!room.empty()) std::memcpy(room.data(), offer.data, room.size());
        receiving.deliver(sender_.rank);
    }
    ends.end(receiving, status, status.ok() ? sender_.rank : -1);
    return true;
}

bool Inbox::is_read_there(const Whereabouts& where, size_t bytes) const {
    if (sender_.way == Way::Staged) return false;
    if (sees(where, bytes)) return true;
    if (sender_.process == 0) return false;
    return sender_.way == Way::Direct || way_for(Op::Message, 2, bytes) == Way::Direct;
}

bool Inbox::sees(const Whereabouts& where, size_t bytes) const {
    return where.place != 0 && shared_.find(sender_.rank, where.place).size() >= bytes;
}

// False: the system does not let this rank.
bool Inbox::read_some(const Receiving& receiving, size_t length) const {
    const Bytes room = receiving.room;
    const Bytes into = room.subspan(receiving.moved, length);
    if (!sees(receiving.where, room.size())) {
        return sender_.process != 0 &&
               read_memory(sender_.process, receiving.where.address + receiving.moved, into);
    }
    const ConstBytes data = shared_.find(sender_.rank, receiving.where.place);
    copy_data(into, data.subspan(receiving.moved, length), stores_for(room.size(), 2));
    return true;
}

// False: the sender has taken it back.
bool Inbox::settle(uint64_t number, uint32_t offer, Fate from, Fate to) {
    Box& box = *view_.box;
    uint64_t expected = fate_of(number, from);
    if (!box.offers[offer].compare_exchange_strong(expected, fate_of(number, to),
                                                   std::memory_order_seq_cst)) {
        return false;
    }
    if (to == Fate::BeingRead) return true;  // nothing for the sender to do
    box.settled.exchange(++settled_, std::memory_order_seq_cst);
    ring_after_exchange(theirs_);
    return true;
}

// One message after the other, a piece at a time.
bool Inbox::read_there(Ends& ends) {
    if (reading_.empty()) return false;
    Receiving& receiving = reading_.front();
    const size_t length = std::min(receiving.room.size() - receiving.moved, read_there_at_once);
    const bool is_read = read_some(receiving, length);
    if (is_read) receiving.moved += length;
    if (!is_read || receiving.moved == receiving.room.size()) {
        end_reading(receiving, is_read, ends);
    }
    return true;
}

// What could not be read comes in the stream. If the sender gave it up meanwhile, nothing does, and
// the receive ends for the same reason as the sender.
void Inbox::end_reading(Receiving& receiving, bool has_all, Ends& ends) {
    receiving.leave_list();
    const bool is_mine = settle(receiving.number, receiving.offer, Fate::BeingRead,
                                has_all ? Fate::Taken : Fate::Wanted);
    if (!is_mine || !has_all) {
        receiving.moved = 0;
        streaming_.push_back(receiving);
        return;
    }
    receiving.deliver(sender_.rank);
    ends.end(receiving, {}, sender_.rank);
}

bool Inbox::read(Ends& ends) {
    size_t turn = 0;
    while (!streaming_.empty() && turn < most_read) {
        const uint64_t all = view_.box->written.load(std::memory_order_acquire) - read_;
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
        read_data(length, ends);
        turn += length;
    }
    return turn > 0;
}

bool Inbox::read_head(uint64_t all) {
    StreamHead head{};
    const size_t place = static_cast<size_t>(read_) & (view_.stream_bytes - 1);
    std::memcpy(&head, view_.stream + place, sizeof head);
    current_ = streaming_.find([&](const Receiving& one) { return one.number == head.number; });
    if (current_ == nullptr || current_->room.size() != head.bytes || all % stream_step != 0) {
        current_ = nullptr;
        return break_off("data of another message than this rank took");
    }
    read_ += stream_step;
    return true;
}

// What is there of the current message, in one piece.
void Inbox::read_data(size_t length, Ends& ends) {
    Receiving& receiving = *current_;
    const size_t bytes = receiving.room.size();
    const size_t place = static_cast<size_t>(read_) & (view_.stream_bytes - 1);
    copy_out(receiving.room.subspan(receiving.moved, length), {view_.stream + place, length},
             stores_for(bytes, 2));
    receiving.moved += length;
    const bool is_last = receiving.moved == bytes;
    read_ += is_last ? (length + stream_step - 1) / stream_step * stream_step : length;
    view_.box->read.exchange(read_, std::memory_order_seq_cst);
    ring_after_exchange(theirs_);
    if (!is_last) return;
    current_ = nullptr;
    receiving.leave_list();
    receiving.deliver(sender_.rank);
    ends.end(receiving, {}, sender_.rank);
}

void Inbox::fail(const Status& status, Ends& ends) {
    current_ = nullptr;
    while (!reading_.empty()) ends.end(reading_.take_front(), status);
    while (!streaming_.empty()) ends.end(streaming_.take_front(), status);
}

}  // namespace tutti::shm
