// Sends over shared memory. The receiver's words are believed as far as they do no harm: at most
// this rank waits until its deadline, or its message counts as received.
#include "outbox.hpp"

#include <algorithm>
#include <cstring>

#include "base/plain.hpp"
#include "memory/copying.hpp"
#include "progress/doorbell.hpp"

namespace tutti::message {

namespace {

constexpr size_t shown_at_once = size_t{32} * 1024;  // shown to the receiver at once
constexpr size_t max_written = size_t{256} * 1024;   // before others have their turn

}  // namespace

bool Outbox::begin() {
    bool moved = false;
    while (!queued_.empty() && offer(queued_.front())) moved = true;
    return moved;
}

bool Outbox::advance() {
    const bool has_offered = begin();
    const bool moved = poll() || has_offered;
    return stream() || moved;
}

bool Outbox::offer(Sending& message) {
    Ring& ring = *view_.ring;
    if (next_ - consumed_ > max_descriptors) {
        consumed_ = ring.consumed.load(std::memory_order_acquire);
        if (next_ - consumed_ > max_descriptors) return false;
    }
    if (free_.empty() && offers_ < max_offers) free_.push_back(offers_++);
    const bool is_given = free_.empty();
    if (is_given && message.call.buffer.size() > eager_bytes) return false;
    message.sequence = next_++;
    if (is_given) {
        message.offer = given;
    } else {
        message.offer = free_.back();
        free_.pop_back();
        state(message).store(state_of(message.sequence, State::Offered), std::memory_order_relaxed);
    }
    const size_t place = message.sequence % max_descriptors;
    Descriptor& descriptor = ring.descriptors[place];
    const ConstView& data = message.call.buffer;
    descriptor.head = {data.count, data.dtype, message.call.content, message.call.tag,
                       message.offer};
    const size_t bytes = data.size();
    if (bytes > Descriptor::most) {
        if (bytes <= eager_bytes) std::memcpy(ring.eager[place], data.data, bytes);
        const Location where{reinterpret_cast<uint64_t>(data.data), shared_.place_of(data.bytes())};
        copy(descriptor.data, wire_bytes(where));
    } else if (bytes > 0) {
        std::memcpy(descriptor.data, data.data, bytes);
    }
    descriptor.sequence.exchange(message.sequence, std::memory_order_seq_cst);
    theirs_.ring_after_exchange();
    if (is_given) {
        queues_.end(message, {});
        return true;
    }
    message.leave_list();
    message.stage = Sending::Stage::Offered;
    offered_.push_back(message);
    return true;
}

// With one offered message its state is enough: nothing else of the receiver changes then.
bool Outbox::poll() {
    if (offered_.empty()) return false;
    if (offered_.has_one()) return poll(offered_.front());
    const uint64_t all = view_.ring->settled.load(std::memory_order_acquire);
    auto left = static_cast<int64_t>(all - settled_);
    bool moved = false;
    if (left > 0) {
        offered_.find([&](Sending& message) {
            if (!poll(message)) return false;
            moved = true;
            return --left == 0;
        });
    }
    return moved;
}

// Whether the receiver has settled it.
bool Outbox::poll(Sending& message) {
    const uint64_t now = state(message).load(std::memory_order_acquire);
    if (now == state_of(message.sequence, State::Offered) ||
        now == state_of(message.sequence, State::BeingRead)) {
        return false;
    }
    ++settled_;
    free_.push_back(message.offer);
    message.leave_list();
    if (now == state_of(message.sequence, State::Wanted)) {
        message.stage = Sending::Stage::Streaming;
        streaming_.push_back(message);
    } else {
        queues_.end(message, {});
    }
    return true;
}

// True if nothing of it has moved, and nothing will.
bool Outbox::take_back(Sending& message) {
    if (message.stage == Sending::Stage::Queued) return true;
    if (message.stage == Sending::Stage::Streaming) return false;
    return take_back(message, State::Offered);
}

// True if that was how it stood.
bool Outbox::take_back(Sending& message, State now) {
    uint64_t expected = state_of(message.sequence, now);
    if (!state(message).compare_exchange_strong(
            expected, state_of(message.sequence, State::Withdrawn), std::memory_order_seq_cst)) {
        return false;
    }
    free_.push_back(message.offer);
    return true;
}

bool Outbox::withdraw(Sending& message, const Status& status) {
    if (!take_back(message)) return false;
    queues_.end(message, status);
    return true;
}

void Outbox::fail(const Status& status) {
    while (!queued_.empty()) queues_.end(queued_.front(), status);
    offered_.find([&](Sending& message) {
        // A receiver that is reading it then gets nothing of worth. Meanwhile the state moves on,
        // if at all, from offered to being read to settled.
        while (!poll(message)) {
            if (!take_back(message, State::Offered) && !take_back(message, State::BeingRead))
                continue;
            queues_.end(message, status);
            break;
        }
        return false;
    });
    while (!streaming_.empty()) queues_.end(streaming_.front(), status);
}

bool Outbox::stream() {
    Ring& ring = *view_.ring;
    const size_t size = view_.stream_bytes;
    size_t turn = 0;
    while (!streaming_.empty() && turn < max_written) {
        Sending& message = streaming_.front();
        const size_t bytes = message.call.buffer.size();
        const uint64_t used = written_ - ring.read.load(std::memory_order_acquire);
        const size_t room = used > size ? 0 : size - static_cast<size_t>(used);
        const size_t place = static_cast<size_t>(written_) & (size - 1);
        size_t length = 0;
        if (!message.has_begun) {
            if (room < stream_step) break;
            const StreamHead head{message.sequence, bytes};
            copy({view_.stream + place, sizeof head}, wire_bytes(head));
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
            shm::copy_in({view_.stream + place, length}, {data + message.moved, length});
        }
        message.moved += length;
        written_ += step;
        turn += step + 1;
        ring.written.exchange(written_, std::memory_order_seq_cst);
        theirs_.ring_after_exchange();
        if (is_last) {
            queues_.end(message, {});
        }
    }
    return turn > 0;
}

}  // namespace tutti::message
