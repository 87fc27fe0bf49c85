// Does a group check, number and order its calls, and refuse work once it has failed? N ranks as
// threads, over the backend that the argument names.
#include <memory>

#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

void a_group_knows_itself(void**) {
    const Groups groups = make(2);
    for (int rank = 0; rank < 2; ++rank) {
        const Group& group = *groups[static_cast<size_t>(rank)];
        assert_int_equal(group.rank(), rank);
        assert_int_equal(group.size(), 2);
        assert_string_equal(group.name().c_str(), "team");
        assert_string_equal(group.backend_name(), channel_name().c_str());
        assert_true(group.same_host());
        for (const int other : {0, 1}) assert_true(group.same_host(other));
        for (const int nobody : {-1, 2}) assert_false(group.same_host(nobody));
    }
}

void wrong_options_are_named(void**) {
    const auto store = make_hash_store();
    TUTTI_EXPECT_ERROR(Group::create(options(store, 0, 0)), TUTTI_ERR_INVALID_ARGUMENT,
                       "world_size is 0");
    TUTTI_EXPECT_ERROR(Group::create(options(store, 2, 2)), TUTTI_ERR_INVALID_ARGUMENT,
                       "rank is 2");
    TUTTI_EXPECT_ERROR(Group::create(options(store, -1, 2)), TUTTI_ERR_INVALID_ARGUMENT,
                       "rank is -1");
    auto unknown = options(store, 0, 1);
    unknown.backend = "pigeon";
    TUTTI_EXPECT_ERROR(Group::create(unknown), TUTTI_ERR_UNSUPPORTED, "pigeon");
}

// "Returns when all ranks have come."
void making_a_group_ends_when_a_rank_does_not_come(void**) {
    for (const int rank : {0, 1}) {
        auto lonely = options(make_hash_store(), rank, 2);
        lonely.timeout_ms = rank == 0 ? 3000 : 100;  // rank 0 has itself to connect to before
        const Status status = status_of([&] { Group::create(lonely); });
        assert_int_equal(status.code, TUTTI_ERR_TIMEOUT);
        assert_true(
            contains(status.message, cat("making group \"team\" (rank ", rank, " of 2): ")));
    }
}

void synchronous_and_asynchronous_calls_run_in_one_order(void**) {
    const Groups groups = make(3);
    on_ranks(3, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        std::vector<std::shared_ptr<Work>> works;
        std::vector<std::unique_ptr<Numbers>> numbers;
        for (int round = 0; round < 60; ++round) {
            numbers.push_back(std::make_unique<Numbers>(1 + round * 300, rank + round));
            Numbers& mine = *numbers.back();
            if (round % 3 == 0) {
                group.run(mine.sum(), 0);
            } else if (round % 3 == 1) {
                works.push_back(group.start(mine.sum(), 0));
            } else {
                works.push_back(group.start(Barrier{}, 0));
                if (round % 2 == 0) group.run(Barrier{}, 0);
            }
        }
        for (const auto& work : works) {
            require(work->wait(ample()), "a work did not end");
            require(work->status()->ok(), work->status()->message);
        }
        for (int round = 0; round < 60; ++round) {
            if (round % 3 == 2) continue;
            const auto& data = numbers[static_cast<size_t>(round)]->data;
            require(data.front() == 3 + 3 * round && data.back() == data.front(),
                    cat("round ", round, " gave ", data.front()));
        }
    });
}

// Calls of several threads of a rank: here all alike, so any order agrees across the ranks.
void calls_of_several_threads_are_numbered_alike(void**) {
    const Groups groups = make(2);
    constexpr int threads_each = 3;
    on_ranks(2 * threads_each, [&](int thread) {
        Group& group = *groups[static_cast<size_t>(thread % 2)];
        for (int turn = 0; turn < 100; ++turn) {
            Numbers mine(10, 1);
            if ((thread / 2 + turn) % 2 == 0) {
                group.run(mine.sum(), 0);
            } else {
                const auto work = group.start(mine.sum(), 0);
                require(work->wait(ample()), "a work did not end");
                require(work->status()->ok(), work->status()->message);
            }
            require(mine.data[9] == 2, "the sum");
        }
    });
}

void a_wrong_argument_is_no_failure_of_the_group(void**) {
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(4, 1);
        require(status_of([&] {
                    group.run(Broadcast{mine.view(), 2}, 0);
                }).code == TUTTI_ERR_INVALID_ARGUMENT,
                "a root outside the group");
        require(status_of([&] {
                    group.start(Send{mine.view(), 7, 0}, 0);
                }).code == TUTTI_ERR_INVALID_ARGUMENT,
                "a destination outside the group");
        require(status_of([&] {
                    group.run(Send{mine.view(), rank, 0}, 0);
                }).code == TUTTI_ERR_INVALID_ARGUMENT,
                "a synchronous send to itself");
        require(status_of([&] {
                    group.run(Receive{mine.view(), rank, 0}, 0);
                }).code == TUTTI_ERR_INVALID_ARGUMENT,
                "a synchronous receive from itself");
        group.run(mine.sum(), 0);
        require(mine.data[0] == 2, "the group goes on");
    });
}

void a_failed_group_refuses_work_with_the_same_reason(void**) {
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        group.run(Barrier{}, 0);
        Numbers mine(rank == 0 ? 3 : 4, 1);
        const Status first = status_of([&] { group.run(mine.sum(), 0); });
        require(first.code == TUTTI_ERR_MISMATCH, first.message);
        require(contains(first.message, "all_reduce #2") &&
                    contains(first.message, cat(" on group \"team\" (rank ", rank, " of 2): ")) &&
                    contains(first.message, "int32 × 3") && contains(first.message, "int32 × 4"),
                first.message);
        const std::string reason = first.message.substr(first.message.find("of 2): ") + 7);
        const auto refuses = [&](const char* name, const std::function<void()>& call) {
            const Status status = status_of(call);
            require(status.code == first.code && status.rank == first.rank, status.message);
            require(status.message == cat(name, " on group \"team\" (rank ", rank,
                                          " of 2), which has failed before: ", reason),
                    status.message);
        };
        refuses("all_reduce", [&] { group.run(mine.sum(), 0); });
        refuses("barrier", [&] { group.run(Barrier{}, 0); });
        refuses("barrier", [&] { group.start(Barrier{}, 0); });
        if (has_messages()) {
            refuses("send", [&] { group.start(Send{mine.view(), 1 - rank, 0}, 0); });
            refuses("recv", [&] { group.run(Receive{mine.view(), 1 - rank, 0}, 0); });
        }
        // The fault of a call is told first.
        require(status_of([&] {
                    group.run(Broadcast{mine.view(), 2}, 0);
                }).code == TUTTI_ERR_INVALID_ARGUMENT,
                "the argument");
    });
}

void calls_behind_one_that_fails_end_with_its_reason(void**) {
    const Groups groups = make(2);
    const bool is_inline = abilities().completion == Completion::Inline;
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(rank == 0 ? 3 : 4, 1);
        std::vector<std::shared_ptr<Work>> works;
        works.push_back(group.start(mine.sum(), 0));
        Status first;
        // The group may have failed by the time the next is started.
        first = status_of([&] {
            for (int turn = 0; turn < 5; ++turn) works.push_back(group.start(Barrier{}, 0));
        });
        for (const auto& work : works) {
            require(work->wait(ample()), "a work did not end");
            // Where calls run side by side, those behind may have ended well before.
            const bool may_be_well = work != works.front() && !is_inline;
            require(
                work->status()->code == TUTTI_ERR_MISMATCH || (may_be_well && work->status()->ok()),
                work->status()->message);
        }
        require(first.ok() || first.code == TUTTI_ERR_MISMATCH, first.message);
    });
}

void a_call_that_times_out_says_which_and_the_others_hear_who_gave_up(void**) {
    const Groups groups = make(2);
    const Status mine = status_of([&] { groups[0]->run(Barrier{}, 5); });
    assert_int_equal(mine.code, TUTTI_ERR_TIMEOUT);
    assert_true(mine.rank == 1 || mine.rank == -1);  // not every backend knows for whom it waits
    assert_true(contains(mine.message, "barrier #1 on group \"team\" (rank 0 of 2): timed out"));
    Status theirs = status_of([&] { groups[1]->run(Barrier{}, 0); });
    // A rank that finds what the other had sent before may return; its next call fails.
    if (theirs.ok()) theirs = status_of([&] { groups[1]->run(Barrier{}, 0); });
    assert_int_equal(theirs.code, TUTTI_ERR_ABORTED);
    assert_true(contains(theirs.message, "rank 0 gave up: barrier #1"));
    const Status again = status_of([&] { groups[0]->run(Barrier{}, 0); });
    assert_int_equal(again.code, TUTTI_ERR_TIMEOUT);
}

void a_message_that_times_out_is_no_failure_of_the_group(void**) {
    only_if(has_messages());
    const Groups groups = make(2);
    Numbers mine(4, 1);
    const Status status = status_of([&] { groups[0]->run(Receive{mine.view(), 1, 3}, 5); });
    assert_int_equal(status.code, TUTTI_ERR_TIMEOUT);
    assert_true(contains(status.message,
                         "recv from rank 1 (tag 3) on group \"team\" (rank 0 of 2): timed out"));
    on_ranks(2, [&](int rank) { groups[static_cast<size_t>(rank)]->run(Barrier{}, 0); });
}

void messages_go_from_rank_to_rank_and_to_oneself(void**) {
    only_if(has_messages());
    const Groups groups = make(3);
    on_ranks(3, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers out(5, rank);
        Numbers in(5, -1);
        if (rank == 0) {
            int sources = 0;
            for (int turn = 0; turn < 2; ++turn) {
                const int source = group.run(Receive{in.view(), any_source, 1}, 0);
                require(in.data[4] == source, "data of another rank");
                sources += source;
            }
            require(sources == 3, "both came");
        } else {
            group.run(Send{out.view(), 0, 1}, 0);
        }
        const auto sent = group.start(Send{out.view(), rank, 2}, 0);
        const auto received = group.start(Receive{in.view(), rank, 2}, 0);
        require(received->wait(ample()) && sent->wait(ample()), "to itself");
        require(received->status()->ok() && received->source_rank() == rank, "from itself");
        // A message that waits blocks no collective.
        Numbers later(5, -1);
        const auto waiting = group.start(Receive{later.view(), (rank + 1) % 3, 9}, 0);
        group.run(Barrier{}, 0);
        group.run(Send{out.view(), (rank + 2) % 3, 9}, 0);
        require(waiting->wait(ample()) && waiting->status()->ok(), "the message that waited");
        require(later.data[0] == (rank + 1) % 3, "its data");
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_backend(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_group_knows_itself),
        TUTTI_TEST(wrong_options_are_named),
        TUTTI_TEST(making_a_group_ends_when_a_rank_does_not_come),
        TUTTI_TEST(synchronous_and_asynchronous_calls_run_in_one_order),
        TUTTI_TEST(calls_of_several_threads_are_numbered_alike),
        TUTTI_TEST(a_wrong_argument_is_no_failure_of_the_group),
        TUTTI_TEST(a_failed_group_refuses_work_with_the_same_reason),
        TUTTI_TEST(calls_behind_one_that_fails_end_with_its_reason),
        TUTTI_TEST(a_call_that_times_out_says_which_and_the_others_hear_who_gave_up),
        TUTTI_TEST(a_message_that_times_out_is_no_failure_of_the_group),
        TUTTI_TEST(messages_go_from_rank_to_rank_and_to_oneself),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
