// Does a channel match sends with receives, and end what waits when somebody stops, withdraws,
// aborts or leaves? Three ranks, mostly posted to from one thread.
#include "transport/channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// Which messages end, by their numbers, and in which order.
class Postman {
public:
    void tell(int number) {
        const Lock lock(mutex_);
        told_.push_back(number);
        changed_.notify_all();
    }
    void wait_for(int number) {
        const Deadline deadline = ample();
        Lock lock(mutex_);
        while (!has_told(number)) {
            require(changed_.wait(lock, deadline), "a message did not end");
        }
    }
    [[nodiscard]] std::vector<int> told() {
        const Lock lock(mutex_);
        return told_;
    }

private:
    [[nodiscard]] bool has_told(int number) const TUTTI_REQUIRES(mutex_) {
        return std::ranges::find(told_, number) != told_.end();
    }

    Mutex mutex_;
    Condition changed_;
    std::vector<int> told_ TUTTI_GUARDED_BY(mutex_);
};

struct Bell : TransferListener {
    Bell(std::shared_ptr<Postman> whose, int of) : postman(std::move(whose)), number(of) {}
    void transfer_done(Transfer& /*transfer*/) noexcept override { postman->tell(number); }
    const std::shared_ptr<Postman> postman;
    const int number;
};

// One message and its memory.
struct Letter {
    std::string data;
    std::shared_ptr<Bell> bell;
    Status refusal;  // it was never posted
    Transfer transfer;

    // How it ended, at once or later.
    Status end() {
        if (!refusal.ok()) return refusal;
        bell->postman->wait_for(bell->number);
        return transfer.status;
    }
    [[nodiscard]] bool waits() const { return refusal.ok() && !transfer.done; }
};
using Mail = std::unique_ptr<Letter>;

struct Ranks {
    ChannelWorld world{3};
    std::shared_ptr<Postman> postman = std::make_shared<Postman>();
    std::atomic<int> numbers{0};

    template <typename Post>
    Mail post(std::string data, Post&& post) {
        auto letter = std::make_unique<Letter>();
        letter->data = std::move(data);
        letter->bell = std::make_shared<Bell>(postman, ++numbers);
        letter->transfer.listener = letter->bell;
        try {
            post(letter->transfer, letter->data.data(), letter->data.size());
        } catch (const Error& error) {
            letter->refusal = error.status();
        }
        return letter;
    }
    Slot (*slot_of)(int) = [](int number) { return Slot::announcement(number); };

    Mail send(int from, int to, std::string data, int slot = 5) {
        return post(std::move(data), [&](Transfer& transfer, char* bytes, size_t size) {
            world[from].post_send(transfer, to, slot_of(slot), bytes, size);
        });
    }
    Mail receive(int at, int from, std::string data, int slot = 5) {
        return post(std::move(data), [&](Transfer& transfer, char* bytes, size_t size) {
            world[at].post_receive(transfer, from, slot_of(slot), bytes, size);
        });
    }
    Mail receive_any(int at, std::string data, int slot = 5) {
        return post(std::move(data), [&](Transfer& transfer, char* bytes, size_t size) {
            world[at].post_receive_any(transfer, slot_of(slot), bytes, size);
        });
    }
    // What can move has moved: messages between each two of these have come, both ways, twice,
    // because a channel may answer.
    void settle(const std::vector<int>& among = {0, 1, 2}) {
        for (int turn = 0; turn < 2; ++turn) {
            std::vector<Mail> all;
            for (const int from : among) {
                for (const int to : among) {
                    if (from == to) continue;
                    all.push_back(send(from, to, "?", 999));
                    all.push_back(receive(to, from, ".", 999));
                }
            }
            for (const Mail& one : all) require(one->end().ok(), one->end().message);
        }
    }
};

// In slots of collectives messages may go before their receives are posted.
struct CollectiveRanks : Ranks {
    CollectiveRanks() {
        slot_of = [](int number) { return Slot::collective(static_cast<uint64_t>(number)); };
    }
};

bool same(const Status& status, tutti_status code, int rank, const std::string& message) {
    return status.code == code && status.rank == rank && status.message == message;
}

template <typename In>
void a_send_and_a_receive_meet_in_either_order(void**) {
    for (const bool send_first : {true, false}) {
        In it;
        Mail sent;
        if (send_first) sent = it.send(0, 1, "hello");
        const Mail received = it.receive(1, 0, "........");
        if (!send_first) sent = it.send(0, 1, "hello");
        assert_true(sent->end().ok() && received->end().ok());
        assert_int_equal(received->transfer.peer, 0);
        assert_int_equal(sent->transfer.peer, 1);
        assert_int_equal(received->transfer.bytes, 5);
        assert_string_equal(received->data.c_str(), "hello...");
        assert_int_equal(it.postman->told().size(), 2);
    }
}

template <typename In>
void a_message_may_be_empty_or_long(void**) {
    In it;
    for (const size_t size : {size_t{0}, size_t{10'000'000}}) {
        const Mail sent = it.send(2, 1, std::string(size, 'x'));
        const Mail received = it.receive(1, 2, std::string(size, '.'));
        assert_true(sent->end().ok() && received->end().ok());
        assert_int_equal(received->transfer.bytes, size);
        assert_true(received->data == sent->data);
    }
}

void slots_and_ranks_are_apart(void**) {
    Ranks it;
    std::vector<Mail> all;
    all.push_back(it.send(0, 1, "x", 5));
    all.push_back(it.receive(1, 0, ".", 6));
    all.push_back(it.receive(1, 2, ".", 5));
    all.push_back(it.receive(2, 0, ".", 5));
    all.push_back(it.receive(0, 1, ".", 5));
    all.push_back(it.send(1, 0, "x", 7));
    it.settle();
    for (const Mail& one : all) {
        assert_true(one->waits());
        assert_true(one->data == "x" || one->data == ".");
    }
}

template <typename In>
void messages_come_in_order(bool send_first, bool from_any) {
    In it;
    std::vector<Mail> out;
    std::vector<Mail> in;
    constexpr int count = 80;
    // Long and short ones of a collective need no order.
    const bool has_long = it.slot_of(5).is_announcement();
    const auto of = [&](int index, char first) {
        const auto bytes = std::array{1, 70'000, 300, 30'000}[static_cast<size_t>(index % 4)];
        return std::string(has_long ? bytes : 1, static_cast<char>(first + index));
    };
    const auto send = [&] {
        for (int index = 0; index < count; ++index) out.push_back(it.send(0, 1, of(index, '!')));
    };
    if (send_first) send();
    for (int index = 0; index < count; ++index) {
        auto room = of(index, '\0');
        in.push_back(from_any ? it.receive_any(1, std::move(room))
                              : it.receive(1, 0, std::move(room)));
    }
    if (!send_first) send();
    std::vector<int> wanted;
    for (size_t index = 0; index < in.size(); ++index) {
        assert_true(in[index]->end().ok() && out[index]->end().ok());
        assert_true(in[index]->data == out[index]->data);
        wanted.push_back(in[index]->bell->number);
    }
    auto told = it.postman->told();
    std::erase_if(told, [&](int one) { return std::ranges::find(wanted, one) == wanted.end(); });
    assert_true(told == wanted);
}

template <typename In>
void messages_of_one_slot_come_and_are_told_in_the_order_they_were_posted(void**) {
    for (const bool send_first : {true, false}) {
        for (const bool from_any : {true, false}) messages_come_in_order<In>(send_first, from_any);
    }
}

void a_receive_from_any_takes_of_whoever_sends(void**) {
    Ranks it;
    const Mail any = it.receive_any(1, ".");
    it.settle();
    assert_true(any->waits());
    const Mail sent = it.send(2, 1, "x");
    assert_true(any->end().ok() && sent->end().ok());
    assert_int_equal(any->transfer.peer, 2);
    const Mail waits = it.send(0, 1, "y");
    const Mail other = it.receive_any(1, ".");
    assert_true(other->end().ok());
    assert_int_equal(other->transfer.peer, 0);
    assert_string_equal(other->data.c_str(), "y");
}

template <typename In>
void a_message_longer_than_its_receive_is_a_mismatch_for_the_receiver(void**) {
    In it;
    const Mail received = it.receive(1, 0, "...");
    const Mail sent = it.send(0, 1, "longer");
    assert_true(
        same(received->end(), TUTTI_ERR_MISMATCH, 0, "rank 0 sent 6 bytes where 3 were expected"));
    assert_true(sent->end().ok());
    assert_string_equal(received->data.c_str(), "...");
    const Mail again = it.send(0, 1, "x");
    const Mail goes_on = it.receive(1, 0, ".");
    assert_true(goes_on->end().ok() && again->end().ok());
}

void a_send_that_is_stopped_is_empty_in_its_turn(void**) {
    Ranks it;
    const Mail before = it.send(0, 1, "1");
    const Mail stopped = it.send(0, 1, "2");
    const Mail behind = it.send(0, 1, "3");
    it.settle();
    const bool is_at_once = stopped->transfer.hold->stop();
    if (!is_at_once) assert_true(stopped->end().ok() && stopped->transfer.returned);
    std::vector<Mail> in;
    for (int index = 0; index < 3; ++index) in.push_back(it.receive(1, 0, "."));
    for (const Mail& one : in) assert_true(one->end().ok());
    assert_string_equal(in[0]->data.c_str(), "1");
    assert_int_equal(in[1]->transfer.bytes, 0);
    assert_string_equal(in[1]->data.c_str(), ".");
    assert_string_equal(in[2]->data.c_str(), "3");
    assert_true(before->end().ok() && behind->end().ok());
    assert_true(stopped->waits() == is_at_once);
    assert_false(before->transfer.hold->stop());  // it is done
}

// Whether they are done already or not.
void messages_of_a_call_that_failed_are_empty(void**) {
    CollectiveRanks it;
    Mail sent = it.send(0, 1, "x");
    const Mail other = it.send(0, 1, "y", 6);
    it.settle();
    it.world[0].take_back(1, it.slot_of(5));
    sent->transfer.hold.reset();
    it.settle();
    const Mail nothing = it.receive(1, 0, ".");
    const Mail whole = it.receive(1, 0, ".", 6);
    assert_true(whole->end().ok() && other->end().ok());
    assert_string_equal(whole->data.c_str(), "y");
    it.settle();
    assert_true(nothing->waits() || nothing->transfer.bytes == 0);
    assert_string_equal(nothing->data.c_str(), ".");
}

// Whatever becomes of a message for it, or of it.
void what_was_withdrawn_is_left_alone(void**) {
    Ranks it;
    const Mail received = it.receive(1, 0, ".");
    const Mail from_any = it.receive_any(1, ".", 6);
    const Mail sent = it.send(0, 1, "x", 7);
    for (const Mail* one : {&received, &from_any, &sent}) (*one)->transfer.hold.reset();
    const Mail first = it.send(0, 1, "y");
    const Mail second = it.send(2, 1, "y", 6);
    it.settle();  // what had gone is taken back
    const Mail third = it.receive(1, 0, ".", 7);
    it.settle();
    for (const Mail* one : {&received, &from_any, &sent}) assert_true((*one)->waits());
    assert_string_equal(received->data.c_str(), ".");
    assert_string_equal(from_any->data.c_str(), ".");
    assert_string_equal(third->data.c_str(), ".");
}

void an_abort_ends_what_the_rank_posted_now_and_later(void**) {
    Ranks it;
    const Mail mine = it.receive(1, 0, ".");
    const Mail mine_too = it.send(1, 2, "x");
    const Mail theirs = it.receive(0, 1, ".");
    it.settle();
    it.world[1].abort({TUTTI_ERR_BACKEND, 2, 0, "first"});
    it.world[1].abort({TUTTI_ERR_BACKEND, 0, 0, "second"});
    assert_true(same(mine->end(), TUTTI_ERR_BACKEND, 2, "first"));
    assert_true(same(mine_too->end(), TUTTI_ERR_BACKEND, 2, "first"));
    assert_true(same(it.receive(1, 0, ".")->end(), TUTTI_ERR_BACKEND, 2, "first"));
    assert_true(same(it.send(1, 0, ".")->end(), TUTTI_ERR_BACKEND, 2, "first"));
    assert_true(same(it.receive_any(1, ".")->end(), TUTTI_ERR_BACKEND, 2, "first"));
    it.settle({0, 2});
    assert_true(theirs->waits());
    assert_string_equal(mine->data.c_str(), ".");
}

void who_waits_for_a_rank_that_left_learns_it(void**) {
    Ranks it;
    const Mail from_it = it.receive(0, 1, ".");
    const Mail from_any = it.receive_any(0, ".");
    it.world.leave(1);
    assert_true(same(from_it->end(), TUTTI_ERR_PEER_LOST, 1, "rank 1 left the group"));
    it.settle({0, 2});
    assert_true(from_any->waits());
    assert_true(same(it.send(0, 1, "x")->end(), TUTTI_ERR_PEER_LOST, 1, "rank 1 left the group"));
    assert_true(
        same(it.receive(0, 1, ".")->end(), TUTTI_ERR_PEER_LOST, 1, "rank 1 left the group"));
    it.world.leave(2);
    assert_int_equal(from_any->end().code, TUTTI_ERR_PEER_LOST);
}

template <typename In>
void what_was_sent_arrives_although_the_sender_leaves(void**) {
    for (const size_t size : {size_t{1}, size_t{3'000'000}}) {
        In it;
        std::vector<Mail> in;
        for (int index = 0; index < 3; ++index)
            in.push_back(it.receive(2, 1, std::string(size, '.')));
        const Mail too_many = it.receive(2, 1, ".");
        for (int index = 0; index < 3; ++index) {
            assert_true(it.send(1, 2, std::string(size, 'x'))->end().ok());
        }
        it.world.leave(1);
        for (const Mail& one : in) {
            assert_true(one->end().ok());
            assert_true(one->data == std::string(size, 'x'));
        }
        assert_int_equal(too_many->end().code, TUTTI_ERR_PEER_LOST);
    }
}

// Over tcp before its receive is posted.
void a_send_that_may_end_early_leaves_its_memory_and_arrives(void**) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{60'000}, size_t{3'000'000}}) {
        CollectiveRanks it;
        const bool is_early = channel_name() == "tcp" && size < 64 * 1024;
        const std::string data(size, 'x');
        const Mail sent = it.post(data, [&](Transfer& transfer, char* bytes, size_t length) {
            transfer.may_end_early = true;
            it.world[1].post_send(transfer, 2, it.slot_of(5), bytes, length);
        });
        Mail received;
        if (!is_early) received = it.receive(2, 1, std::string(size, '.'));
        assert_true(sent->end().ok());
        sent->data.assign(size, '-');
        it.world.leave(1);
        if (is_early) received = it.receive(2, 1, std::string(size, '.'));
        assert_true(received->end().ok());
        assert_true(received->data == data);
    }
}

// Sends, receives, withdrawals and an abort from many threads.
template <typename In>
void a_withdrawn_transfer_is_never_touched_again(void**) {
    for (int turn = 0; turn < 20; ++turn) {
        In it;
        on_ranks(3, [&](int rank) {
            for (int round = 0; round < 200; ++round) {
                const bool is_send = (round + rank) % 2 == 0;
                const std::string data(8, static_cast<char>('a' + rank));
                const int peer = (rank + 1 + round / 2 % 2) % 3;
                const Mail one = is_send ? it.send(rank, peer, data) : it.receive_any(rank, data);
                if (!one->refusal.ok()) {
                    require(one->refusal.code == TUTTI_ERR_ABORTED, one->refusal.message);
                    return;
                }
                if (round == 150 && rank == turn % 4) {
                    it.world[rank].abort({TUTTI_ERR_ABORTED, -1, 0, "enough"});
                }
                if (round % 3 == 0) std::this_thread::yield();
            }
        });
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_send_and_a_receive_meet_in_either_order<Ranks>),
        TUTTI_TEST(a_send_and_a_receive_meet_in_either_order<CollectiveRanks>),
        TUTTI_TEST(a_message_may_be_empty_or_long<Ranks>),
        TUTTI_TEST(a_message_may_be_empty_or_long<CollectiveRanks>),
        TUTTI_TEST(slots_and_ranks_are_apart),
        TUTTI_TEST(messages_of_one_slot_come_and_are_told_in_the_order_they_were_posted<Ranks>),
        TUTTI_TEST(
            messages_of_one_slot_come_and_are_told_in_the_order_they_were_posted<CollectiveRanks>),
        TUTTI_TEST(a_receive_from_any_takes_of_whoever_sends),
        TUTTI_TEST(a_message_longer_than_its_receive_is_a_mismatch_for_the_receiver<Ranks>),
        TUTTI_TEST(
            a_message_longer_than_its_receive_is_a_mismatch_for_the_receiver<CollectiveRanks>),
        TUTTI_TEST(a_send_that_is_stopped_is_empty_in_its_turn),
        TUTTI_TEST(messages_of_a_call_that_failed_are_empty),
        TUTTI_TEST(what_was_withdrawn_is_left_alone),
        TUTTI_TEST(an_abort_ends_what_the_rank_posted_now_and_later),
        TUTTI_TEST(who_waits_for_a_rank_that_left_learns_it),
        TUTTI_TEST(what_was_sent_arrives_although_the_sender_leaves<Ranks>),
        TUTTI_TEST(what_was_sent_arrives_although_the_sender_leaves<CollectiveRanks>),
        TUTTI_TEST(a_send_that_may_end_early_leaves_its_memory_and_arrives),
        TUTTI_TEST(a_withdrawn_transfer_is_never_touched_again<Ranks>),
        TUTTI_TEST(a_withdrawn_transfer_is_never_touched_again<CollectiveRanks>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
