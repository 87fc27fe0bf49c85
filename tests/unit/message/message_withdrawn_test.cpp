// Gloo alone: what becomes of a message whose sender gives it up when half of it has left?
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>

#include "unit/transport/ranks.hpp"

namespace tutti {
namespace {

using test::ample;

constexpr size_t whole = 64 << 20;  // more than the kernel holds between two sockets

class Listener : public TransferListener {
public:
    void transfer_done(Transfer& /*transfer*/) noexcept override { done_.set_value(); }
    void wait() {
        const auto ended = done_.get_future().wait_for(std::chrono::minutes(1));
        test::require(ended == std::future_status::ready, "a message did not end");
    }

private:
    std::promise<void> done_;
};

// Keeps the thread that it is called on.
class Holder : public TransferListener {
public:
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        entered.set_value();
        leave.get_future().wait();
    }
    std::promise<void> entered;
    std::promise<void> leave;
};

// A byte from one to the other: all that went before it has been read.
void pass_byte(Channel& from, Channel& to, uint64_t slot) {
    char sent = 'x';
    char received = ' ';
    Transfer out;
    Transfer in;
    const auto left = std::make_shared<Listener>();
    const auto came = std::make_shared<Listener>();
    out.listener = left;
    in.listener = came;
    to.post_receive(in, from.rank(), Slot::collective(slot), &received, 1);
    from.post_send(out, to.rank(), Slot::collective(slot), &sent, 1);
    left->wait();
    came->wait();
    assert_int_equal(in.status.code, TUTTI_OK);
    assert_int_equal(received, 'x');
}

std::byte pattern(size_t index) {
    return static_cast<std::byte>(index * 31 % 251);
}

void a_message_withdrawn_half_way_arrives_whole(void** /*state*/) {
    test::ChannelWorld world(2);
    Channel& sender = world[0];
    Channel& receiver = world[1];
    std::vector<std::byte> target(whole);
    Transfer in;
    const auto came = std::make_shared<Listener>();
    in.listener = came;
    receiver.post_receive(in, 0, Slot::collective(1), target.data(), whole);
    pass_byte(receiver, sender, 2);  // the sender knows that it may send

    // From here on nobody reads.
    char sent = 0;
    char received = 0;
    Transfer held;
    Transfer trigger;
    const auto holder = std::make_shared<Holder>();
    held.listener = holder;
    trigger.listener = std::make_shared<Listener>();
    sender.post_receive(held, 1, Slot::collective(3), &received, 1);
    receiver.post_send(trigger, 0, Slot::collective(3), &sent, 1);
    holder->entered.get_future().wait();

    {
        std::vector<std::byte> source(whole);
        for (size_t index = 0; index < whole; ++index) source[index] = pattern(index);
        Transfer out;
        out.listener = std::make_shared<Listener>();
        sender.post_send(out, 1, Slot::collective(1), source.data(), whole);
        assert_false(out.done);
        out.hold.reset();
        std::ranges::fill(source, std::byte{0xee});
    }
    holder->leave.set_value();
    came->wait();
    assert_int_equal(in.status.code, TUTTI_OK);
    assert_int_equal(in.bytes, whole);
    for (size_t index = 0; index < whole; ++index) {
        if (target[index] != pattern(index)) fail_msg("byte %zu came in wrong", index);
    }
    pass_byte(sender, receiver, 4);
    pass_byte(receiver, sender, 5);
}

}  // namespace
}  // namespace tutti

int main() {
    using namespace tutti;
    test::channel_name() = "gloo";
    setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const CMUnitTest tests[] = {TUTTI_TEST(a_message_withdrawn_half_way_arrives_whole)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
