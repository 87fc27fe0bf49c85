// Receives that wait for a message, and messages that wait for a receive, by slot and peer. Each
// step takes the same time however many there are, and allocates nothing (keyed_queues.hpp). A
// message goes to the first receive that fits, in their turns; a receive gets the first message
// that fits, in the order in which they came. Under one lock.
#pragma once

#include <cstdint>

#include "keyed_queues.hpp"

namespace tutti {

// A Receive has
//     uint64_t turn;                     before all later ones; set by its owner
//     QueuePlace<Receive> waiting;
// and a Message, which may be of the same type,
//     QueuePlace<Message> in_stream;     of its slot and peer
//     QueuePlace<Message> in_slot;       of its slot, from any peer
template <typename Receive, typename Message>
class MatchTable {
    using Receives = KeyedQueues<Receive, &Receive::waiting>;
    using Streams = KeyedQueues<Message, &Message::in_stream>;
    using Slots = KeyedQueues<Message, &Message::in_slot>;

public:
    static constexpr int any_peer = -1;

    // In its turn; from that peer, or from any.
    void add_receive(Receive& receive, uint64_t slot, int peer) noexcept {
        const QueueKey key{slot, peer};
        const Receive* const last = receives_.last(key);
        if (last == nullptr || last->turn < receive.turn) return receives_.push_back(receive, key);
        Receive* next = receives_.first(key);
        while (next->turn < receive.turn) next = Receives::after(*next);
        receives_.insert_before(receive, *next);
    }
    void remove_receive(Receive& receive) noexcept { receives_.remove(receive); }
    [[nodiscard]] static bool waits(const Receive& receive) { return Receives::holds(receive); }
    // The first of that slot and peer, or any; not those from any for a message of a peer.
    [[nodiscard]] Receive* first_receive(uint64_t slot, int peer) const {
        return receives_.first({slot, peer});
    }
    // The first for such a message; it stays. Null: there is none.
    [[nodiscard]] Receive* receive_for(uint64_t slot, int peer) const {
        Receive* const named = receives_.first({slot, peer});
        Receive* const from_any = receives_.first({slot, any_peer});
        if (named == nullptr || from_any == nullptr) return named == nullptr ? from_any : named;
        return named->turn < from_any->turn ? named : from_any;
    }

    // Behind all earlier ones.
    void add_message(Message& message, uint64_t slot, int peer) noexcept {
        add_message_for_peer(message, slot, peer);
        slots_.push_back(message, {slot, any_peer});
    }
    // The same, but receives from any do not get it.
    void add_message_for_peer(Message& message, uint64_t slot, int peer) noexcept {
        streams_.push_back(message, {slot, peer});
    }
    void remove_message(Message& message) noexcept {
        streams_.remove(message);
        slots_.remove(message);
    }
    // The first for such a receive; it stays. Null: there is none.
    [[nodiscard]] Message* message_for(uint64_t slot, int peer) const {
        return peer == any_peer ? slots_.first({slot, any_peer}) : streams_.first({slot, peer});
    }
    // The next one of its slot and peer.
    [[nodiscard]] static Message* after(const Message& message) { return Streams::after(message); }

private:
    Receives receives_;
    Streams streams_;
    Slots slots_;
};

}  // namespace tutti
