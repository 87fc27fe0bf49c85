// The connection to one rank: what is to be sent, and the message that comes in. Frames may be
// pushed before there is a socket. The lock of the pool guards it; nothing here waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "frame.hpp"
#include "mailbox.hpp"
#include "net/socket.hpp"
#include "request.hpp"

namespace tutti::tcp {

class Link;

class LinkOwner {
public:
    // The mailbox of the group with that id, which this rank may be about to make; null: it has
    // ended.
    virtual Mailbox* mailbox(uint32_t group) = 0;
    virtual void said_goodbye(int peer, uint32_t group) = 0;
    // Whether the link has something to send that waits for its socket.
    virtual void wants_to_send(Link& link, bool wants) = 0;
    virtual void closed(Link& link, const std::string& reason) = 0;

protected:
    ~LinkOwner() = default;
};

class Link {
public:
    Link(int peer, LinkOwner& owner) : peer_(peer), owner_(owner) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    [[nodiscard]] int peer() const { return peer_; }
    [[nodiscard]] int socket() const { return socket_.descriptor(); }
    [[nodiscard]] bool is_open() const { return socket_.valid() && !is_closed_; }
    // There is no connection, and none will be.
    [[nodiscard]] bool is_closed() const { return is_closed_; }
    [[nodiscard]] bool has_output() const { return !out_.empty(); }

    void adopt(net::Socket socket);
    // Moves what can be moved, both ways; true if anything was.
    bool advance() noexcept;
    bool flush() noexcept;
    void close(const std::string& reason) noexcept;  // "": it is not the other side's fault

    void send(Request& request);
    void say_goodbye(uint32_t group);
    void take_back_sent(uint32_t group, Slot slot);
    // A message that came before is for that receive.
    void take(Arrival& arrival, Request& request);
    // Drops that message, and its data that are still to come.
    void abandon(const Arrival& arrival) noexcept;
    // The link lets go of the request. If a send has not begun, the receiver gets an empty message;
    // if it has, the rest goes from a copy.
    void release(Request& request) noexcept;
    // For a send: only if it has not begun.
    bool take_back(Request& request) noexcept;

private:
    struct Outgoing {
        Head head;
        size_t head_sent = 0;
        std::span<const std::byte> data{};  // the rest
        Request* request = nullptr;
        std::unique_ptr<std::byte[]> copy{};
        bool is_taken = false;  // the other side has said so

        [[nodiscard]] bool head_has_gone() const { return head_sent == sizeof head; }
        [[nodiscard]] size_t left() const { return sizeof head - head_sent + data.size(); }
        void pass(size_t bytes);
        void empty();
    };
    struct Untaken {
        Request* request;  // null: its owner let go of it
        bool is_offer;
        bool is_asked_for = false;  // to be returned
    };
    using Untakens = std::map<uint32_t, Untaken>;
    struct Accepted {
        uint32_t id;
        size_t length;
        Request* request;  // null: it was withdrawn
    };

    void push(const Head& head, Request* request = nullptr);
    void accept(Request& request, uint32_t id, size_t length);
    void say_taken(uint32_t id);
    void say(Kind kind, uint32_t id, uint32_t group = 0);
    uint32_t next_id();
    bool ask_back(Request& request) noexcept;
    void forget_untaken(const Request& request) noexcept;
    void owe(uint64_t length);
    void pass(size_t bytes);
    bool keep_rest_of(Request& request) noexcept;

    bool receive();
    [[nodiscard]] size_t read_some();
    void parse();
    bool begin_message();
    bool begin_eager();
    bool begin_offer();
    bool empty_arrivals();
    bool begin_data();
    bool accepted();
    bool taken();
    bool return_arrival();
    bool returned();
    Outgoing* waiting_frame(const Untaken& message);
    Request* extract(Untakens::iterator message);
    Request* extract_untaken(bool& is_known);
    void end_message();
    void end_arrival(Arrival& arrival);
    void deliver(const Arrival& arrival, Request& request);

    // Sent in one call while data are still to come in, so that these are read soon.
    static constexpr size_t max_at_once = size_t{512} * 1024;

    const int peer_;
    LinkOwner& owner_;
    net::Socket socket_;
    bool is_closed_ = false;
    bool wants_to_send_ = false;

    std::deque<Outgoing> out_;
    Untakens untaken_;  // Messages and offers that have ids, by these
    uint32_t last_id_ = 0;
    uint32_t window_ = window_bytes;  // what may be sent in Messages
    uint32_t owed_ = 0;               // credit not yet told to the other side

    static constexpr size_t buffer_bytes = 4096 + 2 * sizeof(Head);
    std::unique_ptr<std::array<std::byte, buffer_bytes>> buffer_;  // what was read ahead
    size_t begin_ = 0;
    size_t end_ = 0;
    bool is_inside_ = false;     // a message
    Head head_{};                // of that
    std::byte* into_ = nullptr;  // where the rest of its data goes; null: nowhere
    size_t left_ = 0;
    Request* receiver_ = nullptr;
    Arrival* arrival_ = nullptr;
    std::deque<Accepted> accepted_;  // in the order in which their data come
};

}  // namespace tutti::tcp
