// What Gloo's channel makes of ranks that leave, where every channel's suite cannot look: before
// there is a connection, and while messages that came are still being told.
#include "transport/connector.hpp"  // before cmocka, which makes a macro of fail

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "membership/invitation.hpp"
#include "net/socket.hpp"
#include "ranks.hpp"
#include "support/quiet_world.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using membership::Frame;
using membership::FrameReader;

// Rank 0 of two. The other one is at that address and port; at 0, the port of rank 0.
class Lonely final : public QuietWorld {
public:
    explicit Lonely(std::string address_of_other = "127.0.0.2", int port_of_other = 0)
        : QuietWorld(0, 2),
          address_of_other_(std::move(address_of_other)),
          port_of_other_(port_of_other) {}

    void await_call() { is_asked_.wait(ample()); }
    // With which who is called proves who it is.
    [[nodiscard]] membership::Token secret() const {
        membership::Token secret{};
        require(membership::parse_hex(own_.substr(own_.find(' ') + 1), secret), own_);
        return secret;
    }

    [[nodiscard]] bool same_host(int) const override { return false; }
    [[nodiscard]] Routes routes() const override {
        return {{"127.0.0.1"}, {{"127.0.0.1"}, {address_of_other_}}};
    }
    void send(std::string bytes) noexcept override {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            if (frame.kind == membership::Kind::Arrive) {
                const membership::StepArrival arrival = membership::decode_arrival(frame);
                own_ = arrival.payload;
                const std::string other =
                    port_of_other_ == 0 ? own_ : cat(port_of_other_, own_.substr(own_.find(' ')));
                hear(membership::encode(
                    membership::StepCompleted{arrival.group, arrival.key, 1, {own_, other}}));
            } else if (frame.kind == membership::Kind::Connect) {
                is_asked_.set();
            }
            return true;
        });
    }
    ~Lonely() override { end_resources(); }

private:
    class Flag {
    public:
        void set() {
            const Lock lock(mutex_);
            is_set_ = true;
            changed_.notify_all();
        }
        void wait(const Deadline& deadline) {
            Lock lock(mutex_);
            while (!is_set_) require(changed_.wait(lock, deadline), "it did not happen");
        }

    private:
        Mutex mutex_;
        Condition changed_;
        bool is_set_ TUTTI_GUARDED_BY(mutex_) = false;
    };

    const std::string address_of_other_;
    const int port_of_other_;
    std::string own_;  // what rank 0 says of itself
    Flag is_asked_;
};

// Learns that a transfer is done, and may keep whoever tells it until it is let go.
class Gate : public TransferListener {
public:
    explicit Gate(bool is_open = true) : is_open_(is_open) {}
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        Lock lock(mutex_);
        has_come_ = true;
        changed_.notify_all();
        while (!is_open_) changed_.wait(lock);
    }
    void wait() {
        const Deadline deadline = ample();
        Lock lock(mutex_);
        while (!has_come_) require(changed_.wait(lock, deadline), "a transfer did not end");
    }
    void open() {
        const Lock lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }

private:
    Mutex mutex_;
    Condition changed_;
    bool is_open_ TUTTI_GUARDED_BY(mutex_);
    bool has_come_ TUTTI_GUARDED_BY(mutex_) = false;
};

struct Letter {
    explicit Letter(bool is_open = true) : gate(std::make_shared<Gate>(is_open)) {
        transfer.listener = gate;
    }
    char data = '.';
    std::shared_ptr<Gate> gate;
    Transfer transfer;

    const Status& end() {
        gate->wait();
        return transfer.status;
    }
};

constexpr uint64_t slot = 5;

void receive(Channel& at, Letter& letter, int from = 1) {
    at.post_receive(letter.transfer, from, Slot::collective(slot), &letter.data, 1);
}

void send(Channel& from, Letter& letter, int to = 0) {
    from.post_send(letter.transfer, to, Slot::collective(slot), &letter.data, 1);
}

// What rank 0 can hear of one that goes. One that is lost has left this group before, or the group
// fails as a whole.
enum class News { LeftThenDeparted, DepartedThenLeft, LeftThenLost };
constexpr std::array all_news{News::LeftThenDeparted, News::DepartedThenLeft, News::LeftThenLost};

void hear(News news, Lonely& world, Channel& channel) {
    if (news == News::DepartedThenLeft) world.depart(1);
    channel.left(1);
    if (news == News::LeftThenDeparted) world.depart(1);
    if (news == News::LeftThenLost) world.lose(1);
}

// Rank 0's channel, and a receive from the other one.
struct Waiting {
    explicit Waiting(std::shared_ptr<Lonely> in) : world(std::move(in)) {}
    void begin() { receive(*channel, letter); }
    void expect_told() {
        assert_int_equal(letter.end().code, TUTTI_ERR_PEER_LOST);
        assert_string_equal(letter.transfer.status.message.c_str(), "rank 1 left the group");
    }

    const std::shared_ptr<Lonely> world;
    Membership membership{world, 0, {0, 1}};
    const std::unique_ptr<Channel> channel = gloo_channel::open(membership, ample());
    Letter letter;
};

// The other one, which is called.
class Called {
public:
    [[nodiscard]] std::shared_ptr<Lonely> world() const {
        return std::make_shared<Lonely>("127.0.0.1", door_.port());
    }
    void accept() {
        taken_.emplace(door_.accept(ample()));
        std::array<std::byte, Connector::handshake_bytes> handshake{};
        taken_->recv_all(handshake, ample());
    }
    // Its own call is to take the place of this one, which is over.
    void drop() {
        say(membership::Token{});
        std::array<std::byte, 1> none{};
        TUTTI_EXPECT_ERROR(taken_->recv_all(none, ample()), TUTTI_ERR_NETWORK, "closed");
    }
    // Gloo has the connection then, and says that a receive is posted.
    void answer(const Lonely& caller) {
        say(caller.secret());
        std::array<std::byte, 1> first{};
        taken_->recv_all(first, ample());
    }
    void hang_up() { taken_.reset(); }

private:
    void say(const membership::Token& secret) {
        taken_->send_all(std::as_bytes(std::span(secret)), ample());
    }

    const net::ListenSocket door_ = net::ListenSocket::bind("127.0.0.1", 0, 8);
    std::optional<net::Socket> taken_;
};

void who_waits_for_a_rank_that_goes_before_it_is_called_is_told(void**) {
    for (const News news : all_news) {
        Waiting waiting(std::make_shared<Lonely>());
        hear(news, *waiting.world, *waiting.channel);
        waiting.begin();
        waiting.expect_told();
    }
}

// The call has failed once, and is to be tried again.
void who_waits_for_a_rank_that_goes_while_it_is_called_is_told(void**) {
    for (const News news : all_news) {
        Waiting waiting(std::make_shared<Lonely>());
        waiting.begin();
        waiting.world->await_call();
        hear(news, *waiting.world, *waiting.channel);
        waiting.expect_told();
    }
}

void who_waits_for_a_rank_that_goes_instead_of_answering_is_told(void**) {
    for (const News news : all_news) {
        Called other;
        Waiting waiting(other.world());
        waiting.begin();
        other.accept();
        hear(news, *waiting.world, *waiting.channel);
        other.hang_up();
        waiting.expect_told();
    }
}

void who_waits_for_a_rank_that_goes_instead_of_calling_is_told(void**) {
    for (const News news : all_news) {
        Called other;
        Waiting waiting(other.world());
        waiting.begin();
        other.accept();
        other.drop();
        assert_false(waiting.letter.transfer.done);
        hear(news, *waiting.world, *waiting.channel);
        waiting.expect_told();
    }
}

void who_waits_for_a_rank_that_drops_a_call_when_it_is_gone_is_told(void**) {
    for (const News news : {News::LeftThenDeparted, News::DepartedThenLeft}) {
        Called other;
        Waiting waiting(other.world());
        waiting.begin();
        other.accept();
        hear(news, *waiting.world, *waiting.channel);
        other.drop();
        waiting.expect_told();
    }
}

void who_waits_for_a_rank_that_goes_when_it_has_answered_is_told(void**) {
    for (const News news : all_news) {
        Called other;
        Waiting waiting(other.world());
        waiting.begin();
        other.accept();
        other.answer(*waiting.world);
        hear(news, *waiting.world, *waiting.channel);
        assert_false(waiting.letter.transfer.done);  // it may have sent something
        other.hang_up();
        waiting.expect_told();
    }
}

void a_channel_ends_while_a_rank_that_left_is_still_called(void**) {
    Called other;
    Waiting waiting(other.world());
    waiting.begin();
    other.accept();
    waiting.channel->left(1);
    waiting.channel->abort({TUTTI_ERR_ABORTED, -1, 0, "the end"});
    assert_int_equal(waiting.letter.end().code, TUTTI_ERR_ABORTED);
}

// The last message and the goodbye are read together; while the message is being told, a thread
// that posts must not be told before.
void a_rank_is_gone_once_all_that_it_sent_has_been_told(void**) {
    ChannelWorld world(2);
    Letter first(false);
    Letter second(false);
    Letter sent[2];
    receive(world[0], first);
    receive(world[0], second);
    // A message leaves at once where its receive is known. This one comes behind the notices of
    // both.
    Letter ready;
    Letter told;
    receive(world[1], ready, 0);
    send(world[0], told, 1);
    assert_true(ready.end().ok());
    send(world[1], sent[0]);
    first.gate->wait();  // Gloo's loop is held
    send(world[1], sent[1]);
    assert_true(sent[1].end().ok());
    world.leave(1);
    first.gate->open();
    second.gate->wait();  // held again, having read the goodbye as well
    Letter late;
    receive(world[0], late);
    assert_false(late.transfer.done);
    second.gate->open();
    assert_true(second.transfer.status.ok());
    assert_int_equal(late.end().code, TUTTI_ERR_PEER_LOST);
}

}  // namespace

int main() {
    channel_name() = "gloo";
    choose_channel(0, nullptr);
    const CMUnitTest tests[] = {
        TUTTI_TEST(who_waits_for_a_rank_that_goes_before_it_is_called_is_told),
        TUTTI_TEST(who_waits_for_a_rank_that_goes_while_it_is_called_is_told),
        TUTTI_TEST(who_waits_for_a_rank_that_goes_instead_of_answering_is_told),
        TUTTI_TEST(who_waits_for_a_rank_that_goes_instead_of_calling_is_told),
        TUTTI_TEST(who_waits_for_a_rank_that_drops_a_call_when_it_is_gone_is_told),
        TUTTI_TEST(who_waits_for_a_rank_that_goes_when_it_has_answered_is_told),
        TUTTI_TEST(a_channel_ends_while_a_rank_that_left_is_still_called),
        TUTTI_TEST(a_rank_is_gone_once_all_that_it_sent_has_been_told),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
