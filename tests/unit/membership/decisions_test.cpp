// Decisions of the living, over a group of processes: the members of one in this process die, in
// any number and also while the others decide.
#include "membership/decisions.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "members.hpp"
#include "membership/world.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

using Agreed = Membership::Agreed;

std::future<Agreed> decide(Member& member, const membership::Decisions::Terms& terms,
                           const Deadline& deadline = ample()) {
    return std::async(std::launch::async,
                      [&member, terms, deadline] { return (*member).decide(terms, deadline); });
}

std::vector<int> all_but(int size, const std::vector<int>& without) {
    std::vector<int> ranks;
    for (int rank = 0; rank < size; ++rank) {
        if (std::ranges::find(without, rank) == without.end()) ranks.push_back(rank);
    }
    return ranks;
}

// All of `living` say something, and learn the same.
uint32_t expect_decision(Members& members, const std::vector<int>& living) {
    std::vector<std::future<Agreed>> all;
    for (const int rank : living) {
        all.push_back(decide(members[static_cast<size_t>(rank)],
                             {.payload = cat("rank ", rank), .new_groups = 1}));
    }
    std::vector<uint32_t> ids;
    for (auto& one : all) {
        const Agreed agreed = one.get();
        assert_true(agreed.members == living);
        for (size_t at = 0; at < living.size(); ++at)
            assert_string_equal(agreed.payloads[at].c_str(), cat("rank ", living[at]).c_str());
        ids.push_back(agreed.first_group_id);
    }
    for (const uint32_t id : ids) assert_int_equal(id, ids.front());
    return ids.front();
}

void a_healthy_group_decides_and_gets_new_ids(void**) {
    Members members(3);
    const uint32_t first = expect_decision(members, {0, 1, 2});
    assert_true(expect_decision(members, {0, 1, 2}) > first);
}

// Among them the coordinators, one after the other.
void ranks_die_until_one_is_left(void**) {
    constexpr int size = 5;
    for (const bool upwards : {true, false}) {
        Members members(size);
        std::vector<int> dead;
        uint32_t last = expect_decision(members, all_but(size, dead));
        for (int step = 0; step + 1 < size; ++step) {
            const int victim = upwards ? step : size - 1 - step;
            members[static_cast<size_t>(victim)].die();
            dead.push_back(victim);
            const uint32_t next = expect_decision(members, all_but(size, dead));
            assert_true(next > last);
            last = next;
        }
    }
}

// The victims may be members, if they had said what they say: all hear the same.
void ranks_die_while_the_others_decide(void**) {
    std::mt19937 random(20261130);  // NOLINT: the same every time
    for (int round = 0; round < 40; ++round) {
        constexpr int size = 5;
        Members members(size);
        std::vector<int> victims;
        const auto deaths = 1 + random() % 3;
        while (victims.size() < deaths) {
            const int victim = static_cast<int>(random() % size);
            if (std::ranges::find(victims, victim) == victims.end()) victims.push_back(victim);
        }
        const auto living = all_but(size, victims);
        std::vector<std::future<Agreed>> all;
        for (const int rank : living) {
            all.push_back(decide(members[static_cast<size_t>(rank)],
                                 {.payload = cat("rank ", rank), .new_groups = 1}));
        }
        for (const int victim : victims) members[static_cast<size_t>(victim)].die();
        const Agreed first = all.front().get();
        assert_true(first.members == living);
        for (size_t at = 1; at < all.size(); ++at) {
            const Agreed other = all[at].get();
            assert_true(other.members == first.members);
            assert_true(other.payloads == first.payloads);
            assert_int_equal(other.first_group_id, first.first_group_id);
        }
    }
}

void a_time_out_names_who_has_not_come_and_may_be_tried_again(void**) {
    Members members(3);
    TUTTI_EXPECT_ERROR(decide(members[2], {.payload = "c"}, Deadline::after_ms(50)).get(),
                       TUTTI_ERR_TIMEOUT, "waiting for ranks 0, 1,");
    // They learn that they came too late.
    for (const size_t rank : {0, 1}) {
        TUTTI_EXPECT_ERROR(decide(members[rank], {.payload = "a"}).get(), TUTTI_ERR_TIMEOUT,
                           "waiting for ranks 0, 1,");
    }
    expect_decision(members, {0, 1, 2});
}

// The thread that comes second has its own deadline, and the first goes on.
void a_thread_waits_for_another_one_until_its_time_is_up(void**) {
    std::promise<void> has_proposed;
    membership::Decisions decisions(0, {0, 1},
                                    [&](const std::string&) { has_proposed.set_value(); });
    auto first =
        std::async(std::launch::async, [&] { return decisions.take({.payload = "a"}, ample()); });
    has_proposed.get_future().wait();
    TUTTI_EXPECT_ERROR(decisions.take({.payload = "b"}, Deadline::after_ms(50)), TUTTI_ERR_TIMEOUT,
                       "another thread of this rank");
    membership::Decision decision{0, "decision/1"};
    decision.payloads = {"a", "c"};
    decisions.on_decision(decision);
    assert_true(first.get()->payloads == decision.payloads);
}

void an_excluded_rank_is_not_waited_for_and_hears_of_it(void**) {
    Members members(3);
    const membership::Decisions::Terms terms{.payload = "x", .excluded = {1}, .new_groups = 1};
    auto first = decide(members[0], terms);
    auto second = decide(members[2], terms);
    assert_true((first.get().members == std::vector{0, 2}));
    assert_true((second.get().members == std::vector{0, 2}));
    TUTTI_EXPECT_ERROR(decide(members[1], {.payload = "x"}).get(), TUTTI_ERR_ABORTED,
                       "rank 1 was excluded");
}

// All hear the same; it names two ranks that differ, and chance decides which two.
void expect_a_mismatch(std::vector<std::future<Agreed>> ranks) {
    std::set<std::string> said;
    for (auto& one : ranks) {
        try {
            (void)one.get();
            fail_msg("a decision has been taken");
        } catch (const Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_MISMATCH);
            said.insert(error.what());
        }
    }
    assert_int_equal(said.size(), 1);
    assert_non_null(std::strstr(said.begin()->c_str(), " excludes "));
}

void ranks_that_exclude_different_ones_hear_of_it(void**) {
    Members members(3);
    for (const auto& excluded :
         std::vector<std::vector<std::vector<int>>>{{{1}, {0}, {}}, {{}, {}, {1}}, {{2}, {}, {}}}) {
        std::vector<std::future<Agreed>> ranks;
        for (int rank = 0; rank < 3; ++rank) {
            const auto place = static_cast<size_t>(rank);
            ranks.push_back(decide(members[place], {.payload = "", .excluded = excluded[place]}));
        }
        expect_a_mismatch(std::move(ranks));
    }
    expect_decision(members, {0, 1, 2});
}

// Some ranks know that they are dead, and others do not.
void dead_ranks_may_be_excluded_by_some(void**) {
    Members members(4);
    members[1].die();
    members[3].die();
    for (const size_t rank : {0, 2}) {
        while (members[rank]->shared_world()->losses().size() < 2) std::this_thread::yield();
    }
    auto first = decide(members[0], {.payload = "", .excluded = {1}});
    auto second = decide(members[2], {.payload = "", .excluded = {3, 1}});
    assert_true((first.get().members == std::vector{0, 2}));
    assert_true((second.get().members == std::vector{0, 2}));
}

void an_excluded_rank_decides_nothing_any_more(void**) {
    Members members(2);
    auto first = decide(members[0], {.payload = "", .excluded = {1}});
    for (int call = 0; call < 2; ++call) {
        TUTTI_EXPECT_ERROR(decide(members[1], {.payload = ""}).get(), TUTTI_ERR_ABORTED,
                           "rank 1 was excluded");
    }
    assert_true((first.get().members == std::vector{0}));
}

void a_rank_that_passes_is_heard_and_takes_part_in_the_next_one(void**) {
    Members members(2);
    members[1]->decline_decision("no");
    const Agreed heard = decide(members[0], {.payload = "yes"}).get();
    assert_true((heard.payloads == std::vector<std::string>{"yes", "no"}));
    expect_decision(members, {0, 1});
}

// As by a thread that makes a group while another one destroys the first.
void leaving_the_world_ends_groups_that_are_being_made(void**) {
    Members members(2);
    const uint32_t id = expect_decision(members, {0, 1});
    Membership made(members[0]->shared_world(), id, {0, 1});
    auto waiting =
        std::async(std::launch::async, [&] { return made.decide({.payload = ""}, ample()); });
    while (waiting.wait_for(std::chrono::milliseconds(5)) != std::future_status::timeout) {
    }
    members[0]->leave();
    TUTTI_EXPECT_ERROR(waiting.get(), TUTTI_ERR_ABORTED, "destroyed");
    assert_int_equal(made.trouble(1).code, TUTTI_ERR_ABORTED);
    const Membership late(members[0]->shared_world(), id + 1, {0, 1});
    assert_int_equal(late.trouble(1).code, TUTTI_ERR_ABORTED);
}

void ranks_that_have_left_are_not_waited_for(void**) {
    Members members(3);
    members[1].destroy();
    expect_decision(members, {0, 2});
    members[0].destroy();  // the coordinator
    expect_decision(members, {2});
}

void a_rank_that_leaves_meanwhile_ends_its_own_wait(void**) {
    Members members(2);
    auto waiting = decide(members[0], {.payload = ""});
    while (waiting.wait_for(std::chrono::milliseconds(5)) != std::future_status::timeout) {
    }
    members[0]->leave();
    TUTTI_EXPECT_ERROR(waiting.get(), TUTTI_ERR_ABORTED, "destroyed");
}

// Steps of such a group end at once, decisions do not.
void a_group_that_has_failed_decides(void**) {
    Members members(3);
    members[1]->report({TUTTI_ERR_ABORTED, 1, 0, "revoked"});
    members.expect_failure({0, 1, 2}, TUTTI_ERR_ABORTED, 1, "revoked");
    expect_decision(members, {0, 1, 2});
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_group_that_has_failed_decides),
        TUTTI_TEST(a_healthy_group_decides_and_gets_new_ids),
        TUTTI_TEST(a_rank_that_leaves_meanwhile_ends_its_own_wait),
        TUTTI_TEST(a_thread_waits_for_another_one_until_its_time_is_up),
        TUTTI_TEST(a_time_out_names_who_has_not_come_and_may_be_tried_again),
        TUTTI_TEST(a_rank_that_passes_is_heard_and_takes_part_in_the_next_one),
        TUTTI_TEST(an_excluded_rank_decides_nothing_any_more),
        TUTTI_TEST(an_excluded_rank_is_not_waited_for_and_hears_of_it),
        TUTTI_TEST(dead_ranks_may_be_excluded_by_some),
        TUTTI_TEST(leaving_the_world_ends_groups_that_are_being_made),
        TUTTI_TEST(ranks_die_until_one_is_left),
        TUTTI_TEST(ranks_die_while_the_others_decide),
        TUTTI_TEST(ranks_that_exclude_different_ones_hear_of_it),
        TUTTI_TEST(ranks_that_have_left_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
