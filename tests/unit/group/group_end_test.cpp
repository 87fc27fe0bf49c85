// Does a group end without hanging, whatever runs in it, and do the others learn of it? N ranks as
// threads, over the backend that the argument names.
#include <atomic>
#include <future>
#include <memory>

#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

void destroying_twice_is_told(void**) {
    const Groups groups = make(1);
    groups[0]->run(Barrier{}, 0);
    groups[0]->destroy();
    TUTTI_EXPECT_ERROR(groups[0]->destroy(), TUTTI_ERR_INVALID_HANDLE, "was destroyed before");
    TUTTI_EXPECT_ERROR(groups[0]->run(Barrier{}, 0), TUTTI_ERR_INVALID_HANDLE, "was destroyed");
    TUTTI_EXPECT_ERROR(groups[0]->start(Barrier{}, 0), TUTTI_ERR_INVALID_HANDLE, "was destroyed");
    if (!has_messages()) return;
    Numbers mine(1, 1);
    TUTTI_EXPECT_ERROR(groups[0]->start(Send{mine.view(), 0, 0}, 0), TUTTI_ERR_INVALID_HANDLE,
                       "was destroyed");
}

// One thread asks why the group failed, while another destroys it.
void a_destroyed_group_tells_of_no_failure(void**) {
    for (int turn = 0; turn < 50; ++turn) {
        const Groups groups = make(1);
        std::promise<void> asks;
        auto failures = std::async(std::launch::async, [&] {
            for (int i = 0; i < 1000; ++i) {
                if (i == turn) asks.set_value();
                if (!groups[0]->failure().ok()) return false;
            }
            return true;
        });
        asks.get_future().wait();
        groups[0]->destroy();
        assert_true(failures.get());
        assert_true(groups[0]->failure().ok());
    }
}

void one_of_several_who_destroy_at_once_does_it(void**) {
    for (int turn = 0; turn < 20; ++turn) {
        const Groups groups = make(2);
        std::atomic<int> refused{0};
        on_ranks(4, [&](int thread) {
            refused +=
                status_of([&] { groups[static_cast<size_t>(thread % 2)]->destroy(); }).ok() ? 0 : 1;
        });
        assert_int_equal(refused, 2);
    }
}

// One call in the backend, one behind it, and one in the background: none may hold up the end.
void destroying_ends_those_who_wait_for_their_turn(void**) {
    for (int turn = 0; turn < 10; ++turn) {
        const Groups groups = make(2);  // rank 1 calls nothing
        Group& group = *groups[0];
        std::atomic<int> ready{0};
        std::vector<std::future<Status>> calls;
        for (int index = 0; index < 3; ++index) {
            calls.push_back(std::async(std::launch::async, [&] {
                ++ready;
                return status_of([&] { group.run(Barrier{}, 0); });
            }));
        }
        std::vector<std::shared_ptr<Work>> works;
        for (int index = 0; index < 3; ++index) works.push_back(group.start(Barrier{}, 0));
        Numbers mine(4, 1);
        if (has_messages()) {
            works.push_back(group.start(Receive{mine.view(), any_source, 0}, 0));
            works.push_back(group.start(Receive{mine.view(), 0, 0}, 0));
            works.push_back(group.start(Send{mine.view(), 1, 0}, 0));
        }
        while (ready < 3) std::this_thread::yield();
        group.destroy();
        for (auto& call : calls) {
            const Status status = call.get();
            // A call that came after the end hears of that.
            assert_true(status.code == TUTTI_ERR_ABORTED ||
                        status.code == TUTTI_ERR_INVALID_HANDLE);
        }
        for (const auto& work : works) {
            assert_true(work->is_completed());
            assert_int_equal(work->status()->code, TUTTI_ERR_ABORTED);
        }
    }
}

void a_group_that_is_let_go_of_is_destroyed(void**) {
    Groups groups = make(2);
    const auto work = groups[0]->start(Barrier{}, 0);
    groups[0].reset();
    assert_true(work->is_completed());
    assert_int_equal(work->status()->code, TUTTI_ERR_ABORTED);
}

void who_waits_for_a_rank_that_destroyed_its_group_learns_it(void**) {
    const Groups groups = make(3);
    std::vector<std::shared_ptr<Work>> works{groups[0]->start(Barrier{}, 0),
                                             groups[1]->start(Barrier{}, 0)};
    Numbers mine(4, 1);
    if (has_messages()) works.push_back(groups[0]->start(Receive{mine.view(), 2, 0}, 0));
    groups[2]->destroy();
    for (const auto& work : works) {
        assert_true(work->wait(ample()));
        assert_int_equal(work->status()->code, TUTTI_ERR_PEER_LOST);
        assert_int_equal(work->status()->rank, 2);
    }
}

void what_was_sent_arrives_although_the_sender_destroys_its_group(void**) {
    only_if(has_messages());
    for (int turn = 0; turn < 10; ++turn) {
        const Groups groups = make(2);
        std::vector<std::unique_ptr<Numbers>> in;
        std::vector<std::shared_ptr<Work>> works;
        constexpr int count = 20;
        const auto size = [](int index) { return index % 4 == 0 ? size_t{50'000} : size_t{10}; };
        std::thread sender([&] {
            for (int index = 0; index < count; ++index) {
                Numbers out(size(index), index);
                groups[1]->run(Send{out.view(), 0, index % 2}, 0);
            }
            groups[1]->destroy();
        });
        for (int index = 0; index < count; ++index) {
            in.push_back(std::make_unique<Numbers>(size(index), -1));
            works.push_back(groups[0]->start(Receive{in.back()->view(), 1, index % 2}, 0));
        }
        for (int index = 0; index < count; ++index) {
            const auto place = static_cast<size_t>(index);
            assert_true(works[place]->wait(ample()));
            if (!works[place]->status()->ok())
                fail_msg("%s", works[place]->status()->message.c_str());
            assert_int_equal(in[place]->data.back(), index);
        }
        sender.join();
    }
}

// The last collective: some are through it, and gone, while others are in it still.
void groups_end_behind_their_last_barrier(void**) {
    for (int turn = 0; turn < 15; ++turn) {
        Groups groups = make(4);
        on_ranks(4, [&](int rank) {
            auto& group = groups[static_cast<size_t>(rank)];
            Numbers mine(20'000, 1);
            group->run(mine.sum(), 0);
            group->run(Barrier{}, 0);
            group->destroy();
            group.reset();
            require(mine.data[19'999] == 4, "the sum");
        });
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_backend(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(destroying_twice_is_told),
        TUTTI_TEST(a_destroyed_group_tells_of_no_failure),
        TUTTI_TEST(one_of_several_who_destroy_at_once_does_it),
        TUTTI_TEST(destroying_ends_those_who_wait_for_their_turn),
        TUTTI_TEST(a_group_that_is_let_go_of_is_destroyed),
        TUTTI_TEST(who_waits_for_a_rank_that_destroyed_its_group_learns_it),
        TUTTI_TEST(what_was_sent_arrives_although_the_sender_destroys_its_group),
        TUTTI_TEST(groups_end_behind_their_last_barrier),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
