// Which coordinator a rank follows: every state and every event, without connections.
#include "membership/succession.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include "membership/protocol.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;
using Action = Succession::Action;

// Two hosts: "a" has ranks 0 and 1, "b" has 2, 3 and 4.
Succession::Known five_ranks(const std::vector<int>& gone = {}) {
    Succession::Known known{true, false, std::vector<bool>(5), {"a", "a", "b", "b", "b"}};
    for (const int rank : gone) known.is_gone[static_cast<size_t>(rank)] = true;
    return known;
}

Succession rank_that_follows(int rank, int coordinator) {
    Succession succession(rank, 5);
    succession.met(coordinator, "launcher");
    return succession;
}

void expect(const Succession::Decision& decision, Action action, const std::vector<int>& lost) {
    assert_int_equal(static_cast<int>(decision.action), static_cast<int>(action));
    assert_true(decision.lost == lost);
}

void the_lowest_rank_that_is_left_follows(void** /*state*/) {
    auto succession = rank_that_follows(3, 0);
    expect(succession.ended(five_ranks()), Action::Call, {0});
    assert_int_equal(succession.coordinator(), 1);
    assert_true(succession.is_calling(1));
    succession.reached();
    assert_false(succession.is_calling(1));
    succession.heard();
    expect(succession.ended(five_ranks({0})), Action::Call, {1});
    succession.reached();
    succession.heard();
    expect(succession.ended(five_ranks({0, 1})), Action::Coordinate, {2});
    assert_int_equal(succession.coordinator(), 3);
}

// Whatever is gone, all that are left find the same one.
void all_ranks_find_the_same_one(void** /*state*/) {
    for (int gone = 0; gone < 1 << 5; ++gone) {
        std::vector<int> ranks;
        for (int rank = 0; rank < 5; ++rank) {
            if (gone >> rank & 1) ranks.push_back(rank);
        }
        int first = -1;
        int left = 0;
        for (int rank = 1; rank < 5; ++rank) {
            if (gone >> rank & 1) continue;
            ++left;
            auto succession = rank_that_follows(rank, 0);
            const auto decision = succession.ended(five_ranks(ranks));
            if (decision.action == Action::GoOnAlone) continue;
            if (first < 0) first = succession.coordinator();
            assert_int_equal(succession.coordinator(), first);
            assert_int_equal(decision.action == Action::Coordinate, rank == first);
        }
        assert_int_equal(first >= 0, left > 1);
    }
}

// It may be the connection alone that broke, before this rank had come.
void one_that_has_said_nothing_is_called_again(void** /*state*/) {
    auto succession = rank_that_follows(3, 0);
    expect(succession.ended(five_ranks()), Action::Call, {0});
    for (int call = 0; call < 2; ++call) {
        succession.reached();
        expect(succession.ended(five_ranks({0})), Action::Call, {});
        assert_true(succession.is_calling(1));
    }
    succession.reached();
    expect(succession.ended(five_ranks({0})), Action::Call, {1});
    assert_true(succession.is_calling(2));
    succession.reached();
    expect(succession.fell_silent(five_ranks({0, 1})), Action::Coordinate, {2});
}

void one_that_refuses_is_not_called_again(void** /*state*/) {
    auto succession = rank_that_follows(3, 0);
    expect(succession.ended(five_ranks()), Action::Call, {0});
    succession.reached();
    expect(succession.ended(five_ranks({0})), Action::Call, {});
    expect(succession.missed(five_ranks({0}), ECONNREFUSED), Action::Call, {1});
    assert_true(succession.is_calling(2));
}

void a_coordinator_that_has_left_is_not_lost(void** /*state*/) {
    auto succession = rank_that_follows(1, 0);
    expect(succession.ended(five_ranks({0})), Action::Coordinate, {});
}

void a_coordinator_that_is_no_rank_is_never_lost(void** /*state*/) {
    auto succession = rank_that_follows(1, nobody);
    expect(succession.ended(five_ranks()), Action::Call, {});
    assert_int_equal(succession.coordinator(), 0);
    auto silent = rank_that_follows(1, nobody);
    expect(silent.fell_silent(five_ranks()), Action::Call, {});
}

void nobody_follows_before_all_have_joined(void** /*state*/) {
    auto succession = rank_that_follows(1, 0);
    Succession::Known known{false, false, std::vector<bool>(5), std::vector<std::string>(5)};
    expect(succession.ended(known), Action::Fail, {});
    expect(succession.fell_silent(known), Action::Fail, {0});
}

void the_last_rank_goes_on_alone(void** /*state*/) {
    auto succession = rank_that_follows(4, 0);
    expect(succession.ended(five_ranks({1, 2, 3})), Action::GoOnAlone, {0});
    assert_true(succession.is_alone());
    expect(succession.ended(five_ranks({0, 1, 2, 3})), Action::Nothing, {});
}

void a_rank_that_is_lost_itself_goes_on_alone(void** /*state*/) {
    auto succession = rank_that_follows(4, 0);
    expect(succession.ended(five_ranks({4})), Action::GoOnAlone, {0});
}

void a_rank_that_is_done_follows_nobody(void** /*state*/) {
    auto acknowledged = rank_that_follows(2, 0);
    Succession::Known known = five_ranks();
    known.is_acknowledged = true;
    expect(acknowledged.ended(known), Action::Nothing, {});
    auto ended = rank_that_follows(2, 0);
    ended.end();
    expect(ended.ended(five_ranks()), Action::Nothing, {});
    expect(ended.fell_silent(five_ranks()), Action::Nothing, {0});
    auto alone = rank_that_follows(2, 0);
    alone.go_on_alone();
    expect(alone.ended(five_ranks()), Action::Nothing, {});
}

// The one that was called is not reached: the next is.
void who_refuses_is_gone(void** /*state*/) {
    auto succession = rank_that_follows(4, 0);
    expect(succession.ended(five_ranks()), Action::Call, {0});
    expect(succession.missed(five_ranks({0}), ECONNREFUSED), Action::Call, {1});
    expect(succession.missed(five_ranks({0, 1}), ECONNREFUSED), Action::Call, {2});
    assert_false(succession.is_calling(2));
    assert_true(succession.is_calling(3));
}

void a_host_that_fell_silent_and_does_not_answer_is_cut_off(void** /*state*/) {
    for (const int number : {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH}) {
        auto succession = rank_that_follows(0, 2);
        expect(succession.fell_silent(five_ranks()), Action::Coordinate, {2});
        auto other = rank_that_follows(3, 0);
        expect(other.fell_silent(five_ranks()), Action::Call, {0});
        expect(other.missed(five_ranks({0}), number), Action::Call, {1});
        assert_int_equal(other.coordinator(), 2);
    }
    // Rank 1 follows the silent rank 2 of host "b", whose ranks 3 and 4 go with it.
    auto last = rank_that_follows(1, 2);
    expect(last.fell_silent(five_ranks({0})), Action::Coordinate, {2});
    auto far = rank_that_follows(1, 2);
    Succession::Known known{
        true, false, {false, false, true, false, false}, {"b", "a", "b", "b", "b"}};
    expect(far.fell_silent(known), Action::Call, {});
    expect(far.missed(known, ETIMEDOUT), Action::GoOnAlone, {3, 4, 0});
}

void a_host_that_ended_or_refuses_is_not_cut_off(void** /*state*/) {
    Succession::Known known{
        true, false, {false, false, true, false, false}, {"b", "a", "b", "b", "b"}};
    auto ended = rank_that_follows(1, 2);
    expect(ended.ended(known), Action::Call, {});
    expect(ended.missed(known, ETIMEDOUT), Action::Coordinate, {0});
    auto refuses = rank_that_follows(1, 2);
    expect(refuses.fell_silent(known), Action::Call, {});
    expect(refuses.missed(known, ECONNREFUSED), Action::Coordinate, {0});
    auto answered = rank_that_follows(1, 2);
    expect(answered.fell_silent(known), Action::Call, {});
    answered.reached();
    answered.heard();
    expect(answered.ended(known), Action::Coordinate, {0});
}

void the_own_host_is_never_cut_off(void** /*state*/) {
    Succession::Known known = five_ranks();
    known.hosts.assign(5, "a");
    auto last = rank_that_follows(4, 0);
    expect(last.fell_silent(known), Action::Call, {0});
    known.is_gone[0] = true;
    expect(last.missed(known, ETIMEDOUT), Action::Call, {1});
    assert_int_equal(last.coordinator(), 2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_lowest_rank_that_is_left_follows),
        TUTTI_TEST(all_ranks_find_the_same_one),
        TUTTI_TEST(one_that_has_said_nothing_is_called_again),
        TUTTI_TEST(one_that_refuses_is_not_called_again),
        TUTTI_TEST(a_coordinator_that_has_left_is_not_lost),
        TUTTI_TEST(a_coordinator_that_is_no_rank_is_never_lost),
        TUTTI_TEST(nobody_follows_before_all_have_joined),
        TUTTI_TEST(the_last_rank_goes_on_alone),
        TUTTI_TEST(a_rank_that_is_lost_itself_goes_on_alone),
        TUTTI_TEST(a_rank_that_is_done_follows_nobody),
        TUTTI_TEST(who_refuses_is_gone),
        TUTTI_TEST(a_host_that_fell_silent_and_does_not_answer_is_cut_off),
        TUTTI_TEST(a_host_that_ended_or_refuses_is_not_cut_off),
        TUTTI_TEST(the_own_host_is_never_cut_off),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
