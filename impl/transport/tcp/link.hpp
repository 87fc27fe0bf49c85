// The connection to one rank: its sockets, its end, and the order in which its halves move. Frames
// may be pushed before there is a socket. Stripes beside it take parts of long data. The lock of
// the pool guards it; nothing here waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "credit.hpp"
#include "inbound.hpp"
#include "link_owner.hpp"
#include "mailbox.hpp"
#include "net/socket.hpp"
#include "outbound.hpp"
#include "reader.hpp"
#include "request.hpp"
#include "stripes.hpp"

namespace tutti::tcp {

class Link final : StripeOwner {
public:
    Link(int peer, LinkOwner& owner);
    ~Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    [[nodiscard]] int peer() const { return peer_; }
    [[nodiscard]] int socket() const { return socket_.descriptor(); }
    [[nodiscard]] bool is_open() const { return socket_.valid() && !is_closed(); }
    // There is no connection, and none will be.
    [[nodiscard]] bool is_closed() const { return out_.is_closed(); }
    [[nodiscard]] bool has_output() const { return out_.has_output(); }
    [[nodiscard]] std::vector<int> sockets() const;  // with those of its stripes

    void adopt(net::Socket socket);
    // May come before. The socket of the stripe, or -1: there will be none.
    int add_stripe(net::Socket socket, const std::optional<membership::Token>& proof);
    // The one added last is not watched.
    void drop_last_stripe() noexcept { stripes_.drop_last(); }
    // Moves what can be moved, both ways; true if anything was.
    bool advance() noexcept;
    bool flush() noexcept;
    void close(const std::string& reason) noexcept;  // "": it is not the other side's fault

    void send(Request& request);
    void say_goodbye(uint32_t group);
    void take_back_sent(uint32_t group, Slot slot);
    // A message that came before is for that receive.
    void take(Arrival& arrival, Request& request);
    // The same of tagged ones that are whole; what goes out waits for flush().
    void accept(Arrival& arrival, Request& request) { in_.take(arrival, request); }
    void take_tagged(Arrival& arrival, Mailbox& mailbox, Bytes into) {
        in_.take_tagged(arrival, mailbox, into);
    }
    void refuse_tagged(Arrival& arrival, Mailbox& mailbox) { in_.refuse_tagged(arrival, mailbox); }
    // Drops that message, and its data that are still to come.
    void abandon(const Arrival& arrival) noexcept { in_.abandon(arrival); }
    // The request leaves the link. If a send has not begun, the receiver gets an empty message;
    // if it has, the rest goes from a copy.
    void release(Request& request) noexcept;
    // For a send: only if it has not begun.
    bool take_back(Request& request) noexcept;
    bool waits_for_flush = false;  // the owner's

private:
    bool send_frames();
    bool receive();
    void parse();
    [[nodiscard]] bool take_head(const Head& head);
    bool receive_on_stripes();
    void close_if_over();
    void tell_wants();

    // For the stripes.
    std::optional<Part> next_part() override { return out_.next_part(); }
    void sent(Divided& of) override { out_.sent(of); }
    std::optional<Arriving> begin_part(const Head& head) override;
    void end_part(Accepted& of, size_t bytes) override;

    const int peer_;
    LinkOwner& owner_;
    net::Socket socket_;
    bool has_ended_ = false;  // the other side sends nothing more on the first connection
    Wants told_;
    Credit credit_;
    Stripes stripes_;
    Reader reader_;
    Outbound out_;
    Inbound in_;
};

}  // namespace tutti::tcp
