// The frames of a connection of the transport tcp. No byte lands outside the receives that were
// posted, each transfer ends once, a withdrawn one never, and all end with their group.
// Input: steps of two bytes, an action and its argument; the rest of the input is the stream that
// the other side sends, in the pieces that the steps ask for.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "input.hpp"
#include "support/quiet_world.hpp"
#include "transport/tcp/link.hpp"

namespace {

using namespace tutti;
using namespace tutti::tcp;

constexpr int peer = 1;
constexpr uint32_t group = 0;
constexpr int max_steps = 64;
constexpr std::byte guard{0x5a};
constexpr std::array<size_t, 8> sizes{0, 1, 5, 64, 3000, eager_bytes, eager_bytes + 1, 200'000};

class Ends final : public TransferListener {
public:
    void transfer_done(Transfer&) noexcept override { ++count; }
    int count = 0;
};

// The memory of one message, between guards.
struct Message {
    Message(bool sends, size_t size) : is_send(sends), bytes(size), memory(size + 2, guard) {}
    [[nodiscard]] std::byte* data() { return memory.data() + 1; }
    [[nodiscard]] bool is_guarded() const {
        return memory.front() == guard && memory.back() == guard;
    }
    const bool is_send;
    const size_t bytes;
    std::vector<std::byte> memory;
    const std::shared_ptr<Ends> ends = std::make_shared<Ends>();
    Transfer transfer;  // last: it may use the memory until it is gone
};

// As the pool acts, with one link and one mailbox.
class Owner final : public LinkOwner, public RequestKeeper {
public:
    explicit Owner(int descriptor) : link_(peer, *this) {
        mailbox_.attach(members_);
        link_.adopt(net::Socket(descriptor));
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    void post(Message& message, Slot slot, bool any) {
        Transfer& transfer = message.transfer;
        transfer.listener = message.ends;
        auto made = std::make_unique<Request>(*this, mailbox_, transfer, any ? -1 : peer, slot,
                                              message.data(), message.bytes);
        Request& request = *made;
        mailbox_.enter(request);
        transfer.hold = std::move(made);
        if (mailbox_.is_gone(request.peer)) {
            mailbox_.finish(request, mailbox_.why_gone(request.peer), 0);
        } else if (message.is_send) {
            link_.send(request);
        } else if (Arrival* const arrival = mailbox_.find(request)) {
            arrival->link->take(*arrival, request);
        } else {
            mailbox_.await(request);
        }
        completions_.tell();
    }
    void advance() {
        link_.advance();
        completions_.tell();
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

    Mailbox* mailbox(uint32_t of_group) override { return of_group == group ? &mailbox_ : nullptr; }
    void said_goodbye(int whose, uint32_t of_group) override {
        if (of_group == group) mailbox_.lose(whose);
    }
    void wants_to_send(Link&, bool) override {}
    void closed(Link& link, const std::string&) override { mailbox_.forget(link); }
    void withdraw(Request& request) noexcept override {
        mailbox_.drop(request);
        --mailbox_.requests;
    }
    bool stop(Request& request) noexcept override {
        if (!request.is_pending || request.link == nullptr) return false;
        if (!request.link->take_back(request)) return false;
        request.link = nullptr;
        mailbox_.drop(request);
        return true;
    }

private:
    Membership members_{std::make_shared<test::QuietWorld>(0, 2), group, {0, 1}};
    Completions completions_;
    std::atomic<size_t> unattended_{0};
    Mailbox mailbox_{group, completions_, unattended_};
    Link link_;
};

// The other side.
class Sender {
public:
    Sender(int descriptor, std::span<const std::byte> stream)
        : descriptor_(descriptor), left_(stream) {}
    ~Sender() { ::close(descriptor_); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    void send(size_t bytes) {
        const auto piece = left_.first(std::min(bytes, left_.size()));
        const ssize_t sent =
            ::send(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) left_ = left_.subspan(static_cast<size_t>(sent));
    }
    void read() {
        std::array<std::byte, 65536> room;
        while (::recv(descriptor_, room.data(), room.size(), MSG_DONTWAIT) > 0) {
        }
    }

private:
    const int descriptor_;
    std::span<const std::byte> left_;
};

Slot slot_of(uint8_t argument) {
    const uint64_t which = argument & 3;
    if (which == 3) return Slot::announcement(7);
    return which == 2 ? Slot::payload(1) : Slot::collective(which);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const size_t steps = input.byte() % max_steps;
    const auto script = input.bytes(2 * steps);
    std::array<int, 2> pair{};
    FUZZ_EXPECT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) ==
                0);
    Owner owner(pair[0]);
    Sender sender(pair[1], input.rest());
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<std::unique_ptr<Message>> withdrawn;
    for (size_t step = 0; step + 1 < script.size(); step += 2) {
        const auto argument = std::to_integer<uint8_t>(script[step + 1]);
        const auto chosen = messages.empty() ? nullptr : &messages[argument % messages.size()];
        switch (const auto action = std::to_integer<uint8_t>(script[step]) % 10; action) {
            case 0:
            case 1: {
                messages.push_back(
                    std::make_unique<Message>(action == 1, sizes[argument >> 2 & 7]));
                Message& made = *messages.back();
                made.transfer.may_end_early = (argument & 0x20) != 0;
                made.transfer.is_followed = action == 1 && (argument & 0x40) != 0;
                owner.post(made, slot_of(argument), action == 0 && (argument & 0x80) != 0);
                break;
            }
            case 2:
                if (chosen == nullptr || (*chosen)->transfer.hold == nullptr) break;
                if ((*chosen)->transfer.hold->stop()) {
                    (*chosen)->transfer.hold.reset();
                    FUZZ_EXPECT((*chosen)->ends->count == 0);
                    withdrawn.push_back(std::move(*chosen));
                    messages.erase(messages.begin() + (argument % messages.size()));
                }
                break;
            case 3:
                if (chosen == nullptr || (*chosen)->ends->count > 0) break;
                (*chosen)->transfer.hold.reset();
                withdrawn.push_back(std::move(*chosen));
                messages.erase(messages.begin() + (argument % messages.size()));
                break;
            case 4:
                owner.take_back(slot_of(argument));
                break;
            case 5:
                owner.say_goodbye();
                break;
            case 6:
                sender.read();
                break;
            default:
                sender.send(action == 7 ? argument : size_t{argument} * 512);
                owner.advance();
        }
    }
    sender.send(SIZE_MAX);
    owner.advance();
    sender.read();
    owner.advance();
    owner.end();
    for (const auto& one : messages) {
        FUZZ_EXPECT(one->ends->count == 1 && one->transfer.done && one->is_guarded());
        one->transfer.hold.reset();
    }
    for (const auto& one : withdrawn) FUZZ_EXPECT(one->ends->count == 0 && one->is_guarded());
    return 0;
}
