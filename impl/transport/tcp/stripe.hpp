// A further connection to a rank, which carries parts of long data alone. The lock of the pool
// guards it; nothing here waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "accepted_offers.hpp"
#include "divisions.hpp"
#include "frame.hpp"
#include "link_owner.hpp"
#include "membership/protocol.hpp"
#include "net/socket.hpp"

namespace tutti::tcp {

class StripeOwner {
public:
    // The next part to send; nothing: there is none.
    virtual std::optional<Part> next_part() = 0;
    virtual void sent(Divided& of) = 0;
    // Nothing: it is no part.
    virtual std::optional<Arriving> begin_part(const Head& head) = 0;
    virtual void end_part(Accepted& of, size_t bytes) = 0;

protected:
    ~StripeOwner() = default;
};

// The rank that has called sends nothing before the other one has proved itself, then a Credit of
// nothing; the other one sends nothing before that has come. So neither sends where the other has
// given up.
class Stripe {
public:
    // With a proof this side has called.
    Stripe(net::Socket socket, const std::optional<membership::Token>& proof, StripeOwner& owner);

    [[nodiscard]] int socket() const { return socket_.descriptor(); }
    // Parts may be sent.
    [[nodiscard]] bool is_usable() const { return is_proved_ && !has_ended_ && !is_broken(); }
    // It has been, so parts may be lost with it.
    [[nodiscard]] bool is_proved() const { return is_proved_; }
    // The other side sends nothing more on it.
    [[nodiscard]] bool has_ended() const { return has_ended_; }
    [[nodiscard]] bool is_broken() const { return !fault_.empty(); }
    [[nodiscard]] const std::string& fault() const { return fault_; }
    [[nodiscard]] bool has_output() const { return is_sending_ && !is_broken(); }

    // Moves what can be moved, of one part; true if anything was.
    bool send();
    // The same of all that has come.
    bool receive();
    // The data that are being sent have moved.
    void move_data(const Divided& of, const std::byte* from, const std::byte* to);
    // From now on it calls its owner no more.
    void close();
    Wants told;  // to its owner

private:
    bool parse();
    bool take_proof();
    void end();

    net::Socket socket_;
    const std::optional<membership::Token> proof_;
    StripeOwner& owner_;
    bool is_proved_ = false;
    bool has_ended_ = false;
    std::string fault_;  // that broke it

    Part sending_;
    bool is_sending_ = false;
    size_t head_sent_ = 0;

    std::array<std::byte, sizeof(Head)> head_{};  // the proof, or the next head
    size_t head_got_ = 0;
    size_t part_length_ = 0;
    Arriving arriving_;
};

}  // namespace tutti::tcp
