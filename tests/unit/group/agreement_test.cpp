// Do ranks that take a step together end with the same outcome, whatever one of them does?
#include "group/agreement.hpp"

#include <set>

#include "groups.hpp"

namespace tutti {
namespace {

using test::ChannelWorld;
using test::contains;
using test::on_ranks;
using test::status_of;

Agreement step(int size, const std::string& key = "split/1") {
    Agreement agreement;
    agreement.key = key;
    for (int one = 0; one < size; ++one) agreement.participants.push_back(one);
    agreement.function = "dance";
    agreement.arguments = {"tune waltz", "pairs 3"};
    agreement.new_groups = 2;
    return agreement;
}

// How it ended on each rank. `change` makes a rank different.
std::vector<Status> dance(ChannelWorld& world, const Deadline& deadline,
                          const std::function<void(int, Agreement&)>& change) {
    std::vector<Status> ends(static_cast<size_t>(world.size()));
    on_ranks(world.size(), [&](int rank) {
        Agreement mine = step(world.size());
        change(rank, mine);
        ends[static_cast<size_t>(rank)] =
            status_of([&] { agree(world.membership(rank), mine, deadline); });
    });
    return ends;
}

void all_learn_the_same_numbers_which_no_other_step_has(void** /*state*/) {
    ChannelWorld world(4);
    std::set<uint32_t> before;
    for (int round = 0; round < 20; ++round) {
        std::vector<uint32_t> first(4);
        on_ranks(4, [&](int rank) {
            first[static_cast<size_t>(rank)] =
                agree(world.membership(rank), step(4, cat("split/", round)), test::ample());
        });
        for (const uint32_t one : first) assert_int_equal(one, first.front());
        assert_true(before.insert(first.front()).second);
        assert_true(before.insert(first.front() + 1).second);
        assert_false(before.contains(0));
    }
}

void a_difference_is_shown_to_all(void** /*state*/) {
    ChannelWorld world(3);
    const auto ends = dance(world, test::ample(), [](int rank, Agreement& mine) {
        if (rank == 1) mine.arguments[1] = "pairs 4";
    });
    for (const Status& end : ends) {
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_true(contains(end.message, "rank 1 called dance with pairs 4"));
        assert_true(contains(end.message, "called dance with pairs 3"));
        assert_false(contains(end.message, "waltz"));  // they agree on that
    }
}

void long_arguments_that_are_the_same_are_no_difference(void** /*state*/) {
    ChannelWorld world(3);
    const auto ends = dance(world, test::ample(), [&](int, Agreement& mine) {
        mine.arguments = {std::string(5'000'000, 'x')};
    });
    for (const Status& end : ends) assert_true(end.ok());
    const auto others = dance(world, test::ample(), [&](int rank, Agreement& mine) {
        mine.key = "split/2";
        mine.arguments = {std::string(5'000'000, 'x') + (rank == 2 ? "y" : "z")};
    });
    for (const Status& end : others) {
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_true(contains(end.message, "differ beyond"));
    }
}

void the_place_of_a_difference_is_shown_in_a_long_argument(void** /*state*/) {
    std::string ranks = "ranks ";
    for (int rank = 0; rank < 1000; ++rank) ranks += cat(2 * rank, ", ");
    ChannelWorld world(2);
    const auto ends = dance(world, test::ample(), [&](int rank, Agreement& mine) {
        mine.arguments = {cat(ranks, rank == 0 ? "the first" : "the second", ranks)};
    });
    for (const Status& end : ends) {
        assert_true(contains(end.message, "the first"));
        assert_true(contains(end.message, "the second"));
        assert_true(end.message.size() < 450);
    }
}

void who_does_not_come_is_named_also_to_who_comes_late(void** /*state*/) {
    ChannelWorld world(4);
    for (const int rank : {0, 2}) {
        const Status end =
            status_of([&] { agree(world.membership(rank), step(4), Deadline::after_ms(20)); });
        assert_int_equal(end.code, TUTTI_ERR_TIMEOUT);
        assert_int_equal(end.rank, 1);
        assert_true(contains(end.message, "ranks 1-3, which have not called dance"));
    }
    for (const int rank : {1, 3}) {
        const Status end =
            status_of([&] { agree(world.membership(rank), step(4), test::ample()); });
        assert_int_equal(end.code, TUTTI_ERR_TIMEOUT);
    }
}

// However it is left out that a rank takes part: it died, left, or the group has failed.
void what_keeps_a_rank_away_ends_it_for_all_who_come(void** /*state*/) {
    for (const int how : {0, 1, 2}) {
        ChannelWorld world(3);
        std::vector<Status> ends(3);
        on_ranks(3, [&](int rank) {
            Membership& membership = world.membership(rank);
            if (rank < 2) {
                ends[static_cast<size_t>(rank)] =
                    status_of([&] { agree(membership, step(3), test::ample()); });
            } else if (how == 0) {
                membership.leave();
            } else if (how == 1) {
                membership.report({TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 died"});
            } else {
                world.membership(0).suspect(2, "rank 2 died");
            }
        });
        for (const int rank : {0, 1}) {
            const Status& end = ends[static_cast<size_t>(rank)];
            assert_int_equal(end.code, TUTTI_ERR_PEER_LOST);
            assert_int_equal(end.rank, 2);
            assert_string_equal(end.message.c_str(),
                                how == 0 ? "rank 2 left the group" : "rank 2 died");
        }
    }
}

void who_declines_waits_for_nobody(void** /*state*/) {
    ChannelWorld world(3);
    decline(world.membership(2), step(3), {TUTTI_ERR_INVALID_ARGUMENT, -1, 0, "left is right"});
    for (const int rank : {0, 1}) {
        const Status end =
            status_of([&] { agree(world.membership(rank), step(3), test::ample()); });
        assert_int_equal(end.code, TUTTI_ERR_MISMATCH);
        assert_int_equal(end.rank, 2);
        assert_true(contains(end.message, "refused: left is right"));
    }
}

}  // namespace
}  // namespace tutti

int main() {
    using namespace tutti;
    const CMUnitTest tests[] = {
        TUTTI_TEST(all_learn_the_same_numbers_which_no_other_step_has),
        TUTTI_TEST(a_difference_is_shown_to_all),
        TUTTI_TEST(long_arguments_that_are_the_same_are_no_difference),
        TUTTI_TEST(the_place_of_a_difference_is_shown_in_a_long_argument),
        TUTTI_TEST(who_does_not_come_is_named_also_to_who_comes_late),
        TUTTI_TEST(what_keeps_a_rank_away_ends_it_for_all_who_come),
        TUTTI_TEST(who_declines_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
