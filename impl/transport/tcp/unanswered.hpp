// The messages that this side has sent or offered, until the other side says what became of them.
// The lock of the pool guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "frame_queue.hpp"
#include "request.hpp"

namespace tutti::tcp {

class Unanswered {
public:
    using Stream = std::pair<uint32_t, uint64_t>;  // group and slot
    struct Message {
        Request* request;  // null: its owner has released it
        bool is_offer;
        Stream stream;
        bool is_asked_for = false;  // This side has asked for its return.

        // Its frame that is still to be sent; null: none.
        [[nodiscard]] Frame* waiting_frame() const {
            return request == nullptr ? nullptr : request->frame;
        }
    };

    // The id by which the other side answers. It is never 0.
    [[nodiscard]] uint32_t next_id();
    void add(uint32_t id, Request& request, bool is_offer);
    // Whether an announcement of the same slot is offered: a Message would overtake its data.
    [[nodiscard]] bool has_offer_before(const Request& send) const;
    // Null: no message with that id waits for an answer.
    [[nodiscard]] Message* find(uint32_t id);
    // The message of that request; null: it has none.
    [[nodiscard]] Message* find(const Request& request);
    // The message is answered. Its request, which has left the link; null: its owner has
    // released it.
    Request* extract(uint32_t id);
    // The Message is answered before all of it has been sent: its request stays in the link.
    void answer_early(uint32_t id);
    // Later answers to it are dropped.
    void forget(const Request& request) noexcept;
    // All requests lose their link.
    void clear() noexcept;

private:
    void remove(std::map<uint32_t, Message>::iterator message);

    using Messages = std::map<uint32_t, Message>;
    static constexpr size_t most_spare = 64;

    Messages messages_;                       // by id
    std::vector<Messages::node_type> spare_;  // for those that follow
    std::map<Stream, size_t> offers_;         // The number in each stream whose order counts.
    uint32_t last_id_ = 0;
};

}  // namespace tutti::tcp
