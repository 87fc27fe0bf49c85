// Do collectives take their turns: one at a time, in the order they came, on the right thread?
#include "group/ticket_queue.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/mutex.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::TicketQueue;

template <typename Job>
void run(TicketQueue& queue, Job job) {
    queue.run(Deadline::never(), job, [](uint64_t) { fail_msg("late without a deadline"); });
}

void numbers_count_from_one_in_the_order_of_the_calls(void**) {
    std::vector<uint64_t> tickets;
    {
        TicketQueue queue;
        for (int index = 0; index < 20; ++index) {
            if (index % 3 == 0) {
                run(queue, [&](uint64_t ticket) { tickets.push_back(ticket); });
            } else {
                queue.enqueue([&](uint64_t ticket) { tickets.push_back(ticket); });
            }
        }
    }
    assert_int_equal(tickets.size(), 20);
    for (size_t index = 0; index < tickets.size(); ++index) {
        assert_int_equal(tickets[index], index + 1);
    }
}

void a_synchronous_job_runs_on_its_caller_s_thread(void**) {
    TicketQueue queue;
    std::thread::id ran;
    run(queue, [&](uint64_t) { ran = std::this_thread::get_id(); });
    assert_true(ran == std::this_thread::get_id());
    std::promise<std::thread::id> background;
    queue.enqueue([&](uint64_t) { background.set_value(std::this_thread::get_id()); });
    assert_false(background.get_future().get() == std::this_thread::get_id());
    run(queue, [&](uint64_t) { ran = std::this_thread::get_id(); });
    assert_true(ran == std::this_thread::get_id());
}

void all_background_jobs_run_on_one_thread(void**) {
    std::vector<std::thread::id> threads;
    {
        TicketQueue queue;
        for (int index = 0; index < 5; ++index) {
            queue.enqueue([&](uint64_t) { threads.push_back(std::this_thread::get_id()); });
        }
    }
    assert_int_equal(threads.size(), 5);
    for (const auto& thread : threads) assert_true(thread == threads[0]);
}

// A job that waits for the gate.
void queue_gated(TicketQueue& queue, std::promise<void>& gate, std::vector<int>& order) {
    queue.enqueue([&](uint64_t) {
        gate.get_future().wait();
        order.push_back(1);
    });
}

void a_synchronous_job_waits_for_those_before_it(void**) {
    TicketQueue queue;
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(queue, gate, order);
    queue.enqueue([&](uint64_t) { order.push_back(2); });
    gate.set_value();
    run(queue, [&](uint64_t ticket) { order.push_back(static_cast<int>(ticket)); });
    assert_true(order == std::vector<int>({1, 2, 3}));
}

void a_job_that_needs_no_turn_of_others_runs_at_once(void**) {
    TicketQueue queue;
    std::vector<uint64_t> tickets;
    std::thread::id ran;
    const auto job = [&](uint64_t ticket) {
        tickets.push_back(ticket);
        ran = std::this_thread::get_id();
    };
    assert_true(queue.run_if_free(job));
    assert_true(ran == std::this_thread::get_id());
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(queue, gate, order);
    assert_false(queue.run_if_free(job));  // one is running, or about to
    queue.enqueue(job);
    assert_false(queue.run_if_free(job));
    gate.set_value();
    run(queue, job);
    assert_true(queue.run_if_free(job));
    assert_true((tickets == std::vector<uint64_t>{1, 3, 4, 5}));
}

void one_that_comes_late_makes_those_in_front_end_and_keeps_its_turn(void**) {
    TicketQueue queue;
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(queue, gate, order);
    queue.run(
        Deadline::after_ms(10), [&](uint64_t) { order.push_back(2); },
        [&](uint64_t ticket) {
            assert_int_equal(ticket, 2);
            gate.set_value();
        });
    run(queue, [&](uint64_t ticket) { order.push_back(static_cast<int>(ticket)); });
    assert_true(order == std::vector<int>({1, 2, 3}));
}

void a_job_that_throws_passes_its_turn(void**) {
    TicketQueue queue;
    for (int index = 0; index < 3; ++index) {
        std::string thrown;
        try {
            run(queue, [](uint64_t ticket) { throw std::runtime_error(std::to_string(ticket)); });
        } catch (const std::runtime_error& error) {
            thrown = error.what();
        }
        assert_string_equal(thrown.c_str(), std::to_string(index + 1).c_str());
    }
    std::promise<uint64_t> after;
    queue.enqueue([&](uint64_t ticket) { after.set_value(ticket); });
    assert_int_equal(after.get_future().get(), 4);
}

void what_was_queued_runs_before_the_end(void**) {
    int ran = 0;
    {
        TicketQueue queue;
        for (int index = 0; index < 100; ++index) queue.enqueue([&](uint64_t) { ++ran; });
    }
    assert_int_equal(ran, 100);
}

void a_job_goes_when_it_has_run(void**) {
    TicketQueue queue;
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = held;
    queue.enqueue([held](uint64_t) {});
    held.reset();
    run(queue, [](uint64_t) {});  // after it
    assert_true(kept.expired());
}

void nothing_was_ever_asked_of_it(void**) {
    const TicketQueue queue;
}

// Many threads, both kinds: no two jobs at once, each number once and in order.
void jobs_of_many_threads_never_overlap(void**) {
    constexpr int threads_count = 6;
    constexpr int each = 300;
    std::vector<uint64_t> tickets;  // guarded by nothing but the turns
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    {
        TicketQueue queue;
        const auto job = [&](uint64_t ticket) {
            if (++inside != 1) ++overlaps;
            tickets.push_back(ticket);
            --inside;
        };
        std::vector<std::thread> threads;
        for (int index = 0; index < threads_count; ++index) {
            threads.emplace_back([&, index] {
                for (int turn = 0; turn < each; ++turn) {
                    if ((index + turn) % 2 == 0) {
                        run(queue, job);
                    } else if (turn % 3 != 0 || !queue.run_if_free(job)) {
                        queue.enqueue(job);
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    assert_int_equal(overlaps, 0);
    assert_int_equal(tickets.size(), threads_count * each);
    for (size_t index = 0; index < tickets.size(); ++index) {
        assert_int_equal(tickets[index], index + 1);
    }
}

// Each thread's own calls keep their order, whatever the others do.
void the_calls_of_one_thread_keep_their_order(void**) {
    constexpr int threads_count = 4;
    std::vector<std::pair<int, int>> ran;
    {
        TicketQueue queue;
        std::vector<std::thread> threads;
        for (int index = 0; index < threads_count; ++index) {
            threads.emplace_back([&, index] {
                for (int turn = 0; turn < 200; ++turn) {
                    const auto job = [&ran, index, turn](uint64_t) {
                        ran.emplace_back(index, turn);
                    };
                    if (turn % 3 == 0) {
                        run(queue, job);
                    } else {
                        queue.enqueue(job);
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
