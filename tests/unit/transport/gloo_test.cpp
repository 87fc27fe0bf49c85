// What Gloo's channel makes of ranks that leave, where every channel's suite cannot look: before
// there is a connection, and while messages that came are still being told.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using membership::Frame;
using membership::FrameReader;

// Rank 0 of two. The other one says where it is, but nobody listens there.
class Lonely final : public World {
public:
    Lonely() : World(0, 2) {}

    void hear_that_the_other_left() {
        hear_bytes(membership::encode(membership::Kind::Left, 0, std::vector<int>{1}));
    }
    void await_call() { is_asked_.wait(ample()); }

    [[nodiscard]] std::string identity() const override { return "lonely"; }
    [[nodiscard]] bool same_host(int) const override { return false; }
    [[nodiscard]] Routes routes() const override {
        return {{"127.0.0.1"}, {{"127.0.0.1"}, {"127.0.0.2"}}};
    }
    void send(std::string bytes) noexcept override {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            if (frame.kind == membership::Kind::Arrive) {
                const membership::StepArrival arrival = membership::decode_arrival(frame);
                hear_bytes(membership::encode(membership::StepCompleted{
                    arrival.group, arrival.key, 1, {arrival.payload, arrival.payload}}));
            } else if (frame.kind == membership::Kind::Connect) {
                is_asked_.set();
            }
            return true;
        });
    }
    void suspect(const Status&) noexcept override {}
    void leave() noexcept override {}
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

    void hear_bytes(const std::string& bytes) {
        FrameReader().feed(std::as_bytes(std::span(bytes)), [this](const Frame& frame) {
            handle(frame);
            return true;
        });
    }

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

// By the thread that connects: nobody else has anything to do then.
void who_waits_for_a_rank_that_left_before_there_was_a_connection_is_told(void**) {
    const auto world = std::make_shared<Lonely>();
    Membership membership(world, 0, {0, 1});
    const auto channel = gloo_channel::open(membership, ample());
    Letter letter;
    receive(*channel, letter);
    world->await_call();  // it has failed once
    channel->left(1);
    world->hear_that_the_other_left();
    assert_int_equal(letter.end().code, TUTTI_ERR_PEER_LOST);
    assert_string_equal(letter.transfer.status.message.c_str(), "rank 1 left the group");
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
        TUTTI_TEST(who_waits_for_a_rank_that_left_before_there_was_a_connection_is_told),
        TUTTI_TEST(a_rank_is_gone_once_all_that_it_sent_has_been_told),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
