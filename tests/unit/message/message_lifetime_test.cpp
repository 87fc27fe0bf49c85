// The lifetimes of buffers and transfers. A channel that does what it is told: it completes
// transfers when the test says so, and sees when it is let go of.
#include "puppet_channel.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

const Status died{TUTTI_ERR_PEER_LOST, 1, 0, "rank 1 died"};

void a_message_leaves_nothing_behind(void**) {
    for (const size_t bytes : {size_t{8}, apart}) {
        Fixture sending;
        sending.send(bytes);
        sending.channel.complete({}, 1, 0);
        if (bytes > 8) sending.channel.complete({}, 1, bytes);
        assert_true(sending.work->status()->ok());
        assert_int_equal(sending.channel.held(), 0);
        assert_true(sending.close());

        Fixture receiving;
        receiving.receive(bytes);
        receiving.channel.announce(1, static_cast<int64_t>(bytes), bytes > 8 ? "" : "12345678");
        if (bytes > 8) receiving.channel.complete({}, 1, bytes);
        assert_true(receiving.work->status()->ok());
        assert_int_equal(receiving.channel.held(), 0);
        assert_true(receiving.close());
    }
}

// A channel that was aborted may be moving bytes still; only when it is let go of has it stopped.
void a_send_ends_only_when_the_channel_has_let_go_of_its_memory(void**) {
    for (const bool fails : {false, true}) {
        Fixture it;
        bool ended_first = false;
        it.channel.on_let_go([&](const Posted& one) {
            const bool is_body = one.data == it.data.data();
            if (is_body && it.work->is_completed()) ended_first = true;
        });
        it.send(apart);
        it.channel.complete(fails ? died : Status{}, 1, 0);
        it.channel.complete(fails ? died : Status{}, 1, apart);
        assert_true(it.work->is_completed());
        assert_int_equal(it.work->status()->ok(), !fails);
        assert_false(ended_first);
    }
}

void a_receive_ends_only_when_the_channel_has_let_go_of_its_memory(void**) {
    for (const bool fails : {false, true}) {
        Fixture it;
        bool ended_first = false;
        it.channel.on_let_go([&](const Posted& one) {
            const bool is_body = one.data == it.data.data();
            if (is_body && it.work->is_completed()) ended_first = true;
        });
        it.receive(apart);
        it.channel.announce(1, apart, "");
        it.channel.complete(fails ? died : Status{}, 1, apart);
        assert_true(it.work->is_completed());
        assert_int_equal(it.work->status()->ok(), !fails);
        assert_false(ended_first);
    }
}

// "When nothing of this uses the channel any more": letting go of a transfer is a use, too.
void close_waits_for_a_withdrawal_under_way(void**) {
    for (const bool is_send : {true, false}) {
        Fixture it;
        std::promise<void> withdrawing;
        std::promise<void> go_on;
        std::atomic<bool> first{true};
        std::atomic<bool> closed{false};
        std::atomic<bool> closed_before{false};
        it.channel.on_let_go([&](const Posted& one) {
            if (one.data != it.data.data() || !first.exchange(false)) return;
            withdrawing.set_value();
            go_on.get_future().wait();
            // Time for a close that does not wait to return.
            const auto limit = Deadline::after_ms(200);
            while (!closed && !limit.expired()) std::this_thread::yield();
            closed_before = closed.load();
        });
        std::thread ending;
        if (is_send) {  // the alarm withdraws the data
            it.send(apart, 1);
        } else {
            it.receive(apart);
            it.channel.announce(1, apart, "");
            ending = std::thread([&] { it.channel.complete({}, 1, apart); });
        }
        withdrawing.get_future().wait();
        std::thread closing([&] {
            go_on.set_value();
            it.messages->abort(died);
            it.messages->close();
            closed = true;
        });
        closing.join();
        if (ending.joinable()) ending.join();
        assert_true(it.work->wait(ample()));
        assert_true(it.close());  // the alarm has let go of everything
        assert_false(closed_before);
    }
}

// A channel's thread may be on its way with a message when another aborts.
void an_announcement_that_comes_after_the_abort_is_dropped(void**) {
    for (const size_t bytes : {size_t{8}, apart}) {
        Fixture it;
        it.receive(bytes);
        it.messages->abort(died);
        assert_string_equal(it.work->status()->message.c_str(), "rank 1 died");
        it.channel.announce(1, static_cast<int64_t>(bytes), bytes > 8 ? "" : "12345678");
        assert_true(it.close());
    }
}

// A send to oneself and an abort: whichever comes first, the send ends.
void a_message_to_itself_ends_with_the_abort_that_it_meets(void**) {
    for (int turn = 0; turn < 3'000; ++turn) {
        Fixture it;
        std::atomic<bool> go{false};
        std::thread aborting([&] {
            while (!go) {
            }
            it.messages->abort(died);
        });
        bool refused = false;
        go = true;
        for (int spin = 0; spin < turn % 60; ++spin)
            std::atomic_signal_fence(std::memory_order_acq_rel);
        try {
            it.send(8, -1, 0);
        } catch (const Error&) {
            refused = true;
        }
        aborting.join();
        if (!refused && !it.work->wait(Deadline::after_ms(5'000))) {
            fail_msg("turn %d: the send did not end", turn);
        }
        assert_true(it.close());
    }
}

// The transfer is done in the moment its time is up.
void a_deadline_may_meet_the_end_of_a_transfer(void**) {
    for (int turn = 0; turn < 400; ++turn) {
        Fixture it;
        const bool is_send = turn % 2 == 0;
        const auto deadline = Deadline::after_ms(2);
        if (is_send) {
            it.messages->start(Send{{it.data.data(), 8, TUTTI_UINT8}, 1, 0}, deadline, it.work);
        } else {
            it.messages->start(Receive{{it.data.data(), apart, TUTTI_UINT8}, 1, 0}, deadline,
                               it.work);
            if (!it.channel.is_idle()) it.channel.announce(1, apart, "");
        }
        const auto moment = deadline.when() + std::chrono::microseconds(turn % 50 * 4 - 40);
        // Taken before, as a channel does that completes it while it is withdrawn.
        if (!it.channel.is_idle()) {
            std::shared_ptr<TransferListener> listener;
            Posted one{};
            try {
                std::tie(one, listener) = it.channel.oldest();
            } catch (const std::exception&) {
            }
            while (Deadline::Clock::now() < moment) {
            }
            if (listener) it.channel.complete(one, listener, {}, 1, is_send ? 40 : apart);
        }
        assert_true(it.work->wait(ample()));
        assert_true(it.close());
    }
}

// A message that waits in its lane, so that the next receive has it at once, whatever its time.
void announce_ahead(Fixture& it, int64_t count) {
    it.receive(1, 0);
    assert_true(it.work->wait(ample()));
    it.channel.announce(1, count, "");
    it.work = std::make_shared<Work>();
}

// A message that has begun goes on to its end.
void a_receive_that_has_its_message_waits_for_the_data(void**) {
    Fixture it;
    announce_ahead(it, apart);
    it.receive(apart, 1);
    assert_false(it.work->wait(Deadline::after_ms(30)));
    it.channel.complete({}, 1, apart);
    assert_true(it.work->status()->ok());
    assert_true(it.close());
}

void a_send_whose_bytes_move_goes_on_after_its_time(void**) {
    for (const size_t bytes : {size_t{8}, apart}) {
        Fixture it;
        it.channel.let_move([](const Posted&) { return true; });
        it.send(bytes, 1);
        assert_false(it.work->wait(Deadline::after_ms(30)));
        while (!it.channel.is_idle()) it.channel.complete({}, 1, 0);
        assert_true(it.work->status()->ok());
        assert_true(it.close());
    }
}

// With its announcement, if that has gone: else a receive that is posted later might find it.
void a_send_whose_data_wait_is_late_when_its_announcement_has_ended(void**) {
    for (const bool announced : {true, false}) {
        Fixture it;
        it.channel.let_move(
            [&](const Posted& one) { return announced && one.data != it.data.data(); });
        it.send(apart, 1);
        if (announced) {
            assert_false(it.work->wait(Deadline::after_ms(30)));
            assert_false(it.channel.is_idle());
            it.channel.complete({}, 1, 40);
        }
        assert_true(it.work->wait(ample()));
        assert_int_equal(it.work->status()->code, TUTTI_ERR_TIMEOUT);
        assert_true(it.channel.is_idle());
        assert_true(it.close());
    }
}

// The sender's time was up behind its announcement: the receive waits for the next message.
void a_message_that_was_taken_back_counts_as_never_sent(void**) {
    for (const bool in_time : {true, false}) {
        Fixture it;
        announce_ahead(it, apart);
        it.receive(apart, in_time ? -1 : 1);
        if (!in_time) assert_false(it.work->wait(Deadline::after_ms(30)));
        it.channel.complete({}, 1, 0);
        if (in_time) {
            assert_false(it.work->is_completed());
            it.channel.announce(1, apart, "");
            it.channel.complete({}, 1, apart);
            assert_true(it.work->status()->ok());
        } else {
            assert_true(it.work->wait(ample()));
            assert_int_equal(it.work->status()->code, TUTTI_ERR_TIMEOUT);
        }
        assert_true(it.close());
    }
}

void data_of_another_length_than_announced_are_an_error(void**) {
    Fixture it;
    it.receive(apart);
    it.channel.announce(1, apart, "");
    it.channel.complete({}, 1, 9'999);
    assert_int_equal(it.work->status()->code, TUTTI_ERR_INTERNAL);
    assert_true(it.close());
}

void many_sources_and_tags_leave_nothing_behind(void**) {
    Fixture it;
    for (int tag = 0; tag < 300; ++tag) {
        it.work = std::make_shared<Work>();
        it.messages->start(Receive{{it.data.data(), 1, TUTTI_UINT8}, 1 + tag % 2, tag},
                           Deadline::never(), it.work);
        it.channel.announce(1 + tag % 2, 1, "x");
        assert_true(it.work->status()->ok());
    }
    assert_int_equal(it.channel.held(), 0);
    assert_true(it.close());
}

// Giving up a receive that never heard of a message leaves one request for an announcement.
void receives_that_give_up_do_not_pile_up(void**) {
    Fixture it;
    for (int turn = 0; turn < 50; ++turn) {
        it.work = std::make_shared<Work>();
        it.receive(8, 0);
        assert_true(it.work->wait(ample()));
        assert_int_equal(it.work->status()->code, TUTTI_ERR_TIMEOUT);
    }
    assert_in_range(it.channel.held(), 1, 2);  // one may just be on its way out
    it.work = std::make_shared<Work>();
    it.receive(8);
    it.channel.announce(1, 8, "12345678");
    assert_true(it.work->wait(ample()));
    assert_true(it.work->status()->ok());
    assert_true(it.close());
}

// A message that is there goes to receives in its turn, also after one that had no time.
void a_receive_without_time_does_not_change_the_order(void**) {
    for (int turn = 0; turn < 100; ++turn) {
        Fixture it;
        // Three receives ask and give up, then three messages come and wait in the lane.
        std::array<std::shared_ptr<Work>, 3> works;
        for (auto& work : works) {
            work = it.work = std::make_shared<Work>();
            it.receive(1, 3);
        }
        for (const auto& work : works) assert_true(work->wait(ample()));
        std::string sent;
        while (!it.channel.is_idle()) {
            sent += static_cast<char>('1' + sent.size());
            it.channel.announce(1, 1, sent.substr(sent.size() - 1));
        }
        std::string came;
        for (int attempt = 0; attempt < 8; ++attempt) {
            it.work = std::make_shared<Work>();
            it.receive(1, attempt % 2 == 0 ? 0 : 1);
            assert_true(it.work->wait(ample()));
            if (it.work->status()->ok()) came += static_cast<char>(it.data[0]);
        }
        if (came != sent) {
            fail_msg("turn %d: %s came as %s", turn, sent.c_str(), came.c_str());
        }
        assert_true(it.close());
    }
}

// The sends of a batch to a rank leave together, as far as they are short; long data follow their
// announcement.
void sends_of_a_batch_leave_together(void**) {
    const auto followed = [](const std::vector<std::pair<int, size_t>>& sends) {
        Fixture it;
        std::vector<Message> batch;
        std::vector<std::shared_ptr<Work>> works;
        for (const auto& [to, bytes] : sends) {
            const ConstView view{it.data.data(), static_cast<int64_t>(bytes), TUTTI_UINT8};
            batch.emplace_back(Send{view, to, 0});
            works.push_back(std::make_shared<Work>());
        }
        it.messages->start(batch, Deadline::never(), works);
        const std::vector<bool> all = it.channel.followed();
        assert_true(it.close());
        return all;
    };
    using Flags = std::vector<bool>;
    assert_true(followed({{1, 8}}) == Flags{false});
    assert_true(followed({{1, 8}, {1, 0}, {2, 8}, {1, 8}}) == (Flags{true, true, false, false}));
    assert_true(followed({{1, 5000}, {1, 5000}, {1, 8}}) == (Flags{false, true, false}));
    assert_true(followed({{1, apart}, {1, 8}}) == (Flags{true, false, false}));
    assert_true(followed({{1, 8}, {1, apart}}) == (Flags{false, true, false}));

    Fixture one_by_one;
    for (int i = 0; i < 2; ++i) one_by_one.send(8);
    assert_true(one_by_one.channel.followed() == (Flags{false, false}));
    assert_true(one_by_one.close());
}

void after_the_close_every_start_says_why(void**) {
    Fixture it;
    it.messages->abort(died);
    it.messages->close();
    TUTTI_EXPECT_ERROR(it.send(8), TUTTI_ERR_PEER_LOST, "rank 1 died");
    try {
        it.receive(8);
        assert_string_equal(it.work->status()->message.c_str(), "rank 1 died");
    } catch (const Error& error) {
        assert_string_equal(error.what(), "rank 1 died");
    }
    assert_true(it.close());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_message_leaves_nothing_behind),
        TUTTI_TEST(a_send_ends_only_when_the_channel_has_let_go_of_its_memory),
        TUTTI_TEST(a_receive_ends_only_when_the_channel_has_let_go_of_its_memory),
        TUTTI_TEST(close_waits_for_a_withdrawal_under_way),
        TUTTI_TEST(an_announcement_that_comes_after_the_abort_is_dropped),
        TUTTI_TEST(a_message_to_itself_ends_with_the_abort_that_it_meets),
        TUTTI_TEST(a_deadline_may_meet_the_end_of_a_transfer),
        TUTTI_TEST(a_receive_that_has_its_message_waits_for_the_data),
        TUTTI_TEST(a_send_whose_bytes_move_goes_on_after_its_time),
        TUTTI_TEST(a_send_whose_data_wait_is_late_when_its_announcement_has_ended),
        TUTTI_TEST(a_message_that_was_taken_back_counts_as_never_sent),
        TUTTI_TEST(data_of_another_length_than_announced_are_an_error),
        TUTTI_TEST(many_sources_and_tags_leave_nothing_behind),
        TUTTI_TEST(receives_that_give_up_do_not_pile_up),
        TUTTI_TEST(a_receive_without_time_does_not_change_the_order),
        TUTTI_TEST(sends_of_a_batch_leave_together),
        TUTTI_TEST(after_the_close_every_start_says_why),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
