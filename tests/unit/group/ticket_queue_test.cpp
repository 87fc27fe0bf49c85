// Do collectives take their turns: one at a time, in the order they came, on the right thread?
#include "group/ticket_queue.hpp"

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/mutex.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::TicketQueue;

class FunctionJob final : public TicketQueue::Job {
public:
    explicit FunctionJob(std::function<void(uint64_t)> function) : function_(std::move(function)) {}
    virtual ~FunctionJob() = default;
    void run(uint64_t ticket) noexcept override { function_(ticket); }

private:
    const std::function<void(uint64_t)> function_;
};

uint64_t enqueue(TicketQueue& queue, std::function<void(uint64_t)> job,
                 TicketQueue::Start start = TicketQueue::Start::Soon,
                 const Deadline& deadline = Deadline::never()) {
    return queue.enqueue(std::make_shared<FunctionJob>(std::move(job)), deadline, start);
}

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
                enqueue(queue, [&](uint64_t ticket) { tickets.push_back(ticket); });
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
    enqueue(queue, [&](uint64_t) { background.set_value(std::this_thread::get_id()); });
    assert_false(background.get_future().get() == std::this_thread::get_id());
    run(queue, [&](uint64_t) { ran = std::this_thread::get_id(); });
    assert_true(ran == std::this_thread::get_id());
}

void all_background_jobs_run_on_one_thread(void**) {
    std::vector<std::thread::id> threads;
    {
        TicketQueue queue;
        for (int index = 0; index < 5; ++index) {
            enqueue(queue, [&](uint64_t) { threads.push_back(std::this_thread::get_id()); });
        }
    }
    assert_int_equal(threads.size(), 5);
    for (const auto& thread : threads) assert_true(thread == threads[0]);
}

// A job that waits for the gate.
void queue_gated(TicketQueue& queue, std::promise<void>& gate, std::vector<int>& order) {
    enqueue(queue, [&](uint64_t) {
        gate.get_future().wait();
        order.push_back(1);
    });
}

void a_synchronous_job_waits_for_those_before_it(void**) {
    TicketQueue queue;
    std::promise<void> gate;
    std::vector<int> order;
    queue_gated(queue, gate, order);
    enqueue(queue, [&](uint64_t) { order.push_back(2); });
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
    enqueue(queue, job);
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
    enqueue(queue, [&](uint64_t ticket) { after.set_value(ticket); });
    assert_int_equal(after.get_future().get(), 4);
}

void what_was_queued_runs_before_the_end(void**) {
    int ran = 0;
    {
        TicketQueue queue;
        for (int index = 0; index < 100; ++index) enqueue(queue, [&](uint64_t) { ++ran; });
    }
    assert_int_equal(ran, 100);
}

void a_job_goes_when_it_has_run(void**) {
    TicketQueue queue;
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = held;
    enqueue(queue, [held](uint64_t) {});
    held.reset();
    run(queue, [](uint64_t) {});  // after it
    assert_true(kept.expired());
}

// A queue whose thread looks for nothing as long as a test lasts. It runs what is left at its end,
// so what jobs refer to is declared before it.
struct Unattended {
    Unattended() {
        ::setenv("TUTTI_PROGRESS", "60000000", 1);
        queue.emplace();
        ::unsetenv("TUTTI_PROGRESS");
    }
    std::optional<TicketQueue> queue;
};

// A job that notes its thread.
std::function<void(uint64_t)> noting(std::vector<std::thread::id>& threads) {
    return [&threads](uint64_t) { threads.push_back(std::this_thread::get_id()); };
}

bool are_all_here(const std::vector<std::thread::id>& threads, size_t count) {
    return threads == std::vector(count, std::this_thread::get_id());
}

void a_thread_that_waits_for_a_job_runs_it_and_those_before_it(void**) {
    std::vector<std::thread::id> threads;
    Unattended unattended;
    enqueue(*unattended.queue, noting(threads));
    const uint64_t wanted = enqueue(*unattended.queue, noting(threads));
    enqueue(*unattended.queue, noting(threads));
    unattended.queue->run_up_to(wanted, Deadline::never());
    assert_true(are_all_here(threads, 2));
    unattended.queue->run_up_to(wanted, Deadline::never());
    assert_int_equal(threads.size(), 2);
}

void a_thread_that_waits_for_its_turn_runs_what_is_in_front(void**) {
    std::vector<std::thread::id> threads;
    Unattended unattended;
    for (int index = 0; index < 3; ++index) enqueue(*unattended.queue, noting(threads));
    run(*unattended.queue, noting(threads));
    assert_true(are_all_here(threads, 4));
}

void a_job_that_may_end_after_the_wait_runs_elsewhere(void**) {
    std::promise<std::thread::id> ran;
    Unattended unattended;
    const auto job = [&](uint64_t) { ran.set_value(std::this_thread::get_id()); };
    const uint64_t ticket =
        enqueue(*unattended.queue, job, TicketQueue::Start::Soon, Deadline::after_ms(60'000));
    unattended.queue->run_up_to(ticket, Deadline::after_ms(30'000));
    assert_false(ran.get_future().get() == std::this_thread::get_id());
}

void a_job_that_is_to_begin_at_once_runs_elsewhere(void**) {
    std::promise<std::thread::id> ran;
    Unattended unattended;
    const auto job = [&](uint64_t) { ran.set_value(std::this_thread::get_id()); };
    const uint64_t ticket = enqueue(*unattended.queue, job, TicketQueue::Start::AtOnce);
    unattended.queue->run_up_to(ticket, Deadline::never());
    assert_false(ran.get_future().get() == std::this_thread::get_id());
}

void a_job_that_somebody_asks_for_begins_at_once(void**) {
    std::promise<void> ran;
    Unattended unattended;
    unattended.queue->hurry(enqueue(*unattended.queue, [&](uint64_t) { ran.set_value(); }));
    ran.get_future().wait();
}

void jobs_that_nobody_waits_for_run_all_the_same(void**) {
    TicketQueue queue;
    for (int turn = 0; turn < 50; ++turn) {
        std::promise<void> ran;
        enqueue(queue, [&](uint64_t) { ran.set_value(); });
        ran.get_future().wait();
        run(queue, [](uint64_t) {});
    }
}

// Behind a call that another thread is in.
void who_waits_for_a_job_waits_for_its_turn(void**) {
    std::promise<void> gate;
    std::promise<void> begun;
    std::vector<std::thread::id> threads;
    Unattended unattended;
    TicketQueue& queue = *unattended.queue;
    std::thread other([&] {
        run(queue, [&](uint64_t) {
            begun.set_value();
            gate.get_future().wait();
        });
    });
    begun.get_future().wait();
    const uint64_t ticket = enqueue(queue, noting(threads));
    queue.run_up_to(ticket, Deadline::at(Deadline::Clock::now()));  // not in time
    assert_true(threads.empty());
    gate.set_value();
    queue.run_up_to(ticket, Deadline::never());
    run(queue, [](uint64_t) {});
    assert_int_equal(threads.size(), 1);
    other.join();
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
                        enqueue(queue, job);
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
                        enqueue(queue, job);
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
        TUTTI_TEST(a_thread_that_waits_for_a_job_runs_it_and_those_before_it),
        TUTTI_TEST(a_thread_that_waits_for_its_turn_runs_what_is_in_front),
        TUTTI_TEST(a_job_that_may_end_after_the_wait_runs_elsewhere),
        TUTTI_TEST(a_job_that_is_to_begin_at_once_runs_elsewhere),
        TUTTI_TEST(a_job_that_somebody_asks_for_begins_at_once),
        TUTTI_TEST(jobs_that_nobody_waits_for_run_all_the_same),
        TUTTI_TEST(who_waits_for_a_job_waits_for_its_turn),
        TUTTI_TEST(nothing_was_ever_asked_of_it),
        TUTTI_TEST(jobs_of_many_threads_never_overlap),
        TUTTI_TEST(the_calls_of_one_thread_keep_their_order),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
