// Do ranks that call different things learn it, and does a wait that ends badly name the peer?
// Two ranks in one thread: an Exchange posts first and waits later.
#include "algorithm/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "algorithm/algorithm.hpp"
#include "run_call.hpp"
#include "support/collective.hpp"
#include "unit/transport/ranks.hpp"
#include "unit/transport/watched_channel.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// A transfer posted by hand: what another version, or a rank gone wrong, might send.
class Raw {
public:
    explicit Raw(Channel& channel) : channel_(channel) { transfer_.listener = listener_; }
    void send(int peer, uint64_t number, const void* data, size_t bytes) {
        channel_.post_send(transfer_, peer, Slot::collective(number), data, bytes);
    }
    void receive(int peer, uint64_t number, void* data, size_t bytes) {
        channel_.post_receive(transfer_, peer, Slot::collective(number), data, bytes);
    }
    const Transfer& wait() {
        while (!transfer_.done) {
            const uint32_t ticket = listener_->event.ticket();
            if (transfer_.done) break;
            require(listener_->event.wait(ticket, ample()), "the transfer is not done");
        }
        return transfer_;
    }

private:
    struct Listener : TransferListener {
        Event event;
        void transfer_done(Transfer&) noexcept override { event.notify(); }
    };
    Channel& channel_;
    const std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
    Transfer transfer_;
};

// Reports it, as a group does: the other rank may wait for a message that was taken back.
Status failure_of(ChannelWorld& world, const std::vector<Collective>& calls, int rank,
                  uint64_t number) {
    try {
        run_call(world[rank], calls[static_cast<size_t>(rank)], number, ample());
    } catch (const Error& error) {
        world.membership(rank).report(error.status());
        return error.status();
    }
    return {};
}

// A rank that is still to send its part may hear what the other one has seen.
void expect_both_calls(const Status& seen, const std::vector<Collective>& calls, uint64_t number) {
    require(seen.code == TUTTI_ERR_MISMATCH, seen.message);
    require(seen.rank == 0 || seen.rank == 1, "one of the two is at fault");
    const auto called = [&](int rank) {
        return cat("rank ", rank, " called ",
                   describe(fingerprint(calls[static_cast<size_t>(rank)]), number));
    };
    require(seen.message == cat(called(seen.rank), " while ", called(1 - seen.rank)), seen.message);
}

void ranks_that_call_different_things_see_both(void**) {
    float data[200]{};
    const View hundred{data, 100, TUTTI_FLOAT32};
    const View fewer{data, 99, TUTTI_FLOAT32};
    const View integers{data, 100, TUTTI_INT32};
    const std::vector<std::vector<Collective>> pairs{
        {AllReduce{hundred, hundred, TUTTI_SUM}, AllReduce{fewer, fewer, TUTTI_SUM}},
        {AllReduce{hundred, hundred, TUTTI_SUM}, AllReduce{integers, integers, TUTTI_SUM}},
        {AllReduce{hundred, hundred, TUTTI_SUM}, AllReduce{hundred, hundred, TUTTI_MAX}},
        {AllReduce{hundred, hundred, TUTTI_SUM}, Barrier{}},
        {Barrier{}, AllReduce{hundred, hundred, TUTTI_SUM}}};
    for (const auto& calls : pairs) {
        ChannelWorld world(2);
        on_ranks(
            2, [&](int rank) { expect_both_calls(failure_of(world, calls, rank, 17), calls, 17); });
    }
}

// The data of the longer call must not land in the memory of the shorter. Who notices tells the
// other, who may wait for a message that was taken back.
void a_mismatch_of_long_data_leaves_the_memory_alone(void**) {
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        const int64_t count = rank == 0 ? 3'000'000 : 100'000;
        std::vector<int8_t> data(4'000'000, 7);
        const View view{data.data(), count, TUTTI_INT8};
        try {
            run_call(world[rank], AllReduce{view, view, TUTTI_SUM}, 1, ample());
            require(false, "the mismatch went unnoticed");
        } catch (const Error& error) {
            const std::string text = error.what();
            require(error.status().code == TUTTI_ERR_MISMATCH, text);
            require(text.find("int8 × 100000,") != std::string::npos, text);
            require(text.find("int8 × 3000000,") != std::string::npos, text);
            world[rank].membership().report(error.status());
        }
        require(std::count(data.begin() + count, data.end(), 7) == 4'000'000 - count,
                "memory behind the data was written to");
    });
}

// A broadcast to a rank that is in a barrier: the one that hears the other's fingerprint says so.
void a_receiver_hears_of_a_root_that_means_another_call(void**) {
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        int32_t data = 0;
        const std::vector<Collective> calls{Broadcast{{&data, 1, TUTTI_INT32}, 0}, Barrier{}};
        const Status seen = failure_of(world, calls, rank, 1);
        if (rank == 0 && seen.ok()) return;  // its message went
        expect_both_calls(seen, calls, 1);
        for (const char* call :
             {"rank 0 called broadcast #1 (int32 × 1, root 0)", "rank 1 called barrier #1"}) {
            require(seen.message.find(call) != std::string::npos, seen.message);
        }
    });
}

// No rank receives the other's message, so no fingerprint meets another.
void ranks_that_wait_for_each_other_in_different_calls_see_both(void**) {
    for (const int other_root : {0, 1}) {  // both send; both receive
        ChannelWorld pair(2);
        on_ranks(2, [&](int rank) {
            std::vector<int32_t> data(100'000);
            const View view{data.data(), 100'000, TUTTI_INT32};
            try {
                run_call(pair[rank], Broadcast{view, rank == 0 ? other_root : 1 - other_root}, 5,
                         ample());
                require(false, "two roots went unnoticed");
            } catch (const Error& error) {
                require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
                const std::string text = error.what();
                for (const int root : {0, 1}) {
                    require(text.find(cat("broadcast #5 (int32 × 100000, root ", root, ")")) !=
                                std::string::npos,
                            text);
                }
            }
        });
    }
}

const Fingerprint small{CallKind::Broadcast, TUTTI_UINT8, 0, 0, 8};
const Fingerprint barrier{CallKind::Barrier};

Fingerprint rooted_at(int root) {
    Fingerprint call = small;
    call.root = root;
    return call;
}

// Both ranks made these calls before, and then this one, the sixth.
void expect_mismatch_after(const std::vector<PastCalls>& past, const char* text) {
    ChannelWorld pair(2);
    on_ranks(2, [&](int rank) {
        try {
            Exchange exchange(pair[rank], barrier, 6, ample(), past[static_cast<size_t>(rank)]);
            algorithm::dissemination_barrier(exchange);
            require(false, "the mismatch went unnoticed");
        } catch (const Error& error) {
            pair.membership(rank).report(error.status());
            require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
            const std::string told = error.what();
            require(told.find(text) != std::string::npos, told);
        }
    });
}

// Two roots send, and are done before anybody knows.
void calls_that_differed_are_seen_in_the_next_one(void**) {
    std::vector<PastCalls> past(2);
    for (const int rank : {0, 1}) {
        past[static_cast<size_t>(rank)].add(barrier, 4);
        past[static_cast<size_t>(rank)].add(rooted_at(rank), 5);
    }
    expect_mismatch_after(past, "called broadcast #5 (uint8 × 8, root 0)");
    expect_mismatch_after(past, "called broadcast #5 (uint8 × 8, root 1)");
    past[1] = past[0];
    past[1].add(rooted_at(0), 7);
    expect_mismatch_after(past, "before barrier #6");
    past[0] = {};
    expect_mismatch_after(past, "has called other things than rank");
}

// A rank that waits in another call is named when those that are further on stop.
void no_rank_gets_far_ahead_unheard(void**) {
    PastCalls past;
    uint64_t sequence = 0;
    int unheard = 0;
    for (int i = 0; i < 100; ++i) {
        unheard = past.may_end_unheard() ? unheard + 1 : 0;
        assert_true(unheard < 8);
        past.add(rooted_at(0), ++sequence);
    }
    while (past.may_end_unheard()) past.add(rooted_at(0), ++sequence);
    past.add(Fingerprint{CallKind::Coalesced}, ++sequence);  // one of its calls may have a root
    assert_true(past.may_end_unheard());                     // it was heard all the same
    while (past.may_end_unheard()) past.add(Fingerprint{CallKind::Coalesced}, ++sequence);
    past.add(barrier, ++sequence);
    for (int i = 0; i < PastCalls::max_unheard; ++i) {
        assert_true(past.may_end_unheard());
        past.add(rooted_at(0), ++sequence);
    }
    assert_false(past.may_end_unheard());
}

// No message that rank 0 waits for will come, and rank 1 is further on.
void a_rank_that_waits_in_a_call_that_another_has_left_sees_both(void**) {
    for (const uint64_t further : {1, 5}) {
        ChannelWorld pair(2);
        on_ranks(2, [&](int rank) {
            std::byte data[8]{};
            PastCalls past;
            if (rank == 1) {
                for (uint64_t i = 0; i < further; ++i)
                    past.add(i == 0 ? rooted_at(1) : barrier, 5 + i);
            }
            try {
                Exchange exchange(pair[rank], rank == 0 ? rooted_at(0) : barrier,
                                  rank == 0 ? 5 : 5 + further, ample(), past);
                exchange.wait(exchange.receive(1 - rank, data));
                require(false, "the mismatch went unnoticed");
            } catch (const Error& error) {
                require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
                const std::string told = error.what();
                for (const char* text :
                     {"broadcast #5 (uint8 × 8, root 0)", "broadcast #5 (uint8 × 8, root 1)"}) {
                    require(told.find(text) != std::string::npos, told);
                }
            }
        });
    }
}

void a_wait_that_times_out_names_the_peer(void**) {
    ChannelWorld world(3);
    std::byte data[8]{};
    Exchange receiving(world[0], small, 1, Deadline::after_ms(2));
    const auto coming = receiving.receive(2, data);
    try {
        receiving.wait(coming);
        fail_msg("nobody sent");
    } catch (const Error& error) {
        assert_int_equal(error.status().code, TUTTI_ERR_TIMEOUT);
        assert_int_equal(error.status().rank, 2);
        assert_string_equal(error.what(), "timed out waiting for rank 2");
    }
    const std::vector<std::byte> longer(100'000);
    Exchange sending(world[0], small, 2, Deadline::after_ms(2));
    const auto going = sending.send(1, longer);
    TUTTI_EXPECT_ERROR(sending.wait(going), TUTTI_ERR_TIMEOUT, "timed out sending to rank 1");
    Exchange late(world[0], small, 3, Deadline::after_ms(0));
    late.receive(1, data);
    TUTTI_EXPECT_ERROR(late.wait_all(), TUTTI_ERR_TIMEOUT, "rank 1");
}

// The posts of an exchange that gave up do not reach a later one.
void an_exchange_takes_back_what_it_posted(void**) {
    ChannelWorld world(2);
    std::vector<std::byte> data(100'000, std::byte{1});
    {
        Exchange gone(world[0], small, 1, Deadline::after_ms(0));
        gone.receive(1, data);
        TUTTI_EXPECT_ERROR(gone.wait_all(), TUTTI_ERR_TIMEOUT, "rank 1");
    }
    world.together([](Channel& channel, uint64_t) {
        std::vector<std::byte> bytes(100'000, std::byte{9});
        const View view{bytes.data(), 100'000, TUTTI_UINT8};
        run_call(channel, Broadcast{view, 1}, 2, ample());
    });
    assert_true(data == std::vector<std::byte>(100'000, std::byte{1}));
}

void a_first_message_too_short_for_a_fingerprint_is_refused(void**) {
    ChannelWorld world(2);
    std::byte data[8]{};
    Raw raw(world[1]);
    raw.send(0, 1, "hi", 2);
    Exchange exchange(world[0], small, 1, ample());
    const auto coming = exchange.receive(1, data);
    TUTTI_EXPECT_ERROR(exchange.wait(coming), TUTTI_ERR_MISMATCH,
                       "rank 1 sent a first message of 2 bytes, which is too short for a header");
}

void a_first_message_of_the_wrong_length_is_refused(void**) {
    for (const size_t extra : {size_t{0}, size_t{7}, size_t{9}, Exchange::eager_bytes}) {
        ChannelWorld world(2);
        std::byte data[8]{};
        const Exchange::Head head{small, {}, sizeof data, Exchange::unsaid};
        std::vector<std::byte> message(sizeof head + extra);
        std::memcpy(message.data(), &head, sizeof head);
        Raw raw(world[1]);
        raw.send(0, 1, message.data(), message.size());
        Exchange exchange(world[0], small, 1, ample());
        const auto coming = exchange.receive(1, data);
        TUTTI_EXPECT_ERROR(exchange.wait(coming), TUTTI_ERR_INTERNAL,
                           "rank 1 segmented its data differently");
    }
}

void a_first_message_longer_than_any_is_a_mismatch(void**) {
    ChannelWorld world(2);
    std::byte data[8]{};
    const std::vector<std::byte> message(5000);
    Raw raw(world[1]);
    raw.send(0, 1, message.data(), message.size());
    Exchange exchange(world[0], small, 1, ample());
    const auto coming = exchange.receive(1, data);
    TUTTI_EXPECT_ERROR(exchange.wait(coming), TUTTI_ERR_MISMATCH,
                       "rank 1 sent 5000 bytes where 4096 were expected");
}

// The right fingerprint, then data of another length.
void data_of_the_wrong_length_are_a_mismatch(void**) {
    for (const size_t bytes : {size_t{99'999}, size_t{1}, size_t{100'001}}) {
        ChannelWorld world(2);
        std::vector<std::byte> data(100'000);
        const Fingerprint large{CallKind::Broadcast, TUTTI_UINT8, 0, 0, 100'000};
        const std::vector<std::byte> body(bytes);
        const Exchange::Head head{large, {}, data.size(), Exchange::unsaid};
        Raw first(world[1]);  // ends before the memory that it sends
        Raw second(world[1]);
        first.send(0, 1, &head, sizeof head);
        second.send(0, 1, body.data(), body.size());
        Exchange exchange(world[0], large, 1, ample());
        const auto coming = exchange.receive(1, data);
        TUTTI_EXPECT_ERROR(exchange.wait(coming), TUTTI_ERR_MISMATCH,
                           cat("rank 1 sent ", bytes, " bytes where 100000 were expected"));
    }
}

// Its sender's call failed; why, the report says that is on its way.
void a_message_that_was_taken_back_is_not_blamed_on_the_receiver_s_call(void**) {
    for (const bool body : {false, true}) {
        ChannelWorld world(2);
        std::vector<std::byte> data(100'000);
        const Fingerprint large{CallKind::Broadcast, TUTTI_UINT8, 0, 0, 100'000};
        const Exchange::Head head{large, {}, data.size(), Exchange::unsaid};
        Raw first(world[1]);
        Raw second(world[1]);
        first.send(0, 1, &head, body ? sizeof head : 0);
        if (body) second.send(0, 1, nullptr, 0);
        std::thread other([&] {
            first.wait();
            if (body) second.wait();
            world[1].membership().report({TUTTI_ERR_ABORTED, 1, 0, "rank 1 gave up"});
        });
        Exchange exchange(world[0], large, 1, ample());
        // The report may come before all of the receive is posted.
        TUTTI_EXPECT_ERROR(exchange.wait(exchange.receive(1, data)), TUTTI_ERR_ABORTED,
                           "rank 1 gave up");
        other.join();
    }
}

void messages_of_an_exchange_pair_up_in_order_at_every_size(void**) {
    ChannelWorld world(2);
    const std::vector<size_t> sizes{
        8, 0, Exchange::eager_bytes, Exchange::eager_bytes + 1, 100'000, 1, 0, 3'000'000};
    // Each size opens one exchange, for the first message travels differently.
    for (size_t first = 0; first < sizes.size(); ++first) {
        world.together([&](Channel& channel, uint64_t number) {
            Exchange exchange(channel, small, number, ample());
            std::vector<std::vector<std::byte>> out;
            std::vector<std::vector<std::byte>> in;
            for (size_t index = 0; index < sizes.size(); ++index) {
                const size_t size = sizes[(first + index) % sizes.size()];
                out.emplace_back(size, std::byte(static_cast<uint8_t>(index + 1)));
                in.emplace_back(size, std::byte{99});
            }
            const int peer = 1 - channel.rank();
            std::vector<Exchange::Ticket> tickets;
            for (auto& bytes : in) tickets.push_back(exchange.receive(peer, bytes));
            for (auto& bytes : out) exchange.send(peer, bytes);
            // Backwards: the order of waiting does not matter.
            for (size_t index = tickets.size(); index-- > 0;) exchange.wait(tickets[index]);
            exchange.wait_all();
            require(in == out, cat("sizes from ", first));
        });
    }
}

// Rank 1's message is looked at again and again while rank 0 waits for rank 2's.
void a_first_message_of_any_size_is_no_mismatch_while_another_is_awaited(void**) {
    ChannelWorld world(3);
    Count stalls;
    Count sent;
    on_ranks(3, [&](int rank) {
        const std::byte data[3]{};
        WatchedChannel channel(world[rank], stalls);
        Exchange exchange(channel, small, 1, ample());
        if (rank == 2) {
            sent.wait_until_at_least(1);
            stalls.wait_until_at_least(1);
        }
        if (rank > 0) {
            exchange.send(0, data);
            exchange.wait_all();
            return sent.add_one();
        }
        const auto early = exchange.receive_first(1, exchange.room(Exchange::eager_bytes));
        const auto late = exchange.receive_first(2, exchange.room(Exchange::eager_bytes));
        require(exchange.wait_first(late).size() == sizeof data, "rank 2's message");
        require(exchange.wait_first(early).size() == sizeof data, "rank 1's message");
    });
}

void an_abort_ends_the_wait_with_its_reason(void**) {
    ChannelWorld world(2);
    std::byte data[8]{};
    Exchange exchange(world[0], small, 1, ample());
    const auto coming = exchange.receive(1, data);
    std::thread other([&] { world[0].abort({TUTTI_ERR_PEER_LOST, 1, 0, "rank 1 died"}); });
    TUTTI_EXPECT_ERROR(exchange.wait(coming), TUTTI_ERR_PEER_LOST, "rank 1 died");
    other.join();
    Exchange later(world[0], small, 2, ample());
    TUTTI_EXPECT_ERROR(later.receive(1, data), TUTTI_ERR_PEER_LOST, "rank 1 died");
    TUTTI_EXPECT_ERROR(later.send(1, data), TUTTI_ERR_PEER_LOST, "rank 1 died");
}

void a_report_ends_the_waits_of_the_others(void**) {
    ChannelWorld world(3);
    std::atomic<int> told{0};
    on_ranks(3, [&](int rank) {
        if (rank == 0) return world[0].membership().report({TUTTI_ERR_MISMATCH, 2, 0, "the cause"});
        std::byte data[8]{};
        Exchange exchange(world[rank], small, 1, ample());
        try {
            exchange.wait(exchange.receive(3 - rank, data));
        } catch (const Error& error) {
            require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
            require(error.status().rank == 2, "the rank at fault");
            require(std::string(error.what()) == "the cause", error.what());
            ++told;
        }
    });
    assert_int_equal(told, 2);
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_that_call_different_things_see_both),
        TUTTI_TEST(a_mismatch_of_long_data_leaves_the_memory_alone),
        TUTTI_TEST(a_receiver_hears_of_a_root_that_means_another_call),
        TUTTI_TEST(ranks_that_wait_for_each_other_in_different_calls_see_both),
        TUTTI_TEST(calls_that_differed_are_seen_in_the_next_one),
        TUTTI_TEST(no_rank_gets_far_ahead_unheard),
        TUTTI_TEST(a_rank_that_waits_in_a_call_that_another_has_left_sees_both),
        TUTTI_TEST(a_wait_that_times_out_names_the_peer),
        TUTTI_TEST(an_exchange_takes_back_what_it_posted),
        TUTTI_TEST(a_first_message_too_short_for_a_fingerprint_is_refused),
        TUTTI_TEST(a_first_message_of_the_wrong_length_is_refused),
        TUTTI_TEST(a_first_message_longer_than_any_is_a_mismatch),
        TUTTI_TEST(data_of_the_wrong_length_are_a_mismatch),
        TUTTI_TEST(a_message_that_was_taken_back_is_not_blamed_on_the_receiver_s_call),
        TUTTI_TEST(messages_of_an_exchange_pair_up_in_order_at_every_size),
        TUTTI_TEST(a_first_message_of_any_size_is_no_mismatch_while_another_is_awaited),
        TUTTI_TEST(an_abort_ends_the_wait_with_its_reason),
        TUTTI_TEST(a_report_ends_the_waits_of_the_others),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
