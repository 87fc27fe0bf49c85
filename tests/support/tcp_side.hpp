// One side of a connection of the transport tcp: a link and the mailbox of one group, with which it
// does what the pool does.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quiet_world.hpp"
#include "transport/tcp/link.hpp"

namespace tutti::test {

// The memory of one message, between guards, and how often its end was told.
struct TcpMessage {
    static constexpr std::byte guard{0x5a};

    TcpMessage(bool sends, size_t size) : is_send(sends), bytes(size), memory(size + 2, guard) {}
    [[nodiscard]] std::byte* data() { return memory.data() + 1; }
    [[nodiscard]] bool is_guarded() const {
        return memory.front() == guard && memory.back() == guard;
    }
    [[nodiscard]] int ends() const { return told->count; }

    struct Told final : TransferListener {
        void transfer_done(Transfer&) noexcept override { ++count; }
        int count = 0;
    };

    const bool is_send;
    const size_t bytes;
    std::vector<std::byte> memory;
    const std::shared_ptr<Told> told = std::make_shared<Told>();
    Transfer transfer;  // last: it may use the memory until it is gone
};

class TcpSide final : public tcp::LinkOwner, public tcp::RequestKeeper {
public:
    static constexpr uint32_t group = 0;

    // The side of that rank of two.
    TcpSide(int rank, int descriptor)
        : members_(std::make_shared<QuietWorld>(rank, 2), group, {0, 1}), link_(1 - rank, *this) {
        mailbox_.attach(members_);
        link_.adopt(net::Socket(descriptor));
    }
    TcpSide(const TcpSide&) = delete;
    TcpSide& operator=(const TcpSide&) = delete;

    [[nodiscard]] tcp::Link& link() { return link_; }
    void post(TcpMessage& message, Slot slot, bool any = false) {
        Transfer& transfer = message.transfer;
        transfer.listener = message.told;
        auto made =
            std::make_unique<tcp::Request>(*this, mailbox_, transfer, any ? -1 : link_.peer(), slot,
                                           message.data(), message.bytes);
        tcp::Request& request = *made;
        mailbox_.enter(request);
        transfer.hold = std::move(made);
        if (mailbox_.is_gone(request.peer)) {
            mailbox_.finish(request, mailbox_.why_gone(request.peer), 0);
        } else if (message.is_send) {
            link_.send(request);
        } else if (tcp::Arrival* const arrival = mailbox_.find(request)) {
            arrival->link->take(*arrival, request);
        } else {
            mailbox_.await(request);
        }
        completions_.tell();
    }
    bool advance() {
        const bool has_moved = link_.advance();
        completions_.tell();
        return has_moved;
    }
    void take_back(Slot slot) {
        link_.take_back_sent(group, slot);
        completions_.tell();
    }
    void say_goodbye() {
        link_.say_goodbye(group);
        completions_.tell();
    }
    void end() {
        mailbox_.finish_all({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        completions_.tell(true);
    }

    tcp::Mailbox* mailbox(uint32_t of_group) override {
        return of_group == group ? &mailbox_ : nullptr;
    }
    void said_goodbye(int whose, uint32_t of_group) override {
        if (of_group == group) mailbox_.lose(whose);
    }
    void wants(tcp::Link&, int socket, const tcp::Wants& now, const tcp::Wants&) override {
        wanted[socket] = now;
    }
    void closes(int) override {}
    void closed(tcp::Link& link, const std::string& reason) override {
        mailbox_.forget(link);
        why_closed = reason;
    }
    void withdraw(tcp::Request& request) noexcept override {
        mailbox_.drop(request);
        --mailbox_.requests;
    }
    bool stop(tcp::Request& request) noexcept override {
        if (!request.is_pending || request.link == nullptr) return false;
        if (!request.link->take_back(request)) return false;
        request.link = nullptr;
        mailbox_.drop(request);
        return true;
    }

    std::string why_closed;
    std::map<int, tcp::Wants> wanted;  // by socket

private:
    Membership members_;
    tcp::Completions completions_;
    std::atomic<size_t> unattended_{0};
    tcp::News news_;
    tcp::Mailbox mailbox_{group, completions_, news_, unattended_};
    tcp::Link link_;
};

}  // namespace tutti::test
