// The loop thread: order of tasks, exceptions, timers, signals, and an end that leaves nothing.
#include "net/loop.hpp"

#include <sched.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::net::Loop;
using tutti::net::Timer;

void posted_tasks_run_in_order_on_the_loop_thread(void**) {
    Loop loop("test");
    std::vector<int> order;
    bool always_there = true;
    for (int i = 0; i < 1000; ++i) {
        loop.post([&, i] {
            order.push_back(i);
            always_there = always_there && loop.on_thread();
        });
    }
    loop.run([] {});
    assert_true(always_there);
    assert_false(loop.on_thread());
    assert_int_equal(order.size(), 1000);
    for (int i = 0; i < 1000; ++i) assert_int_equal(order[static_cast<size_t>(i)], i);
}

void tasks_of_one_thread_keep_their_order_among_those_of_others(void**) {
    Loop loop("test");
    std::vector<std::vector<int>> seen(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < seen.size(); ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) loop.post([&, t, i] { seen[t].push_back(i); });
        });
    for (std::thread& thread : threads) thread.join();
    loop.run([] {});
    for (const auto& numbers : seen) {
        assert_int_equal(numbers.size(), 500);
        for (int i = 0; i < 500; ++i) assert_int_equal(numbers[static_cast<size_t>(i)], i);
    }
}

void a_task_may_post_another(void**) {
    std::promise<int> done;
    Loop loop("test");
    loop.post([&] { loop.post([&] { done.set_value(7); }); });
    assert_int_equal(done.get_future().get(), 7);
}

void run_rethrows_what_the_task_threw_and_the_loop_goes_on(void**) {
    Loop loop("test");
    TUTTI_EXPECT_ERROR(loop.run([] { throw tutti::Error(TUTTI_ERR_STORE, "thrown inside"); }),
                       TUTTI_ERR_STORE, "thrown inside");
    bool ran = false;
    loop.run([&] { ran = true; });
    assert_true(ran);
}

void a_loop_that_lets_gather_pushes_nobody_aside(void**) {
    Loop loop("test");
    const auto policy_after = [&](bool gather) {
        int policy = -1;
        loop.run([&] {
            loop.let_gather(gather);
            policy = ::sched_getscheduler(0);
        });
        return policy;
    };
    assert_int_equal(policy_after(true), SCHED_BATCH);
    assert_int_equal(policy_after(true), SCHED_BATCH);
    assert_int_equal(policy_after(false), SCHED_OTHER);
    const sched_param none{};
    loop.run([&] { assert_int_equal(::sched_setscheduler(0, SCHED_IDLE, &none), 0); });
    assert_int_equal(policy_after(true), SCHED_IDLE);
    assert_int_equal(policy_after(false), SCHED_IDLE);
}

void the_destructor_runs_what_was_posted(void**) {
    int count = 0;
    {
        Loop loop("test");
        for (int i = 0; i < 100; ++i) loop.post([&] { ++count; });
    }
    assert_int_equal(count, 100);
}

void all_signals_are_blocked_on_the_loop_thread_and_not_elsewhere(void**) {
    Loop loop("test");
    sigset_t there;
    sigset_t here;
    loop.run([&] { pthread_sigmask(SIG_BLOCK, nullptr, &there); });
    pthread_sigmask(SIG_BLOCK, nullptr, &here);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGUSR1}) {
        assert_int_equal(sigismember(&there, number), 1);
        assert_int_equal(sigismember(&here, number), 0);
    }
}

void a_long_thread_name_is_cut_short(void**) {
    Loop loop("a name of more than fifteen letters");
    std::string name(64, '\0');
    loop.run([&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
    assert_string_equal(name.c_str(), "a name of more ");
}

void a_timer_repeats_until_it_is_stopped(void**) {
    Loop loop("test");
    std::promise<void> third;
    std::unique_ptr<Timer> timer;
    int count = 0;
    loop.run([&] {
        timer = std::make_unique<Timer>(loop, [&] {
            if (++count < 3) return;
            timer->stop();
            third.set_value();
        });
        timer->start(0, 1);
    });
    third.get_future().wait();
    loop.run([&] { timer.reset(); });
    assert_int_equal(count, 3);
}

void a_timer_may_be_destroyed_from_its_own_callback(void**) {
    Loop loop("test");
    std::promise<void> fired;
    std::unique_ptr<Timer> timer;
    loop.run([&] {
        timer = std::make_unique<Timer>(loop, [&] {
            timer.reset();
            fired.set_value();
        });
        timer->start(1, 1);
    });
    fired.get_future().wait();
}

void timers_that_outlive_their_loop_are_harmless(void**) {
    std::unique_ptr<Timer> timer;
    {
        Loop loop("test");
        loop.run([&] {
            timer = std::make_unique<Timer>(loop, [] {});
            timer->start(1'000'000, 0);
        });
    }
    timer->stop();
    timer.reset();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(posted_tasks_run_in_order_on_the_loop_thread),
        TUTTI_TEST(tasks_of_one_thread_keep_their_order_among_those_of_others),
        TUTTI_TEST(a_task_may_post_another),
        TUTTI_TEST(run_rethrows_what_the_task_threw_and_the_loop_goes_on),
        TUTTI_TEST(the_destructor_runs_what_was_posted),
        TUTTI_TEST(a_loop_that_lets_gather_pushes_nobody_aside),
        TUTTI_TEST(all_signals_are_blocked_on_the_loop_thread_and_not_elsewhere),
        TUTTI_TEST(a_long_thread_name_is_cut_short),
        TUTTI_TEST(a_timer_repeats_until_it_is_stopped),
        TUTTI_TEST(a_timer_may_be_destroyed_from_its_own_callback),
        TUTTI_TEST(timers_that_outlive_their_loop_are_harmless),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
