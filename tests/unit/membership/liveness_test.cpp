// Does every rank learn why nobody can go on, once and with the first cause, and does nobody learn
// of failures that are none?
#include "membership/membership.hpp"

#include <cstdlib>
#include <thread>

#include "members.hpp"
#include "membership/invitation.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

void leave_all(std::vector<std::unique_ptr<Member>>& members) {
    for (const auto& member : members) (*member)->leave();
}

void everyone_learns_where_all_are(void**) {
    for (const int size : {2, 5}) {
        Members members(size);
        for (int rank = 0; rank < size; ++rank) {
            const Routes routes = members[static_cast<size_t>(rank)]->world().routes();
            assert_int_equal(routes.by_rank.size(), size);
            for (const auto& addresses : routes.by_rank) assert_true(!addresses.empty());
            for (int peer = 0; peer < size; ++peer) {
                assert_true(members[static_cast<size_t>(rank)]->same_host(peer));
            }
        }
    }
}

// Each on a thread of its own, for none returns before all have come.
std::future<std::unique_ptr<Member>> join(const std::shared_ptr<Store>& store, int rank, int size,
                                          const Deadline& deadline = ample()) {
    return std::async(std::launch::async,
                      [=] { return std::make_unique<Member>(store, rank, size, deadline); });
}

void a_second_process_of_one_rank_is_refused(void**) {
    const auto store = make_hash_store();
    auto zero = join(store, 0, 3);
    // Either may come first; the other is refused.
    std::vector<std::future<std::unique_ptr<Member>>> twins;
    twins.push_back(join(store, 1, 3));
    twins.push_back(join(store, 1, 3));
    std::string refusals;
    std::vector<std::unique_ptr<Member>> members;
    auto two = std::async(std::launch::async, [&] {
        // When one of them was refused, or all would have come before the second.
        while (twins[0].wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
               twins[1].wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
        }
        return std::make_unique<Member>(store, 2, 3);
    });
    members.push_back(two.get());
    members.push_back(zero.get());
    for (auto& twin : twins) {
        try {
            members.push_back(twin.get());
        } catch (const Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_INVALID_ARGUMENT);
            refusals += error.what();
        }
    }
    assert_string_equal(
        refusals.c_str(),
        "rank 0 refused this process: another process has already joined as rank 1");
    for (const auto& member : members) assert_int_equal(member->failures(), 0);
    leave_all(members);
}

void a_process_of_another_group_size_is_refused(void**) {
    const auto store = make_hash_store();
    auto zero = join(store, 0, 2);
    TUTTI_EXPECT_ERROR(Member(store, 1, 3), TUTTI_ERR_INVALID_ARGUMENT,
                       "it says rank 1 of 3, and rank 0 says 2 ranks");
    TUTTI_EXPECT_ERROR(Member(store, 2, 2), TUTTI_ERR_INVALID_ARGUMENT, "it says rank 2 of 2");
    Member one(store, 1, 2);
    const auto first = zero.get();
    assert_int_equal(first->failures() + one.failures(), 0);
}

void a_second_process_of_a_rank_is_refused_once_the_group_is_complete(void**) {
    const auto store = make_hash_store();
    {
        Members members(3, store);
        TUTTI_EXPECT_ERROR(Member(store, 2, 3), TUTTI_ERR_INVALID_ARGUMENT,
                           "another process has already joined as rank 2");
        TUTTI_EXPECT_ERROR(Member(store, 0, 3), TUTTI_ERR_INVALID_ARGUMENT,
                           "another process has already joined as rank 0, or another group uses");
        for (size_t rank = 0; rank < 3; ++rank) assert_int_equal(members[rank].failures(), 0);
    }
    assert_int_equal(store->num_keys(ample()), 0);  // the invitation has gone with rank 0
}

// A rank that has left, or whose group has failed, waits for the next group on the same store.
void a_rank_may_come_for_the_next_group_before_the_others_leave_this_one(void**) {
    for (const bool fails : {false, true}) {
        const auto store = make_hash_store();
        std::future<std::unique_ptr<Member>> next;
        {
            Members members(2, store);
            if (fails) {
                members[1]->report({TUTTI_ERR_MISMATCH, 1, 0, "it fails"});
            } else {
                members[1]->leave();
            }
            members.expect_end({0}, fails);
            members[1].destroy();
            next = join(store, 1, 2);
        }
        Member zero(store, 0, 2);
        const auto one = next.get();
        assert_int_equal(zero.failures() + one->failures(), 0);
        (*one)->leave();
    }
}

// As a rank 0 leaves it that is killed.
void an_invitation_that_nobody_answers_for_is_replaced(void**) {
    const auto store = make_hash_store();
    const auto socket = net::ListenSocket::bind("127.0.0.1", 0, 1);
    membership::Invitation stale;
    stale.port = socket.port();  // taken, at another address
    stale.token = membership::random_token();
    stale.host = "another";
    stale.addresses = {"127.0.0.2"};
    store->set("tutti/control", stale.text(), ample());
    auto one = join(store, 1, 2);
    Member zero(store, 0, 2);
    (*one.get())->leave();
}

void expect_missing(std::future<std::unique_ptr<Member>> member, int rank, const char* sentence) {
    try {
        member.get();
        fail_msg("not all have come");
    } catch (const Error& error) {
        assert_int_equal(error.status().code, TUTTI_ERR_TIMEOUT);
        assert_int_equal(error.status().rank, rank);
        assert_string_equal(error.what(), sentence);
    }
}

void who_has_not_come_is_named(void**) {
    auto of_four = join(make_hash_store(), 0, 4, Deadline::after_ms(3000));
    auto of_two = join(make_hash_store(), 0, 2, Deadline::after_ms(3000));
    expect_missing(std::move(of_four), 1,
                   "timed out waiting for ranks 1, 2, 3, which have not joined");
    expect_missing(std::move(of_two), 1, "timed out waiting for rank 1, which has not joined");
}

// It may be why others have not come: they said something wrong of themselves.
void who_was_refused_is_told_to_those_who_wait_in_vain(void**) {
    const auto store = make_hash_store();
    auto lonely = join(store, 0, 2, Deadline::after_ms(10'000));
    for (int size = 3; size < 9; ++size) {
        TUTTI_EXPECT_ERROR(Member(store, 1, size), TUTTI_ERR_INVALID_ARGUMENT, "refused");
    }
    expect_missing(
        std::move(lonely), 1,
        "timed out waiting for rank 1, which has not joined; refused: rank 1 of 5, rank 1 "
        "of 6, rank 1 of 7, rank 1 of 8");
}

void without_rank_0_it_is_rank_0_that_is_missing(void**) {
    try {
        bootstrap_processes(make_hash_store(), 1, 2, "", Deadline::after_ms(1));
        fail_msg("rank 0 has not come");
    } catch (const Error& error) {
        assert_int_equal(error.status().code, TUTTI_ERR_TIMEOUT);
        assert_int_equal(error.status().rank, 0);
        assert_string_equal(error.what(), "timed out waiting for rank 0, which has not joined");
    }
}

void a_rank_that_dies_is_named_to_all(void**) {
    Members members(4);
    members[2].die();
    members.expect_failure({0, 1, 3}, TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
}

void a_rank_that_leaves_is_no_failure(void**) {
    Members members(3);
    members[2]->leave();
    for (const size_t rank : {0, 1}) assert_true(members[rank].farewells(1) == std::vector{2});
    members[2].destroy();
    // The next event is the first failure.
    members[1]->report({TUTTI_ERR_MISMATCH, 0, 0, "a later cause"});
    members.expect_failure({0, 1}, TUTTI_ERR_MISMATCH, 0, "a later cause");
    assert_int_equal(members[0].farewells(0).size(), 1);
}

void who_has_left_hears_of_nothing(void**) {
    Members members(3);
    members[2]->leave();
    members[1].farewells(1);
    members[1]->report({TUTTI_ERR_MISMATCH, 0, 0, "not for rank 2"});
    members.expect_failure({0, 1}, TUTTI_ERR_MISMATCH, 0, "not for rank 2");
    members[2]->suspect(1, "what it does no longer see");
    members[2].destroy();  // after all it was told
    assert_int_equal(members[2].failures(), 0);
}

void the_first_of_several_reports_is_the_cause_for_all(void**) {
    for (int turn = 0; turn < 20; ++turn) {
        Members members(4);
        for (const int rank : {1, 2, 3}) {
            members[static_cast<size_t>(rank)]->report(
                {TUTTI_ERR_BACKEND, rank, rank, cat("cause ", rank)});
        }
        const Status first = members[0].failure();
        assert_int_equal(first.system_errno, first.rank);
        members.expect_failure({0, 1, 2, 3}, TUTTI_ERR_BACKEND, first.rank,
                               cat("cause ", first.rank).c_str());
    }
}

void a_report_of_rank_0_reaches_all(void**) {
    Members members(3);
    members[0]->report({TUTTI_ERR_MISMATCH, 2, 0, "seen by rank 0"});
    members.expect_failure({0, 1, 2}, TUTTI_ERR_MISMATCH, 2, "seen by rank 0");
}

void a_broken_connection_to_a_living_rank_becomes_the_failure(void**) {
    Members members(3);
    members[1]->suspect(2, "the connection between rank 1 and rank 2 broke");
    members.expect_failure({0, 1, 2}, TUTTI_ERR_PEER_LOST, 2,
                           "the connection between rank 1 and rank 2 broke");
}

void a_broken_connection_is_explained_by_a_death(void**) {
    Members members(3);
    members[1]->suspect(2, "the connection broke");
    members[2].die();
    members.expect_failure({0, 1}, TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
}

// The farewell was sent first but came second: two connections have no common order.
void a_broken_connection_is_explained_by_a_farewell(void**) {
    Members members(3);
    members[1]->suspect(2, "the connection broke");
    members[2]->leave();
    assert_true(members[1].farewells(1) == std::vector{2});
    // Were the first suspicion still held, it would speak first.
    members[1]->suspect(0, "another connection broke");
    members.expect_failure({0, 1}, TUTTI_ERR_PEER_LOST, 0, "another connection broke");
}

// Whichever connection broke last, the one that nothing explains is the failure.
void a_farewell_explains_no_connection_but_its_own(void**) {
    Members members(4);
    members[1]->suspect(2, "the connection to rank 2 broke");
    members[1]->suspect(3, "the connection to rank 3 broke");
    members[2]->leave();
    members.expect_failure({0, 1, 3}, TUTTI_ERR_PEER_LOST, 3, "the connection to rank 3 broke");
}

// Both ends of a broken connection suspect each other: one of them is lost, and accuses nobody.
void a_broken_connection_loses_one_of_its_ends(void**) {
    Members members(4);
    std::promise<void> rank_3_is_gone;
    members[0]->world().on_gone([&](int rank) {
        if (rank == 3) rank_3_is_gone.set_value();
    });
    members[1]->suspect(2, "the connection broke");
    members[2]->suspect(1, "the connection broke");
    const int lost = members[0].failure().rank;
    assert_in_range(lost, 1, 2);
    // Were the other suspicion still held, it would speak first.
    members[0]->suspect(3, "another connection broke");
    rank_3_is_gone.get_future().wait();
    assert_false(members[0]->world().is_gone(3 - lost));
    members[0]->world().on_gone(nullptr);
}

void a_broken_connection_to_who_has_left_is_no_failure(void**) {
    Members members(3);
    members[2]->leave();
    assert_true(members[1].farewells(1) == std::vector{2});
    members[1]->suspect(2, "the connection broke");
    members[1]->suspect(0, "another connection broke");
    members.expect_failure({0, 1}, TUTTI_ERR_PEER_LOST, 0, "another connection broke");
}

void rank_0_may_leave_first(void**) {
    Members members(3);
    members[0]->leave();
    members[0].destroy();
    for (const size_t rank : {1, 2}) assert_int_equal(members[rank].farewells(1)[0], 0);
    // Its coordinator stays for them.
    members[1]->report({TUTTI_ERR_MISMATCH, 2, 0, "a later failure"});
    members.expect_failure({1, 2}, TUTTI_ERR_MISMATCH, 2, "a later failure");
}

void members_may_say_everything_at_once(void**) {
    for (int turn = 0; turn < 10; ++turn) {
        Members members(4);
        std::vector<std::thread> threads;
        for (size_t rank = 0; rank < 4; ++rank) {
            threads.emplace_back([&members, rank] {
                members[rank]->suspect(static_cast<int>(rank + 1) % 4, "broke");
                members[rank]->report({TUTTI_ERR_BACKEND, static_cast<int>(rank), 0, "at once"});
                members[rank]->leave();
                if (rank > 0) members[rank].destroy();
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (size_t rank = 0; rank < 4; ++rank) assert_in_range(members[rank].failures(), 0, 1);
    }
}

// Rank 1's stall may come before or after rank 0's.
void expect_mismatch_in(Members& members, const char* fragment) {
    for (const size_t rank : {0, 1}) {
        const Status status = members[rank].failure();
        assert_int_equal(status.code, TUTTI_ERR_MISMATCH);
        assert_true(status.message.find(fragment) != std::string::npos);
    }
}

void ranks_that_stall_in_one_call_and_then_in_two_fail_in_the_second(void**) {
    Members members(2);
    for (const size_t rank : {0, 1}) {
        members[rank]->set_compares_first(true);
        members[rank]->stalled(5, "a", "all_reduce #5");
    }
    members[0]->stalled(6, "b", "barrier #6");
    members[1]->stalled(6, "c", "gather #6");
    expect_mismatch_in(members, "called barrier #6");
    expect_mismatch_in(members, "called gather #6");
}

void a_rank_that_compares_first_stalls_in_another_call(void**) {
    Members members(2);
    members[1]->set_compares_first(true);
    for (const size_t rank : {0, 1}) members[rank]->stalled(5, "a", "all_reduce #5");
    expect_mismatch_in(members, "rank 1 called all_reduce #5 under TORCH_DISTRIBUTED_DEBUG=DETAIL");
}

}  // namespace

int main() {
    // A busy machine must not look like a stopped rank.
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const CMUnitTest tests[] = {
        TUTTI_TEST(everyone_learns_where_all_are),
        TUTTI_TEST(a_second_process_of_one_rank_is_refused),
        TUTTI_TEST(a_process_of_another_group_size_is_refused),
        TUTTI_TEST(a_second_process_of_a_rank_is_refused_once_the_group_is_complete),
        TUTTI_TEST(a_rank_may_come_for_the_next_group_before_the_others_leave_this_one),
        TUTTI_TEST(an_invitation_that_nobody_answers_for_is_replaced),
        TUTTI_TEST(who_has_not_come_is_named),
        TUTTI_TEST(who_was_refused_is_told_to_those_who_wait_in_vain),
        TUTTI_TEST(without_rank_0_it_is_rank_0_that_is_missing),
        TUTTI_TEST(a_rank_that_dies_is_named_to_all),
        TUTTI_TEST(a_rank_that_leaves_is_no_failure),
        TUTTI_TEST(who_has_left_hears_of_nothing),
        TUTTI_TEST(the_first_of_several_reports_is_the_cause_for_all),
        TUTTI_TEST(a_report_of_rank_0_reaches_all),
        TUTTI_TEST(a_broken_connection_to_a_living_rank_becomes_the_failure),
        TUTTI_TEST(a_broken_connection_is_explained_by_a_death),
        TUTTI_TEST(a_broken_connection_is_explained_by_a_farewell),
        TUTTI_TEST(a_farewell_explains_no_connection_but_its_own),
        TUTTI_TEST(a_broken_connection_loses_one_of_its_ends),
        TUTTI_TEST(a_broken_connection_to_who_has_left_is_no_failure),
        TUTTI_TEST(rank_0_may_leave_first),
        TUTTI_TEST(members_may_say_everything_at_once),
        TUTTI_TEST(ranks_that_stall_in_one_call_and_then_in_two_fail_in_the_second),
        TUTTI_TEST(a_rank_that_compares_first_stalls_in_another_call),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
