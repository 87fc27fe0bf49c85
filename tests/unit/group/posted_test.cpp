// Do calls of a backend that completes later run side by side, in order, and end as all others do:
// once, at their deadline, with their group? Ranks are threads, over the backend that the argument
// names, or "null".
#include <atomic>
#include <future>
#include <memory>

#include "group/coalescing.hpp"
#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using Works = std::vector<std::shared_ptr<Work>>;

// How a work ends that nobody waits for.
Status end_of(Work& work) {
    auto end = std::make_shared<std::promise<Status>>();
    auto future = end->get_future();
    work.then([end](const Status& status) { end->set_value(status); });
    return future.get();
}

// Neither a call in the background nor one that waits holds up those behind it.
void calls_are_under_way_side_by_side(void**) {
    const Groups groups = make(2);
    std::vector<std::unique_ptr<Numbers>> numbers;
    Works works;
    for (int index = 0; index < 5; ++index) {
        numbers.push_back(std::make_unique<Numbers>(4, index));
        works.push_back(groups[0]->start(numbers.back()->sum(), 0));
        assert_int_equal(works.back()->sequence_number(), index + 1);
    }
    Numbers waited_for(4, 10);
    auto waits = std::async(std::launch::async, [&] { groups[0]->run(waited_for.sum(), 0); });
    for (const auto& work : works) assert_true(work->state() == Work::State::Running);
    for (int index = 0; index < 6; ++index) {
        Numbers mine(4, 100);
        groups[1]->run(mine.sum(), 0);
        assert_int_equal(mine.data[3], 100 + (index < 5 ? index : 10));
    }
    waits.get();
    for (size_t index = 0; index < works.size(); ++index) {
        assert_true(works[index]->wait(ample()));
        assert_true(works[index]->status()->ok());
        assert_int_equal(numbers[index]->data[0], 100 + static_cast<int>(index));
    }
}

void synchronous_and_asynchronous_calls_have_one_order(void**) {
    const Groups groups = make(3);
    on_ranks(3, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        std::vector<std::unique_ptr<Numbers>> numbers;
        Works works;
        for (int round = 0; round < 100; ++round) {
            numbers.push_back(std::make_unique<Numbers>(1 + round * 10, rank + round));
            if (round % 3 == 0) {
                group.run(numbers.back()->sum(), 0);
                require(numbers.back()->data[0] == 3 + 3 * round, "a sum is there");
            } else {
                works.push_back(group.start(numbers.back()->sum(), 0));
            }
            if (round % 10 == 0) group.run(Barrier{}, 0);
        }
        for (const auto& work : works) {
            require(work->wait(ample()), "a work did not end");
            require(work->status()->ok(), work->status()->message);
        }
        for (int round = 0; round < 100; ++round) {
            const auto& data = numbers[static_cast<size_t>(round)]->data;
            require(data.front() == 3 + 3 * round && data.back() == data.front(), "the sum");
        }
    });
}

void calls_of_several_threads_are_numbered_alike(void**) {
    const Groups groups = make(2);
    on_ranks(6, [&](int thread) {
        Group& group = *groups[static_cast<size_t>(thread % 2)];
        for (int turn = 0; turn < 100; ++turn) {
            Numbers mine(10, 1);
            if ((thread / 2 + turn) % 2 == 0) {
                group.run(mine.sum(), 0);
            } else {
                const auto work = group.start(mine.sum(), 0);
                require(work->wait(ample()) && work->status()->ok(), "a work did not end well");
            }
            require(mine.data[9] == 2, "the sum");
        }
    });
}

void works_are_waited_for_together_and_called_back(void**) {
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers first(4, 1);
        Numbers second(4, 2);
        Works works{std::make_shared<Work>(), group.start(first.sum(), 0)};
        auto called = group.start(second.sum(), 0);
        require(Work::wait_any(works, ample()) == 1U, "the one that ends");
        require(first.data[0] == 2, "its sum");
        require(end_of(*called).ok() && second.data[0] == 4, "the one nobody waits for");
        require(end_of(*called).ok(), "once more, now that it is done");
        require(!Work::wait_any(std::span(works).first(1), Deadline::after_ms(1)), "none ends");
    });
}

void data_are_delivered_before_a_work_is_done(void**) {
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(4, 1);
        std::atomic<int> seen{0};
        const auto work = group.start(mine.sum(), 0, [&] { seen = mine.data[0]; });
        require(work->wait(ample()) && work->status()->ok() && seen == 2, "what was delivered");
        const auto fails = group.start(mine.sum(), 0, [&] { refuse("this rank's alone"); });
        require(fails->wait(ample()), "a work did not end");
        require(fails->status()->message == "this rank's alone", fails->status()->message);
        group.run(Barrier{}, 0);  // the group goes on
    });
}

void a_call_that_times_out_ends_the_group(void**) {
    const Groups groups = make(2);
    const auto behind = groups[0]->start(Barrier{}, 0);
    Numbers numbers(3, 1);
    const Status mine = status_of([&] { groups[0]->run(numbers.sum(), 5); });
    assert_int_equal(mine.code, TUTTI_ERR_TIMEOUT);
    assert_string_equal(mine.message.c_str(),
                        "all_reduce #2 (int32 × 3, SUM) on group \"team\" (rank 0 of 2): timed out "
                        "after 5 ms");
    assert_true(behind->wait(ample()));
    assert_int_equal(behind->status()->code, TUTTI_ERR_ABORTED);
    assert_true(contains(behind->status()->message, "barrier #1 on group"));
    assert_true(contains(behind->status()->message, "rank 0 gave up: all_reduce #2"));
    const Status theirs = status_of([&] { groups[1]->run(Barrier{}, 0); });
    assert_int_equal(theirs.code, TUTTI_ERR_ABORTED);
    assert_true(contains(theirs.message, "barrier #1 on group \"team\" (rank 1 of 2)"));
    assert_true(contains(theirs.message, "rank 0 gave up: all_reduce #2"));
    assert_int_equal(status_of([&] { groups[0]->run(Barrier{}, 0); }).code, TUTTI_ERR_TIMEOUT);
}

void a_call_that_nobody_waits_for_ends_at_its_deadline(void**) {
    const Groups groups = make(2);
    const Status mine = end_of(*groups[0]->start(Barrier{}, 5));
    assert_int_equal(mine.code, TUTTI_ERR_TIMEOUT);
    assert_true(
        contains(mine.message, "barrier #1 on group \"team\" (rank 0 of 2): timed out after 5 ms"));
    const Status theirs = end_of(*groups[1]->start(Barrier{}, 0));
    assert_true(contains(theirs.message, "rank 0 gave up: barrier #1"));
}

void a_call_that_fails_fails_all(void**) {
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(rank == 0 ? 3 : 4, 1);
        const Status first = status_of([&] { group.run(mine.sum(), 0); });
        require(first.code == TUTTI_ERR_MISMATCH && first.rank == 1 - rank, first.message);
        require(contains(first.message, "all_reduce #1") &&
                    contains(first.message, cat(" on group \"team\" (rank ", rank, " of 2): ")) &&
                    contains(first.message, "int32 × 3") && contains(first.message, "int32 × 4"),
                first.message);
        const Status again = status_of([&] { group.start(Barrier{}, 0); });
        require(again.code == TUTTI_ERR_MISMATCH && contains(again.message, "has failed before"),
                again.message);
    });
}

void what_the_backend_cannot_do_is_refused_before_anything_moves(void**) {
    const Groups groups = make(2);
    const Capabilities can = abilities();
    const std::string who = cat("backend \"", channel_name(), "\" does not support ");
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(4, 1);
        const auto refuses = [&](bool lacks, const std::string& what,
                                 const std::function<void()>& call) {
            if (!lacks) return;
            const Status status = status_of(call);
            require(status.code == TUTTI_ERR_UNSUPPORTED && status.message == cat(who, what),
                    status.message);
        };
        const View view = mine.view();
        View words = view;
        words.dtype = TUTTI_BFLOAT16;
        refuses(!can.kinds.has(CallKind::Gather), "gather", [&] {
            group.run(Gather{view, {}, 1 - rank}, 0);
        });
        const bool lacks_words = !can.dtypes.has(TUTTI_BFLOAT16);
        refuses(lacks_words, "all_reduce of bfloat16", [&] {
            group.run(AllReduce{words, words, TUTTI_SUM}, 0);
        });
        refuses(!can.ops.has(TUTTI_INT32, TUTTI_BAND), "all_reduce with BAND", [&] {
            group.start(AllReduce{view, view, TUTTI_BAND}, 0);
        });
        const std::string messages = "messages between two ranks";
        refuses(!can.messages, messages, [&] { group.run(Send{view, 1 - rank, 0}, 0); });
        refuses(!can.messages, messages, [&] { group.start(Receive{view, 0, 0}, 0); });
        const Message batch[] = {Send{view, 1 - rank, 0}};
        refuses(!can.messages, messages, [&] { group.start(batch, 0); });
        if (can.kinds.has(CallKind::Coalesced)) {
            Coalescing coalescing(group.shared_from_this());
            refuses(lacks_words, "broadcast of bfloat16", [&] {
                coalescing.collect(Broadcast{words, 0});
            });
            coalescing.collect(mine.sum());
            group.run(coalescing.end(), 0);
        } else {
            refuses(true, "coalesced", [&] { Coalescing(group.shared_from_this()); });
            group.run(mine.sum(), 0);
        }
        require(mine.data[0] == 2, "the group goes on");
    });
}

void exact_sums_are_refused_too(void**) {
    only_if(!abilities().reproducible);
    const auto store = make_hash_store();
    on_ranks(2, [&](int rank) {
        GroupOptions wanted = options(store, rank, 2);
        wanted.reproducible = true;
        const auto group = Group::create(wanted);
        double number = 1;
        const View view{&number, 1, TUTTI_FLOAT64};
        const Status status = status_of([&] { group->run(AllReduce{view, view, TUTTI_SUM}, 0); });
        require(contains(status.message, "reproducible all_reduce of float64 with SUM"),
                status.message);
        Numbers whole(4, 1);  // exact anyway
        group->run(whole.sum(), 0);
        group->destroy();
    });
}

void destroying_ends_what_is_under_way(void**) {
    for (int turn = 0; turn < 20; ++turn) {
        const Groups groups = make(2);  // rank 1 calls nothing
        Group& group = *groups[0];
        std::atomic<int> ready{0};
        std::vector<std::future<Status>> calls;
        for (int index = 0; index < 3; ++index) {
            calls.push_back(std::async(std::launch::async, [&] {
                Numbers mine(100, 1);  // goes as soon as the call has ended
                ++ready;
                return status_of([&] { group.run(mine.sum(), 0); });
            }));
        }
        Works works;
        for (int index = 0; index < 3; ++index) works.push_back(group.start(Barrier{}, 0));
        while (ready < 3) std::this_thread::yield();
        group.destroy();
        for (auto& call : calls) {
            const Status status = call.get();
            assert_true(status.code == TUTTI_ERR_ABORTED ||
                        status.code == TUTTI_ERR_INVALID_HANDLE);
        }
        for (const auto& work : works) {
            assert_true(work->is_completed());
            assert_int_equal(work->status()->code, TUTTI_ERR_ABORTED);
            assert_true(contains(work->status()->message, "the group was destroyed"));
        }
    }
}

// One rank ends its group while the calls of all are moving.
void groups_end_amid_their_calls(void**) {
    for (int turn = 0; turn < 30; ++turn) {
        Groups groups = make(3);
        on_ranks(3, [&](int rank) {
            auto& group = groups[static_cast<size_t>(rank)];
            Works works;
            std::vector<std::unique_ptr<Numbers>> numbers;
            const Status status = status_of([&] {
                for (int index = 0; index < 10; ++index) {
                    numbers.push_back(std::make_unique<Numbers>(5'000, 1));
                    works.push_back(group->start(numbers.back()->sum(), 0));
                }
            });
            require(status.ok() || rank != 2, status.message);
            if (rank == 2 && turn % 2 == 0) works.front()->wait(ample());
            if (rank == 2) group.reset();
            for (const auto& work : works) {
                require(work->wait(ample()), "a work did not end");
                const Status end = *work->status();
                require(
                    end.ok() || end.code == TUTTI_ERR_ABORTED || end.code == TUTTI_ERR_PEER_LOST,
                    end.message);
            }
        });
    }
}

void who_waits_for_a_rank_that_destroyed_its_group_learns_it(void**) {
    const Groups groups = make(3);
    const auto work = groups[0]->start(Barrier{}, 0);
    groups[2]->destroy();
    assert_true(work->wait(ample()));
    assert_int_equal(work->status()->code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(work->status()->rank, 2);
}

View on_device(View view) {
    view.device = {null_device, 0};
    return view;
}

// Calls go by their buffers to the backend of the device; what has none goes to the CPU's.
void use_both(Group& group) {
    Numbers mine(4, 1);
    group.run(mine.sum(), 0);
    require(mine.data[0] == group.size(), "the sum on the CPU");
    const View there = on_device(mine.view());
    group.run(AllReduce{there, there, TUTTI_SUM}, 0);
    require(mine.data[3] == group.size() * group.size(), "the sum on the device");
    const Status lacking = status_of([&] { group.run(Gather{there, {}, group.size()}, 0); });
    require(lacking.code != TUTTI_OK, "the device's backend cannot gather");
    group.monitored_barrier(false, 0);
    group.run(Barrier{}, 0);
}

void a_group_has_backends_for_several_devices(void**) {
    only_if(abilities().devices.has(null_device));
    const auto store = make_hash_store();
    on_ranks(3, [&](int rank) {
        GroupOptions wanted = options(store, rank, 3);
        wanted.backend = cat("cpu:loopback,cuda:", channel_name());
        const auto group = Group::create(wanted);
        require(group->backend_name() == std::string("loopback"), "the CPU's gives the name");
        use_both(*group);
        SplitOptions split;
        split.function = "new_group";
        split.parts = {{0, 2}};
        if (const auto part = group->split(split)) use_both(*part);
        group->destroy();
    });
}

void a_bare_name_stands_for_all_that_the_backend_serves(void**) {
    only_if(abilities().devices.has(null_device));
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) { use_both(*groups[static_cast<size_t>(rank)]); });
}

void a_map_without_the_cpu_refuses_its_buffers(void**) {
    only_if(abilities().devices.has(null_device));
    const auto store = make_hash_store();
    on_ranks(2, [&](int rank) {
        GroupOptions wanted = options(store, rank, 2);
        wanted.backend = cat("cuda:", channel_name());
        const auto group = Group::create(wanted);
        require(group->backend_name() == channel_name(), group->backend_name());
        Numbers mine(4, 1);
        const Status status = status_of([&] { group->run(mine.sum(), 0); });
        require(status.code == TUTTI_ERR_UNSUPPORTED &&
                    status.message == cat("all_reduce: backend \"", channel_name(),
                                          "\" does not serve devices of type cpu; \"cpu:gloo,cuda:",
                                          channel_name(), "\" does"),
                status.message);
        group->run(Barrier{}, 0);
        group->monitored_barrier(false, 0);
    });
}

void wrong_maps_are_refused(void**) {
    const auto refuses = [](const std::string& map, tutti_status code, const std::string& words) {
        const Status status = status_of([&] { resolve_backends(map); });
        if (status.code != code || !contains(status.message, words)) {
            fail_msg("%s: %s", map.c_str(), status.message.c_str());
        }
    };
    refuses("cpu:gloo,cuda:hierarchy", TUTTI_ERR_UNSUPPORTED,
            "backend \"hierarchy\" does not serve devices of type cuda");
    refuses("cpu:gloo,cpu:shm", TUTTI_ERR_INVALID_ARGUMENT, "it names cpu twice");
    refuses("cpu:gloo,tpu:shm", TUTTI_ERR_INVALID_ARGUMENT, "there is no type of device \"tpu\"");
    refuses("cpu:gloo,", TUTTI_ERR_INVALID_ARGUMENT, "\"\" is not \"device:backend\"");
    refuses("cpu:", TUTTI_ERR_INVALID_ARGUMENT, "\"cpu:\" is not \"device:backend\"");
    refuses("cpu:pigeon", TUTTI_ERR_UNSUPPORTED, "backend is \"pigeon\"; this build knows");
    refuses("xpu:shm", TUTTI_ERR_UNSUPPORTED, "does not serve devices of type xpu");
    refuses("cuda:shm", TUTTI_ERR_UNSUPPORTED, "by way of the CPU: \"shm\" names it for both");
    assert_string_equal(resolve_backends("cpu:GLOO,cuda:gloo").text().c_str(), "gloo");
    assert_string_equal(resolve_backends("cuda:null,cpu:shm").text().c_str(), "cpu:shm,cuda:null");
}

}  // namespace

int main(int count, char** arguments) {
    channel_name() = "null";
    choose_backend(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(calls_are_under_way_side_by_side),
        TUTTI_TEST(synchronous_and_asynchronous_calls_have_one_order),
        TUTTI_TEST(calls_of_several_threads_are_numbered_alike),
        TUTTI_TEST(works_are_waited_for_together_and_called_back),
        TUTTI_TEST(data_are_delivered_before_a_work_is_done),
        TUTTI_TEST(a_call_that_times_out_ends_the_group),
        TUTTI_TEST(a_call_that_nobody_waits_for_ends_at_its_deadline),
        TUTTI_TEST(a_call_that_fails_fails_all),
        TUTTI_TEST(what_the_backend_cannot_do_is_refused_before_anything_moves),
        TUTTI_TEST(exact_sums_are_refused_too),
        TUTTI_TEST(destroying_ends_what_is_under_way),
        TUTTI_TEST(groups_end_amid_their_calls),
        TUTTI_TEST(who_waits_for_a_rank_that_destroyed_its_group_learns_it),
        TUTTI_TEST(a_group_has_backends_for_several_devices),
        TUTTI_TEST(a_bare_name_stands_for_all_that_the_backend_serves),
        TUTTI_TEST(a_map_without_the_cpu_refuses_its_buffers),
        TUTTI_TEST(wrong_maps_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
