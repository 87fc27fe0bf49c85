// The frames of a connection of the transport tcp. No byte lands outside the receives that were
// posted, each transfer ends once, a withdrawn one never, and all end with their group.
// Input: steps of two bytes, an action and its argument; the rest of the input is the stream that
// the other side sends, in the pieces that the steps ask for. A stripe brings parts of what that
// has offered.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <vector>

#include "input.hpp"
#include "support/tcp_side.hpp"

namespace {

using namespace tutti;
using namespace tutti::tcp;

using test::TcpMessage;

constexpr int max_steps = 64;
constexpr std::array<size_t, 8> sizes{
    0, 1, 5, 3000, eager_bytes, eager_bytes + 1, 200'000, divided_bytes + 1};
constexpr size_t part = 70'000;  // of what comes on a stripe

// The other side.
class Sender {
public:
    explicit Sender(int descriptor, std::span<const std::byte> stream = {})
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
    // So much of these, behind what is left of those before.
    void send(const std::vector<std::byte>& more, size_t bytes) {
        own_.erase(own_.begin(), own_.end() - static_cast<std::ptrdiff_t>(left_.size()));
        own_.insert(own_.end(), more.begin(), more.end());
        left_ = own_;
        send(bytes);
    }
    void read() {
        std::array<std::byte, 65536> room;
        while (::recv(descriptor_, room.data(), room.size(), MSG_DONTWAIT) > 0) {
        }
    }

private:
    const int descriptor_;
    std::vector<std::byte> own_;
    std::span<const std::byte> left_;
};

std::array<int, 2> pair() {
    std::array<int, 2> made{};
    FUZZ_EXPECT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made.data()) ==
                0);
    return made;
}

// A part of the data of the first offers, mostly within them.
std::vector<std::byte> part_of(uint8_t argument) {
    Head head{};
    head.kind = Kind::Part;
    head.id = argument & 7U;
    head.slot = (argument >> 3U & 7U) * part;
    head.length = (argument & 0x40U) != 0 ? 3000 : part;
    const auto bytes = std::as_bytes(std::span(&head, 1));
    std::vector<std::byte> all(bytes.begin(), bytes.end());
    all.resize(all.size() + head.length);
    return all;
}

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
    const auto first = pair();
    const auto second = pair();
    test::TcpSide side(0, first[0]);
    side.link().add_stripe(net::Socket(second[0]), std::nullopt);
    Sender sender(first[1], input.rest());
    auto stripe = std::make_unique<Sender>(second[1]);
    Head hello{};
    hello.kind = Kind::Credit;
    const auto word = std::as_bytes(std::span(&hello, 1));
    stripe->send(std::vector<std::byte>(word.begin(), word.end()), SIZE_MAX);
    std::vector<std::unique_ptr<TcpMessage>> messages;
    std::vector<std::unique_ptr<TcpMessage>> withdrawn;
    for (size_t step = 0; step + 1 < script.size(); step += 2) {
        const auto argument = std::to_integer<uint8_t>(script[step + 1]);
        const auto chosen = messages.empty() ? nullptr : &messages[argument % messages.size()];
        switch (const auto action = std::to_integer<uint8_t>(script[step]) % 12; action) {
            case 0:
            case 1: {
                messages.push_back(
                    std::make_unique<TcpMessage>(action == 1, sizes[argument >> 2 & 7]));
                TcpMessage& made = *messages.back();
                made.transfer.may_end_early = (argument & 0x20) != 0;
                made.transfer.is_followed = action == 1 && (argument & 0x40) != 0;
                side.post(made, slot_of(argument), action == 0 && (argument & 0x80) != 0);
                break;
            }
            case 2:
                if (chosen == nullptr || (*chosen)->transfer.hold == nullptr) break;
                if ((*chosen)->transfer.hold->stop()) {
                    (*chosen)->transfer.hold.reset();
                    FUZZ_EXPECT((*chosen)->ends() == 0);
                    withdrawn.push_back(std::move(*chosen));
                    messages.erase(messages.begin() + (argument % messages.size()));
                }
                break;
            case 3:
                if (chosen == nullptr || (*chosen)->ends() > 0) break;
                (*chosen)->transfer.hold.reset();
                withdrawn.push_back(std::move(*chosen));
                messages.erase(messages.begin() + (argument % messages.size()));
                break;
            case 4:
                side.take_back(slot_of(argument));
                break;
            case 5:
                side.say_goodbye();
                break;
            case 6:
                sender.read();
                break;
            case 7:
                if (!stripe) break;
                stripe->send(part_of(argument), (argument & 0x80) != 0 ? SIZE_MAX : 3000);
                side.advance();
                break;
            case 8:
                if (argument == 0) stripe.reset();
                if (stripe) stripe->read();
                side.advance();
                break;
            default:
                sender.send(action == 9 ? argument : size_t{argument} * 512);
                side.advance();
        }
    }
    sender.send(SIZE_MAX);
    side.advance();
    sender.read();
    side.advance();
    side.end();
    for (const auto& one : messages) {
        FUZZ_EXPECT(one->ends() == 1 && one->transfer.done && one->is_guarded());
        one->transfer.hold.reset();
    }
    for (const auto& one : withdrawn) FUZZ_EXPECT(one->ends() == 0 && one->is_guarded());
    return 0;
}
