// Do ranks that take a step together end with the same outcome, whatever one of them does?
#include "group/agreement.hpp"

#include "groups.hpp"

namespace tutti {
namespace {

using test::contains;
using test::on_ranks;
using test::status_of;

Agreement step(const std::shared_ptr<Store>& store, int rank, int size) {
    Agreement agreement;
    agreement.store = make_prefix_store("step", store);
    agreement.rank = rank;
    for (int one = 0; one < size; ++one) agreement.participants.push_back(one);
    agreement.function = "dance";
    agreement.arguments = {"tune waltz", "pairs 3"};
    agreement.card = cat("rank ", rank, "'s");
    agreement.trouble = [](int) { return Status{}; };
    return agreement;
}

// How it ended on each rank. `change` makes a rank different.
std::vector<Status> dance(const std::shared_ptr<Store>& store, int size, int64_t timeout_ms,
                          const std::function<void(Agreement&)>& change) {
    std::vector<Status> ends(static_cast<size_t>(size));
    on_ranks(size, [&](int rank) {
        Agreement mine = step(store, rank, size);
        change(mine);
        ends[static_cast<size_t>(rank)] =
            status_of([&] { agree(mine, Deadline::after_ms(timeout_ms)); });
    });
    return ends;
}

void all_learn_all_cards_and_leave_nothing(void** /*state*/) {
    const auto store = make_hash_store();
    for (int round = 0; round < 20; ++round) {
        on_ranks(4, [&](int rank) {
            const auto cards = agree(step(store, rank, 4), test::ample());
            test::require(
                cards == std::vector<std::string>{"rank 0's", "rank 1's", "rank 2's", "rank 3's"},
                "a card is wrong");
        });
        assert_int_equal(store->num_keys(test::ample()), 0);
    }
}

void a_difference_is_shown_to_all(void** /*state*/) {
    const auto store = make_hash_store();
    const auto ends = dance(store, 3, 60'000, [](Agreement& mine) {
        if (mine.rank == 1) mine.arguments[1] = "pairs 4";
    });
    for (const Status& end : ends) {
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_true(contains(end.message, "rank 1 called dance with pairs 4"));
        assert_true(contains(end.message, "called dance with pairs 3"));
        assert_false(contains(end.message, "waltz"));  // they agree on that
    }
    assert_int_equal(store->num_keys(test::ample()), 0);
}

void the_place_of_a_difference_is_shown_in_a_long_argument(void** /*state*/) {
    std::string ranks = "ranks ";
    for (int rank = 0; rank < 1000; ++rank) ranks += cat(2 * rank, ", ");
    const auto ends = dance(make_hash_store(), 2, 60'000, [&](Agreement& mine) {
        mine.arguments = {cat(ranks, mine.rank == 0 ? "the first" : "the second", ranks)};
    });
    for (const Status& end : ends) {
        assert_true(contains(end.message, "the first"));
        assert_true(contains(end.message, "the second"));
        assert_true(end.message.size() < 450);
    }
}

void who_does_not_come_is_named_also_to_who_comes_late(void** /*state*/) {
    const auto store = make_hash_store();
    for (const int rank : {0, 2}) {
        const Agreement mine = step(store, rank, 4);
        const Status end = status_of([&] { agree(mine, Deadline::after_ms(20)); });
        assert_int_equal(end.code, TUTTI_ERR_TIMEOUT);
        assert_int_equal(end.rank, 1);
        assert_true(contains(end.message, "ranks 1-3, which have not called dance"));
    }
    for (const int rank : {1, 3}) {
        const Status end = status_of([&] { agree(step(store, rank, 4), test::ample()); });
        assert_int_equal(end.code, TUTTI_ERR_TIMEOUT);
    }
    assert_int_equal(store->num_keys(test::ample()), 0);
}

void trouble_ends_it_for_all_who_come(void** /*state*/) {
    const auto store = make_hash_store();
    std::vector<Status> ends(2);
    on_ranks(2, [&](int rank) {
        Agreement mine = step(store, rank, 3);
        mine.trouble = [rank](int other) {
            return rank == 0 && other == 2 ? Status{TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 died"}
                                           : Status{};
        };
        ends[static_cast<size_t>(rank)] = status_of([&] { agree(mine, test::ample()); });
    });
    for (const Status& end : ends) {
        assert_int_equal(end.code, TUTTI_ERR_PEER_LOST);
        assert_int_equal(end.rank, 2);
        assert_string_equal(end.message.c_str(), "rank 2 died");
    }
}

void a_lost_store_is_explained_by_the_rank_that_died(void** /*state*/) {
    auto server = make_store_server("127.0.0.1", 0);
    TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.port = server->port();
    Agreement mine = step(make_tcp_store(options), 1, 2);
    server.reset();
    mine.trouble = [asked = 0](int) mutable {
        return ++asked > 4 ? Status{TUTTI_ERR_PEER_LOST, 0, 0, "rank 0 died"} : Status{};
    };
    const Status end = status_of([&] { agree(mine, test::ample()); });
    assert_int_equal(end.code, TUTTI_ERR_PEER_LOST);
    assert_string_equal(end.message.c_str(), "rank 0 died");
}

void who_declines_waits_for_nobody(void** /*state*/) {
    const auto store = make_hash_store();
    decline(step(store, 2, 3), {TUTTI_ERR_INVALID_ARGUMENT, -1, 0, "left is right"}, test::ample());
    for (const int rank : {0, 1}) {
        const Status end = status_of([&] { agree(step(store, rank, 3), test::ample()); });
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_int_equal(end.rank, 2);
        assert_true(contains(end.message, "refused: left is right"));
    }
    assert_int_equal(store->num_keys(test::ample()), 0);
}

}  // namespace
}  // namespace tutti

int main() {
    using namespace tutti;
    const CMUnitTest tests[] = {
        TUTTI_TEST(all_learn_all_cards_and_leave_nothing),
        TUTTI_TEST(a_difference_is_shown_to_all),
        TUTTI_TEST(the_place_of_a_difference_is_shown_in_a_long_argument),
        TUTTI_TEST(who_does_not_come_is_named_also_to_who_comes_late),
        TUTTI_TEST(trouble_ends_it_for_all_who_come),
        TUTTI_TEST(a_lost_store_is_explained_by_the_rank_that_died),
        TUTTI_TEST(who_declines_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
