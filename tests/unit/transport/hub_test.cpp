// Does the hub match sends with receives, and end what waits when somebody withdraws, aborts or
// leaves?
#include "transport/loopback/hub.hpp"

#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using loopback::Hub;

struct Counting : TransferListener {
    std::atomic<int> done{0};
    void transfer_done(Transfer&) noexcept override { ++done; }
};

// A hub of three ranks, posted to by hand.
struct Fixture {
    std::shared_ptr<Hub> hub = std::make_shared<Hub>(3);
    std::shared_ptr<Counting> listener = std::make_shared<Counting>();

    std::unique_ptr<Transfer> post(int owner, int peer, bool is_send, std::string& data,
                                   uint64_t slot = 5) {
        auto transfer = std::make_unique<Transfer>();
        transfer->listener = listener;
        hub->post({transfer.get(), owner, peer, is_send, slot, data.data(), data.size()});
        return transfer;
    }
    std::unique_ptr<Transfer> send(int owner, int peer, std::string& data, uint64_t slot = 5) {
        return post(owner, peer, true, data, slot);
    }
    std::unique_ptr<Transfer> receive(int owner, int peer, std::string& data, uint64_t slot = 5) {
        return post(owner, peer, false, data, slot);
    }
};

void a_send_and_a_receive_meet_in_either_order(void**) {
    for (const bool send_first : {true, false}) {
        Fixture it;
        std::string from = "hello";
        std::string to(8, '.');
        std::unique_ptr<Transfer> sent;
        if (send_first) sent = it.send(0, 1, from);
        const auto received = it.receive(1, 0, to);
        if (!send_first) sent = it.send(0, 1, from);
        assert_true(sent->done && received->done);
        assert_true(sent->status.ok() && received->status.ok());
        assert_int_equal(received->peer, 0);
        assert_int_equal(sent->peer, 1);
        assert_int_equal(received->bytes, 5);
        assert_string_equal(to.c_str(), "hello...");
        assert_int_equal(it.listener->done, 2);
    }
}

void slots_and_ranks_are_apart(void**) {
    Fixture it;
    std::string from = "x";
    std::string to = ".";
    const auto sent = it.send(0, 1, from, 5);
    const auto other_slot = it.receive(1, 0, to, 6);
    const auto other_source = it.receive(1, 2, to, 5);
    const auto other_place = it.receive(2, 0, to, 5);
    const auto other_way = it.receive(0, 1, to, 5);
    const auto other_send = it.send(1, 0, from, 7);
    for (const auto* one : {&sent, &other_slot, &other_source, &other_place, &other_way})
        assert_false((*one)->done);
    assert_false(other_send->done);
    assert_string_equal(to.c_str(), ".");
    assert_int_equal(it.listener->done, 0);
}

void messages_of_one_slot_meet_in_the_order_they_were_posted(void**) {
    Fixture it;
    std::string one = "1";
    std::string two = "2";
    std::string first = ".";
    std::string second = ".";
    const auto a = it.send(0, 1, one);
    const auto b = it.send(0, 1, two);
    const auto c = it.receive(1, 0, first);
    const auto d = it.receive(1, -1, second);
    assert_string_equal(first.c_str(), "1");
    assert_string_equal(second.c_str(), "2");
}

void a_receive_from_any_takes_of_others_and_not_of_itself(void**) {
    Fixture it;
    std::string from = "x";
    std::string to = ".";
    const auto any = it.receive(1, -1, to);
    const auto own = it.send(1, 1, from);
    assert_false(any->done || own->done);
    const auto sent = it.send(2, 1, from);
    assert_true(any->done && sent->done);
    assert_int_equal(any->peer, 2);
}

void a_message_longer_than_its_receive_is_a_mismatch_for_the_receiver(void**) {
    Fixture it;
    std::string from = "longer";
    std::string to = "...";
    const auto received = it.receive(1, 0, to);
    const auto sent = it.send(0, 1, from);
    assert_int_equal(received->status.code, TUTTI_ERR_MISMATCH);
    assert_int_equal(received->status.rank, 0);
    assert_string_equal(received->status.message.c_str(),
                        "rank 0 sent 6 bytes where 3 were expected");
    assert_true(sent->status.ok());
    assert_string_equal(to.c_str(), "...");
}

void what_was_withdrawn_meets_nobody(void**) {
    Fixture it;
    std::string from = "x";
    std::string to = ".";
    auto sent = it.send(0, 1, from);
    sent.reset();
    auto received = it.receive(1, 0, to);
    assert_false(received->done);
    received->hold.reset();
    const auto again = it.send(0, 1, from);
    assert_false(again->done || received->done);
    assert_int_equal(it.listener->done, 0);
}

void an_abort_ends_what_the_rank_posted_now_and_later(void**) {
    Fixture it;
    std::string data = "x";
    const auto mine = it.receive(1, 0, data);
    const auto mine_too = it.send(1, 2, data);
    const auto theirs = it.receive(0, 1, data);
    it.hub->abort(1, {TUTTI_ERR_BACKEND, 2, 0, "first"});
    it.hub->abort(1, {TUTTI_ERR_BACKEND, 0, 0, "second"});
    assert_true(mine->done && mine_too->done);
    assert_string_equal(mine->status.message.c_str(), "first");
    assert_false(theirs->done);
    assert_int_equal(it.listener->done, 2);
    TUTTI_EXPECT_ERROR(it.receive(1, 0, data), TUTTI_ERR_BACKEND, "first");
    const auto still = it.send(0, 1, data);  // to an aborted rank: waits, as a rank may be slow
    assert_false(still->done);
}

void who_waits_for_a_rank_that_left_learns_it(void**) {
    Fixture it;
    std::string data = "x";
    std::string to = ".";
    const auto from_it = it.receive(0, 1, to);
    const auto from_any = it.receive(0, -1, to);
    const auto sent_before = it.send(1, 2, data, 8);
    for (const int rank : {0, 2}) it.hub->lose(rank, 1);
    assert_int_equal(from_it->status.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(from_it->status.rank, 1);
    assert_string_equal(from_it->status.message.c_str(), "rank 1 left the group");
    assert_false(from_any->done);
    TUTTI_EXPECT_ERROR(it.send(2, 1, data), TUTTI_ERR_PEER_LOST, "rank 1 left");
    TUTTI_EXPECT_ERROR(it.receive(2, 1, to), TUTTI_ERR_PEER_LOST, "rank 1 left");
    const auto sent_received = it.receive(2, 1, to, 8);  // what it had sent arrives
    assert_true(sent_received->status.ok() && sent_received->done);
    assert_string_equal(to.c_str(), "x");
}

// Sends, receives, withdrawals and an abort from many threads.
void a_withdrawn_transfer_is_never_touched_again(void**) {
    for (int turn = 0; turn < 50; ++turn) {
        const auto hub = std::make_shared<Hub>(3);
        on_ranks(3, [&](int rank) {
            const auto listener = std::make_shared<Counting>();
            try {
                for (int round = 0; round < 200; ++round) {
                    std::string data(8, static_cast<char>('a' + rank));
                    Transfer transfer;
                    transfer.listener = listener;
                    const bool is_send = (round + rank) % 2 == 0;
                    const int peer = is_send ? (rank + 1 + round / 2 % 2) % 3 : -1;
                    hub->post({&transfer, rank, peer, is_send, 1, data.data(), data.size()});
                    if (round == 150 && rank == turn % 4) {
                        hub->abort(rank, {TUTTI_ERR_ABORTED, -1, 0, "enough"});
                    }
                    if (round % 3 == 0) std::this_thread::yield();
                }
            } catch (const Error& error) {
                require(error.status().code == TUTTI_ERR_ABORTED, error.what());
            }
        });
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_send_and_a_receive_meet_in_either_order),
        TUTTI_TEST(slots_and_ranks_are_apart),
        TUTTI_TEST(messages_of_one_slot_meet_in_the_order_they_were_posted),
        TUTTI_TEST(a_receive_from_any_takes_of_others_and_not_of_itself),
        TUTTI_TEST(a_message_longer_than_its_receive_is_a_mismatch_for_the_receiver),
        TUTTI_TEST(what_was_withdrawn_meets_nobody),
        TUTTI_TEST(an_abort_ends_what_the_rank_posted_now_and_later),
        TUTTI_TEST(who_waits_for_a_rank_that_left_learns_it),
        TUTTI_TEST(a_withdrawn_transfer_is_never_touched_again),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
