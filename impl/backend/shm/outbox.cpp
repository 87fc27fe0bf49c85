// What the receiver writes is believed as far as it does no harm: at most this rank waits until its
// deadline, or its message counts as received.
#include "outbox.hpp"

#include <algorithm>
#include <cstring>

#include "pieces.hpp"
#include "waiting.hpp"

namespace tutti::shm {

namespace {

constexpr size_t shown_at_once = size_t{32} * 1024;  // shown to the receiver at once
constexpr size_t most_written = size_t{256} * 1024;  // before others have their turn

}  // namespace

bool Outbox::advance(Ends& ends) {
    bool moved = false;
    while (!queued_.empty() && offer(queued_.front())) moved = true;
    moved |= hear(ends);
    return stream(ends) || moved;
}

bool Outbox::offer(Sending& message) {
    Box& box = *view_.box;
    if (next_ - heard_ > most_letters) {
        heard_ = box.heard.load(std::memory_order_acquire);
        if (next_ - heard_ > most_letters) return false;
    }
    if (free_.empty()) {
        if (offers_ == most_offers) return false;
        free_.push_back(offers_++);
    }
    message.offer = free_.back();
    free_.pop_back();
    message.number = next_++;
    fate(message).store(fate_of(message.number, Fate::Offered), std::memory_order_relaxed);
    const size_t place = message.number % most_letters;
    Letter& letter = box.letters[place];
    const ConstView& data = message.call.buffer;
    letter.head = {data.count, data.dtype, message.call.content, message.call.tag, message.offer};
    const size_t bytes = data.size();
    if (bytes > Letter::most) {
        if (bytes <= eager_bytes) std::memcpy(box.eager[place], data.data, bytes);
        const Whereabouts where{reinterpret_cast<uint64_t>(data.data),
                                shared_.place_of(data.bytes())};
        std::memcpy(letter.data, &where, sizeof where);
    } else if (bytes > 0) {
        std::memcpy(letter.data, data.data, bytes);
    }
    message.leave_list();
    message.stage = Sending::Stage::Offered;
    offered_.push_back(message);
    letter.number.exchange(message.number, std::memory_order_seq_cst);
    ring_after_exchange(theirs_);
    return true;
}

// Who offers one message at a time looks at that alone: nothing else of the receiver's moves then.
bool Outbox::hear(Ends& ends) {
    if (offered_.empty()) return false;
    if (offered_.has_one()) return hear_of(offered_.front(), ends);
    const uint64_t all = view_.box->settled.load(std::memory_order_acquire);
    auto left = static_cast<int64_t>(all - settled_);
    bool moved = false;
    if (left > 0) {
        offered_.find([&](Sending& message) {
            if (!hear_of(message, ends)) return false;
            moved = true;
            return --left == 0;
        });
    }
    return moved;
}

// Whether the receiver has settled it.
bool Outbox::hear_of(Sending& message, Ends& ends) {
    const uint64_t now = fate(message).load(std::memory_order_acquire);
    if (now == fate_of(message.number, Fate::Offered) ||
        now == fate_of(message.number, Fate::BeingRead)) {
        return false;
    }
    ++settled_;
    free_.push_back(message.offer);
    message.leave_list();
    if (now == fate_of(message.number, Fate::Wanted)) {
        message.stage = Sending::Stage::Streaming;
        streaming_.push_back(message);
    } else {
        ends.end(message, {});
    }
    return true;
}

// True if nothing of it has moved, and nothing will.
bool Outbox::take_back(Sending& message) {
    if (message.stage == Sending::Stage::Queued) return true;
    if (message.stage == Sending::Stage::Streaming) return false;
    return take_back(message, Fate::Offered);
}

// True if that was how it stood.
bool Outbox::take_back(Sending& message, Fate now) {
    uint64_t expected = fate_of(message.number, now);
    if (!fate(message).compare_exchange_strong(expected, fate_of(message.number, Fate::Withdrawn),
                                               std::memory_order_seq_cst)) {
        return false;
    }
    free_.push_back(message.offer);
    return true;
}

bool Outbox::withdraw(Sending& message, Ends& ends, const Status& status) {
    if (!take_back(message)) return false;
    message.leave_list();
    ends.end(message, status);
    return true;
}

void Outbox::fail(const Status& status, Ends& ends) {
    while (!queued_.empty()) ends.end(queued_.take_front(), status);
    offered_.find([&](Sending& message) {
        // What is being read is worth nothing to who reads it then. It moves on meanwhile, if at
        // all from offered to being read to settled.
        while (!hear_of(message, ends)) {
            if (!take_back(message, Fate::Offered) && !take_back(message, Fate::BeingRead))
                continue;
            message.leave_list();
            ends.end(message, status);
            break;
        }
        return false;
    });
    while (!streaming_.empty()) ends.end(streaming_.take_front(), status);
}

bool Outbox::stream(Ends& ends) {
    Box& box = *view_.box;
    const size_t size = view_.stream_bytes;
    size_t turn = 0;
    while (!streaming_.empty() && turn < most_written) {
        Sending& message = streaming_.front();
        const size_t bytes = message.call.buffer.size();
        const uint64_t used = written_ - box.read.load(std::memory_order_acquire);
        const size_t room = used > size ? 0 : size - static_cast<size_t>(used);
        const size_t place = static_cast<size_t>(written_) & (size - 1);
        size_t length = 0;
        if (!message.has_begun) {
            if (room < stream_step) break;
            const StreamHead head{message.number, bytes};
            std::memcpy(view_.stream + place, &head, sizeof head);
            message.has_begun = true;
            written_ += stream_step;
            continue;  // the first data go with it
        }
        length = std::min({bytes - message.moved, room, size - place, shown_at_once});
        const bool is_last = message.moved + length == bytes;
        const size_t step = is_last ? (length + stream_step - 1) / stream_step * stream_step
                                    : length / stream_step * stream_step;
        if (step == 0 && !is_last) break;
        if (!is_last) length = step;
        if (length > 0) {
            const auto* const data = static_cast<const std::byte*>(message.call.buffer.data);
            copy_in({view_.stream + place, length}, {data + message.moved, length});
        }
        message.moved += length;
        written_ += step;
        turn += step + 1;
        box.written.exchange(written_, std::memory_order_seq_cst);
        ring_after_exchange(theirs_);
        if (is_last) {
            message.leave_list();
            ends.end(message, {});
        }
    }
    return turn > 0;
}

}  // namespace tutti::shm
