// The connection to one rank: what is to be sent, and the message that comes in. Frames may be
// pushed before there is a socket. Stripes beside it take parts of long data. The lock of the pool
// guards it; nothing here waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frame.hpp"
#include "frame_queue.hpp"
#include "mailbox.hpp"
#include "net/socket.hpp"
#include "request.hpp"
#include "stripe.hpp"

namespace tutti::tcp {

constexpr const char* closed_by_peer = "the connection was closed";

class Link;

class LinkOwner {
public:
    // The mailbox of the group with that id, which this rank may be about to make; null: it has
    // ended.
    virtual Mailbox* mailbox(uint32_t group) = 0;
    virtual void said_goodbye(int peer, uint32_t group) = 0;
    // What the link waits for on one of its sockets, and waited for before.
    virtual void wants(Link& link, int socket, const Wants& now, const Wants& before) = 0;
    // A socket of a stripe is about to be closed.
    virtual void closes(int socket) = 0;
    virtual void closed(Link& link, const std::string& reason) = 0;

protected:
    ~LinkOwner() = default;
};

class Link final : StripeOwner {
public:
    Link(int peer, LinkOwner& owner) : peer_(peer), owner_(owner) {}
    ~Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    [[nodiscard]] int peer() const { return peer_; }
    [[nodiscard]] int socket() const { return socket_.descriptor(); }
    [[nodiscard]] bool is_open() const { return socket_.valid() && !is_closed_; }
    // There is no connection, and none will be.
    [[nodiscard]] bool is_closed() const { return is_closed_; }
    [[nodiscard]] bool has_output() const;
    [[nodiscard]] std::vector<int> sockets() const;  // with those of its stripes

    void adopt(net::Socket socket);
    // May come before. The socket of the stripe, or -1: there will be none.
    int add_stripe(net::Socket socket, const std::optional<membership::Token>& proof);
    // The one added last is not watched.
    void drop_last_stripe() noexcept;
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
    using Turn = FrameQueue::Turn;
    using Stream = std::pair<uint32_t, uint64_t>;  // group and slot
    struct Untaken {
        Request* request;  // null: its owner let go of it
        bool is_offer;
        Stream stream;
        bool is_asked_for = false;  // to be returned

        // Its frame that is still to be sent; null: none.
        [[nodiscard]] Frame* waiting_frame() const {
            return request == nullptr ? nullptr : request->frame;
        }
    };
    using Untakens = std::map<uint32_t, Untaken>;
    void push(const Head& head, Request* request = nullptr, Turn turn = Turn::BeforeLongData);
    void accept(Request& request, uint32_t id, size_t length);
    void remove(Accepted& accepted);
    void say_taken(uint32_t id);
    void say(Kind kind, uint32_t id, uint32_t group = 0);
    [[nodiscard]] bool must_be_offered(const Request& send) const;
    uint32_t next_id();
    bool ask_back(Request& request) noexcept;
    void forget_untaken(const Request& request) noexcept;
    void owe(uint64_t length);
    void pass(size_t bytes);
    bool keep_rest_of(Request& request) noexcept;
    bool keep_data_of(Divided& of) noexcept;

    bool send_frames();
    bool push_part();
    void push_part(Divided& of);
    Part next_part(Divided& of) const;
    void hear_goodbye(uint32_t group);
    [[nodiscard]] bool has_parts() const;
    [[nodiscard]] bool has_stripes() const;
    [[nodiscard]] size_t max_part() const;
    [[nodiscard]] bool may_be_divided(const Request& send) const;
    [[nodiscard]] bool awaits_parts() const;
    [[nodiscard]] bool comes_in_parts(const uint32_t* group) const;
    [[nodiscard]] bool has_due_goodbye() const;
    void hear_due_goodbyes();
    void wake_for_goodbyes() noexcept;
    [[nodiscard]] bool looks_at_stripes();
    bool receive_on_stripes();
    void judge_stripes();
    void close_stripe(std::unique_ptr<Stripe> stripe) noexcept;
    void close_if_over();
    void tell_wants();
    std::optional<Part> next_part() override;
    void sent(Divided& of) override;
    std::optional<Arriving> begin_part(const Head& head) override;
    void end_part(Accepted& of, size_t bytes) override;

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
    Request* extract(Untakens::iterator message);
    Request* extract_untaken(bool& is_known);
    void end_message();
    void end_arrival(Arrival& arrival);
    void deliver(Arrival& arrival, Request& request);

    // Sent in one call while data are still to come in, so that these are read soon.
    static constexpr size_t max_at_once = size_t{512} * 1024;

    const int peer_;
    LinkOwner& owner_;
    net::Socket socket_;
    bool is_closed_ = false;
    bool has_ended_ = false;  // the other side sends nothing more on the first connection
    Wants told_;

    FrameQueue out_;
    Untakens untaken_;                 // Messages and offers that have ids, by these
    std::map<Stream, size_t> offers_;  // of them, in each stream whose order counts
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
    Accepted* part_of_ = nullptr;   // that comes in on the first connection
    std::list<Accepted> accepted_;  // their data are to come
    KeyedQueues<Accepted, &Accepted::by_id> accepted_by_id_;
    size_t long_accepted_ = 0;        // which may come in parts
    std::list<Divided> divided_;      // their data are to go
    std::vector<uint32_t> goodbyes_;  // of groups for which data are still to come in parts
    std::vector<std::unique_ptr<Stripe>> stripes_;
    std::vector<std::unique_ptr<Stripe>> closed_stripes_;  // one of which may be calling
    int looks_ = 0;                                        // since the stripes were looked at
};

}  // namespace tutti::tcp
