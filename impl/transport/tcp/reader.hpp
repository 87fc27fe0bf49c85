// The bytes that come in on the first connection to a rank: heads, and behind a head the data of
// its message. It knows no meaning of a head. The lock of the pool guards it; nothing here waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include "accepted_offers.hpp"
#include "frame.hpp"
#include "mailbox.hpp"
#include "request.hpp"

namespace tutti::tcp {

// A message from its head until its data have come.
struct Incoming {
    struct Nobody {};  // The data are dropped.
    using Receiver = std::variant<Nobody, Request*, Arrival*, Accepted*>;

    Head head{};
    Receiver receiver{};
    size_t left = 0;

    // The place of the data that come next; null: they are dropped.
    [[nodiscard]] std::byte* into() const;
};

class Reader {
public:
    struct Read {
        size_t bytes = 0;
        bool is_socket_empty = false;  // It had less than there was space for.
        bool has_ended = false;        // The other side sends nothing more.
        int error = 0;                 // of the system; 0: none
    };

    void open() { buffer_ = std::make_unique<Buffer>(); }
    // Reads once: data of the message straight to their place, and the rest into the buffer.
    [[nodiscard]] Read read(int socket);

    // Then, as long as there is a head: a message that has begun is filled from the buffer, and
    // taken when it is whole.
    [[nodiscard]] bool is_inside() const { return message_.has_value(); }
    // True: the message is whole.
    [[nodiscard]] bool fill() {
        if (message_->left > 0) fill_from_buffer(*message_);
        return message_->left == 0;
    }
    Incoming take() {
        const Incoming whole = *message_;
        message_.reset();
        return whole;
    }
    [[nodiscard]] std::optional<Head> next_head() {
        Head head;
        if (end_ - begin_ < sizeof head) return std::nullopt;
        std::memcpy(&head, buffer_->data() + begin_, sizeof head);
        begin_ += sizeof head;
        return head;
    }
    // Data follow the head.
    void begin(const Head& head, Incoming::Receiver receiver = Incoming::Nobody{}) {
        message_ = Incoming{head, receiver, head.length};
    }
    // No whole head is left: makes space for what comes next.
    void compact();

    // Nothing of a message or of a head has come.
    [[nodiscard]] bool is_between_messages() const { return !is_inside() && end_ == 0; }
    [[nodiscard]] bool awaits_data() const { return is_inside() && message_->left > 0; }
    // The receiver of the message that comes in; null: there is none of that type.
    template <typename Receiver>
    [[nodiscard]] Receiver* receiver() const {
        if (!message_) return nullptr;
        Receiver* const* const found = std::get_if<Receiver*>(&message_->receiver);
        return found == nullptr ? nullptr : *found;
    }
    // The rest of the message is dropped.
    void drop_receiver() noexcept { message_->receiver = Incoming::Nobody{}; }
    void drop_message() noexcept { message_.reset(); }

private:
    using Buffer = std::array<std::byte, 4096 + 2 * sizeof(Head)>;

    void fill_from_buffer(Incoming& message);

    std::unique_ptr<Buffer> buffer_;  // The bytes from begin_ to end_ were read ahead.
    size_t begin_ = 0;
    size_t end_ = 0;
    std::optional<Incoming> message_;
};

}  // namespace tutti::tcp
