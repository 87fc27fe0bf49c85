// Do collectives take their turns: one at a time, in the order they came, on the right thread?
#include "group/turns.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/mutex.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::Turns;

template <typename Job>
void run(Turns& turns, Job job) {
    turns.run(Deadline::never(), job, [](uint64_t) { fail_msg("late without a deadline"); });
}

void numbers_count_from_one_in_the_order_of_the_calls(void**) {
    std::vector<uint64_t> numbers;
    {
        Turns turns;
        for (int index = 0; index < 20; ++index) {
            if (index % 3 == 0) {
                run(turns, [&](uint64_t number) { numbers.push_back(number); });
            } else {
                turns.queue([&](uint64_t number) { numbers.push_back(number); });
            }
        }
    }
    assert_int_equal(numbers.size(), 20);
    for (size_t index = 0; index < numbers.size(); ++index) {
        assert_int_equal(numbers[index], index + 1);
    }
}

void a_synchronous_job_runs_on_its_caller_s_thread(void**) {
    Turns turns;
    std::thread::id ran;
    run(turns, [&](uint64_t) { ran = std::this_thread::get_id(); });
    assert_true(ran == std::this_thread::get_id());
    std::promise<std::thread::id> background;
    turns.queue([&](uint64_t) { background.set_value(std::this_thread::get_id()); });
    assert_false(background.get_future().get() == std::this_thread::get_id());
    run(turns, [&](uint64_t) { ran = std::this_thread::get_id(); });
    assert_true(ran == std::this_thread::get_id());
}

void all_background_jobs_run_on_one_thread(void**) {
    std::vector<std::thread::id> threads;
    {
        Turns turns;
        for (int index = 0; index < 5; ++index) {
            turns.queue([&](uint64_t) { threads.push_back(std::this_thread::get_id()); });
        }
    }
    assert_int_equal(threads.size(), 5);
    for (const auto& thread : threads) assert_true(thread == threads[0]);
}

// A job that waits for the gate.
void queue_gated(Turns& turns, std::promise<void>& gate, std::vector<int>& order) {
    turns.queue([&](uint64_t) {
        gate.get_future().wait();
        order.push_back(1);
    });
}

void a_synchronous_job_waits_for_those_before_it(void**) {
    Turns turns;
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(turns, gate, order);
    turns.queue([&](uint64_t) { order.push_back(2); });
    gate.set_value();
    run(turns, [&](uint64_t number) { order.push_back(static_cast<int>(number)); });
    assert_true(order == std::vector<int>({1, 2, 3}));
}

void a_job_that_needs_no_turn_of_others_runs_at_once(void**) {
    Turns turns;
    std::vector<uint64_t> numbers;
    std::thread::id ran;
    const auto job = [&](uint64_t number) {
        numbers.push_back(number);
        ran = std::this_thread::get_id();
    };
    assert_true(turns.run_if_free(job));
    assert_true(ran == std::this_thread::get_id());
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(turns, gate, order);
    assert_false(turns.run_if_free(job));  // one is running, or about to
    turns.queue(job);
    assert_false(turns.run_if_free(job));
    gate.set_value();
    run(turns, job);
    assert_true(turns.run_if_free(job));
    assert_true((numbers == std::vector<uint64_t>{1, 3, 4, 5}));
}

void one_that_comes_late_makes_those_in_front_end_and_keeps_its_turn(void**) {
    Turns turns;
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(turns, gate, order);
    turns.run(
        Deadline::after_ms(10), [&](uint64_t) { order.push_back(2); },
        [&](uint64_t number) {
            assert_int_equal(number, 2);
            gate.set_value();
        });
    run(turns, [&](uint64_t number) { order.push_back(static_cast<int>(number)); });
    assert_true(order == std::vector<int>({1, 2, 3}));
}

void a_job_that_throws_passes_its_turn(void**) {
    Turns turns;
    for (int index = 0; index < 3; ++index) {
        std::string thrown;
        try {
            run(turns, [](uint64_t number) { throw std::runtime_error(std::to_string(number)); });
        } catch (const std::runtime_error& error) {
            thrown = error.what();
        }
        assert_string_equal(thrown.c_str(), std::to_string(index + 1).c_str());
    }
    std::promise<uint64_t> after;
    turns.queue([&](uint64_t number) { after.set_value(number); });
    assert_int_equal(after.get_future().get(), 4);
}

void what_was_queued_runs_before_the_end(void**) {
    int ran = 0;
    {
        Turns turns;
        for (int index = 0; index < 100; ++index) turns.queue([&](uint64_t) { ++ran; });
    }
    assert_int_equal(ran, 100);
}

void a_job_goes_when_it_has_run(void**) {
    Turns turns;
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = held;
    turns.queue([held](uint64_t) {});
    held.reset();
    run(turns, [](uint64_t) {});  // after it
    assert_true(kept.expired());
}

void nothing_was_ever_asked_of_it(void**) {
    const Turns turns;
}

// Many threads, both kinds: no two jobs at once, each number once and in order.
void jobs_of_many_threads_never_overlap(void**) {
    constexpr int threads_count = 6;
    constexpr int each = 300;
    std::vector<uint64_t> numbers;  // guarded by nothing but the turns
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    {
        Turns turns;
        const auto job = [&](uint64_t number) {
            if (++inside != 1) ++overlaps;
            numbers.push_back(number);
            --inside;
        };
        std::vector<std::thread> threads;
        for (int index = 0; index < threads_count; ++index) {
            threads.emplace_back([&, index] {
                for (int turn = 0; turn < each; ++turn) {
                    if ((index + turn) % 2 == 0) {
                        run(turns, job);
                    } else if (turn % 3 != 0 || !turns.run_if_free(job)) {
                        turns.queue(job);
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    assert_int_equal(overlaps, 0);
    assert_int_equal(numbers.size(), threads_count * each);
    for (size_t index = 0; index < numbers.size(); ++index) {
        assert_int_equal(numbers[index], index + 1);
    }
}

// Each thread's own calls keep their order, whatever the others do.
void the_calls_of_one_thread_keep_their_order(void**) {
    constexpr int threads_count = 4;
    std::vector<std::pair<int, int>> ran;
    {
        Turns turns;
        std::vector<std::thread> threads;
        for (int index = 0; index < threads_count; ++index) {
            threads.emplace_back([&, index] {
                for (int turn = 0; turn < 200; ++turn) {
                    const auto job = [&ran, index, turn](uint64_t) {
                        ran.emplace_back(index, turn);
                    };
                    if (turn % 3 == 0) {
                        run(turns, job);
                    } else {
                        turns.queue(job);
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    std::vector<int> next(threads_count, 0);
    for (const auto& [thread, turn] : ran) {
        assert_int_equal(turn, next[static_cast<size_t>(thread)]++);
    }
    for (const int count : next) assert_int_equal(count, 200);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(numbers_count_from_one_in_the_order_of_the_calls),
        TUTTI_TEST(a_synchronous_job_runs_on_its_caller_s_thread),
        TUTTI_TEST(all_background_jobs_run_on_one_thread),
        TUTTI_TEST(a_synchronous_job_waits_for_those_before_it),
        TUTTI_TEST(a_job_that_needs_no_turn_of_others_runs_at_once),
        TUTTI_TEST(one_that_comes_late_makes_those_in_front_end_and_keeps_its_turn),
        TUTTI_TEST(a_job_that_throws_passes_its_turn),
        TUTTI_TEST(what_was_queued_runs_before_the_end),
        TUTTI_TEST(a_job_goes_when_it_has_run),
        TUTTI_TEST(nothing_was_ever_asked_of_it),
        TUTTI_TEST(jobs_of_many_threads_never_overlap),
        TUTTI_TEST(the_calls_of_one_thread_keep_their_order),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
