// The receiving half of a link: it gives each message that comes in to its receive, or keeps it
// until there is one. The lock of the pool guards it; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "accepted_offers.hpp"
#include "frame.hpp"
#include "link_owner.hpp"
#include "mailbox.hpp"
#include "outbound.hpp"
#include "reader.hpp"
#include "request.hpp"

namespace tutti::tcp {

class Inbound {
public:
    // Requests name that link while they are here. Answers go out by `out`.
    Inbound(Link& link, int peer, LinkOwner& owner, Reader& reader, Outbound& out)
        : link_(link), peer_(peer), owner_(owner), reader_(reader), out_(out) {}

    // The heads that come in. False: that one is malformed, or nobody awaits it.
    [[nodiscard]] bool begin_message(const Head& head);
    void begin_offer(const Head& head);
    [[nodiscard]] bool begin_data(const Head& head);
    [[nodiscard]] bool begin_part(const Head& head);
    void take_back(const Head& head);
    [[nodiscard]] bool return_arrival(const Head& head);
    // It counts only when all parts of long data for that group have come.
    void hear_goodbye(uint32_t group);
    // Fills the message that has begun, if one has. False: more of it is to come.
    bool fill_message() {
        if (!reader_.is_inside()) return true;
        if (!reader_.fill()) return false;
        end_message(reader_.take());
        return true;
    }
    // Parts on other connections.
    [[nodiscard]] AcceptedOffers& accepted() { return accepted_; }

    // A message that came before is for that receive.
    void take(Arrival& arrival, Request& request);
    // The same of a tagged message that is whole; its data go there.
    void take_tagged(Arrival& arrival, Mailbox& mailbox, Bytes into);
    // Its sender is done, and its data go nowhere.
    void refuse_tagged(Arrival& arrival, Mailbox& mailbox);
    // Drops that message, and its data that are still to come.
    void abandon(const Arrival& arrival) noexcept;
    // The receive leaves. False: it is not here.
    [[nodiscard]] bool release(Request& request) noexcept;

    [[nodiscard]] bool expects_data() const { return reader_.awaits_data() || !accepted_.empty(); }
    [[nodiscard]] bool holds_goodbyes() const { return !goodbyes_.empty(); }
    [[nodiscard]] bool has_due_goodbye() const { return !goodbyes_.empty() && is_any_due(); }
    void hear_due_goodbyes() {
        while (has_due_goodbye()) hear_next_goodbye();
    }
    // All requests lose their link, and no more data come. Goodbyes are due then.
    void close() noexcept;

private:
    [[nodiscard]] Incoming::Receiver receiver_of(const Head& head);
    void accept(Request& request, uint32_t id, size_t length);
    void end_message(const Incoming& message);
    void end_arrival(Arrival& arrival, uint32_t group);
    void deliver(Arrival& arrival, Request& request);
    [[nodiscard]] bool is_any_due() const;
    void hear_next_goodbye();

    Link& link_;
    const int peer_;
    LinkOwner& owner_;
    Reader& reader_;
    Outbound& out_;
    AcceptedOffers accepted_;
    std::vector<uint32_t> goodbyes_;  // of groups for which data are still to come in parts
};

}  // namespace tutti::tcp
