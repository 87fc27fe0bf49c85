// Does a work finish once, and does everybody who waits learn of it?
#include "work/work.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::Status;
using tutti::Work;
using Works = std::vector<std::shared_ptr<Work>>;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

Status failure(const std::string& message) {
    return {TUTTI_ERR_BACKEND, 2, 0, message};
}

Works make(size_t count) {
    Works works;
    for (size_t index = 0; index < count; ++index) works.push_back(std::make_shared<Work>());
    return works;
}

class DescribedWork final : public Work {
public:
    explicit DescribedWork(std::function<std::string()> describe)
        : describe_(std::move(describe)) {}

private:
    [[nodiscard]] std::string describe() const override { return describe_(); }

    const std::function<std::string()> describe_;
};

void a_new_work_is_running(void**) {
    const Work work;
    assert_false(work.is_completed());
    assert_false(work.status().has_value());
    assert_int_equal(work.source_rank(), -1);
    assert_false(work.wait(Deadline::after_ms(0)));
    assert_false(work.wait(Deadline::after_ms(1)));
}

void only_the_first_finish_counts(void**) {
    Work work;
    work.finish({}, 3);
    work.finish(failure("late"), 4);
    assert_true(work.is_completed());
    assert_true(work.status()->ok());
    assert_int_equal(work.source_rank(), 3);
    assert_true(work.wait(Deadline::never()));
    assert_true(work.wait(Deadline::after_ms(0)));
}

// Each thread that sees the end finds that it is gone.
void what_a_work_keeps_is_gone_before_it_has_ended(void**) {
    for (int turn = 0; turn < 2000; ++turn) {
        const auto work = std::make_shared<Work>();
        auto resource = std::make_shared<int>(turn);
        const std::weak_ptr<int> kept = resource;
        work->keep(std::move(resource));
        std::thread other([work] { work->finish({}); });
        while (!work->is_completed()) {
        }
        const bool is_gone = kept.expired();
        other.join();
        assert_true(is_gone);
    }
}

void a_failure_says_which_operation_it_was(void**) {
    DescribedWork work([] { return std::string("recv from rank 2"); });
    work.finish(failure("rank 2 died"));
    const Status status = *work.status();
    assert_string_equal(status.message.c_str(), "recv from rank 2: rank 2 died");
    assert_int_equal(status.code, TUTTI_ERR_BACKEND);
    assert_int_equal(status.rank, 2);
}

void a_success_is_not_described(void**) {
    int asked = 0;
    DescribedWork work([&] { return std::to_string(++asked); });
    work.finish({});
    assert_int_equal(asked, 0);
    assert_string_equal(work.status()->message.c_str(), "");
}

void one_of_many_finishes_wins(void**) {
    for (int turn = 0; turn < 200; ++turn) {
        Work work;
        std::vector<std::thread> threads;
        for (int index = 0; index < 4; ++index) {
            threads.emplace_back([&work, index] {
                work.finish({TUTTI_ERR_BACKEND, index, 0, std::to_string(index)}, index);
            });
        }
        assert_true(work.wait(ample()));
        const Status status = *work.status();
        for (std::thread& thread : threads) thread.join();
        assert_int_equal(work.source_rank(), status.rank);
        assert_int_equal(work.status()->rank, status.rank);
        assert_string_equal(status.message.c_str(), std::to_string(status.rank).c_str());
    }
}

void all_who_wait_wake_up(void**) {
    Work work;
    std::atomic<int> woken{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 8; ++index) {
        threads.emplace_back([&] { woken += work.wait(ample()) ? 1 : 0; });
    }
    work.finish({});
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(woken, 8);
}

// The waiter owns the work and lets go of it as soon as it may.
void a_work_may_be_gone_as_soon_as_it_is_done(void**) {
    for (int turn = 0; turn < 2'000; ++turn) {
        auto work = std::make_unique<Work>();
        std::thread finisher([raw = work.get()] { raw->finish({}); });
        if (turn % 2 == 0) {
            work->wait(Deadline::never());
        } else {
            while (!work->is_completed()) std::this_thread::yield();
        }
        work.reset();
        finisher.join();
    }
}

void wait_any_gives_the_lowest_index(void**) {
    const Works works = make(4);
    works[3]->finish({});
    assert_int_equal(Work::wait_any(works, Deadline::after_ms(0)).value(), 3);
    works[1]->finish(failure("also an end"));
    assert_int_equal(Work::wait_any(works, Deadline::never()).value(), 1);
}

void wait_any_gives_nothing_when_its_time_is_up(void**) {
    const Works works = make(3);
    assert_false(Work::wait_any(works, Deadline::after_ms(0)).has_value());
    assert_false(Work::wait_any(works, Deadline::after_ms(2)).has_value());
    works[0]->finish({});
    assert_int_equal(Work::wait_any(works, Deadline::after_ms(0)).value(), 0);
}

void wait_any_takes_the_same_work_twice(void**) {
    const auto work = std::make_shared<Work>();
    const Works works{work, work};
    assert_false(Work::wait_any(works, Deadline::after_ms(0)).has_value());
    std::thread finisher([work] { work->finish({}); });
    assert_int_equal(Work::wait_any(works, ample()).value(), 0);
    finisher.join();
}

void wait_any_wakes_when_one_finishes_meanwhile(void**) {
    for (int turn = 0; turn < 500; ++turn) {
        const Works works = make(5);
        const auto chosen = static_cast<size_t>(turn % 5);
        std::thread finisher([&works, chosen] { works[chosen]->finish({}); });
        assert_int_equal(Work::wait_any(works, ample()).value_or(99), chosen);
        finisher.join();
    }
}

void several_wait_any_share_their_works(void**) {
    const Works works = make(6);
    std::array<size_t, 4> found{99, 99, 99, 99};
    std::vector<std::thread> threads;
    for (size_t index = 0; index < found.size(); ++index) {
        threads.emplace_back([&, index] {
            // Different parts of the works; number 5 is in all of them.
            const std::span<const std::shared_ptr<Work>> part(works.begin() + index, works.end());
            found[index] = Work::wait_any(part, ample()).value_or(99) + index;
        });
    }
    works[5]->finish({});
    for (std::thread& thread : threads) thread.join();
    for (const size_t index : found) assert_int_equal(index, 5);
}

// Every work is finished by one thread while others wait for any of them, again and again.
void wait_any_among_many_threads_loses_nothing(void**) {
    constexpr size_t count = 300;
    const Works works = make(count);
    std::atomic<int> late{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 3; ++index) {
        threads.emplace_back([&] {
            Works left = works;
            while (!left.empty() && late == 0) {
                const auto done = Work::wait_any(left, ample());
                if (!done || !left[*done]->is_completed()) {
                    ++late;
                } else {
                    left.erase(left.begin() + static_cast<std::ptrdiff_t>(*done));
                }
            }
        });
    }
    for (size_t index = 0; index < count; ++index) works[index * 7 % count]->finish({});
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(late, 0);
}

// The events that callbacks tell the test, in order.
class Notes {
public:
    void add(std::string note) {
        const std::lock_guard lock(mutex_);
        notes_.push_back(std::move(note));
        changed_.notify_all();
    }
    std::vector<std::string> await(size_t count) {
        std::unique_lock lock(mutex_);
        const auto there = [&] { return notes_.size() >= count; };
        if (!changed_.wait_for(lock, std::chrono::seconds(60), there)) notes_.emplace_back("late");
        return notes_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> notes_;
};

void callbacks_come_once_each_in_order_with_the_result(void**) {
    Notes notes;
    DescribedWork fails([] { return std::string("recv"); });
    Work succeeds;
    for (const char* name : {"a", "b", "c"}) {
        fails.then([&notes, name](const Status& status) { notes.add(name + status.message); });
    }
    succeeds.then([&](const Status& status) { notes.add(status.ok() ? "fine" : "wrong"); });
    fails.finish(failure(" lost"));
    fails.finish({});
    succeeds.finish({});
    const auto said = notes.await(4);
    assert_true(
        (said == std::vector<std::string>{"arecv:  lost", "brecv:  lost", "crecv:  lost", "fine"}));
}

void a_callback_never_runs_inside_the_call_that_registers_it(void**) {
    Notes notes;
    Work work;
    work.finish({});
    std::mutex held;
    std::thread::id thread;
    {
        const std::lock_guard lock(held);  // a callback inside then() could not have it
        work.then([&](const Status&) {
            {
                const std::lock_guard waits(held);
                thread = std::this_thread::get_id();
            }
            notes.add("called");  // the last thing: then the mutex goes
        });
        assert_true(thread == std::thread::id());
    }
    assert_int_equal(notes.await(1).size(), 1);
    assert_true(thread != std::this_thread::get_id());
}

void a_callback_may_use_its_work_and_register_another(void**) {
    Notes notes;
    const auto work = std::make_shared<Work>();
    work->then([&, work](const Status&) {
        notes.add(work->is_completed() ? "done" : "running");
        work->then([&](const Status&) { notes.add("again"); });
        throw std::runtime_error("which ends nothing");
    });
    work->finish({});
    assert_true((notes.await(2) == std::vector<std::string>{"done", "again"}));
}

void callbacks_of_many_threads_all_come(void**) {
    std::atomic<int> called{0};
    Notes notes;
    constexpr int each = 500;
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&] {
            for (int turn = 0; turn < each; ++turn) {
                auto work = std::make_shared<Work>();
                std::thread finisher;
                if (turn % 50 == 0) finisher = std::thread([work] { work->finish({}); });
                work->then([&](const Status&) {
                    if (++called == 4 * each) notes.add("all");
                });
                work->finish({});
                if (finisher.joinable()) finisher.join();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    assert_true(notes.await(1).front() == "all");
    assert_int_equal(called, 4 * each);
}

void a_work_tells_what_it_is_and_how_long_it_took(void**) {
    Work work("all_reduce");
    assert_string_equal(work.operation(), "all_reduce");
    assert_int_equal(work.sequence_number(), 0);
    work.set_sequence_number(7);
    assert_int_equal(work.sequence_number(), 7);
    assert_false(work.duration().has_value());
    std::this_thread::yield();
    work.finish({});
    const auto took = work.duration().value();
    assert_true(took.count() >= 0 && took < std::chrono::minutes(10));
    assert_true(work.duration().value() == took);
    assert_string_equal(Work().operation(), "");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_new_work_is_running),
        TUTTI_TEST(only_the_first_finish_counts),
        TUTTI_TEST(what_a_work_keeps_is_gone_before_it_has_ended),
        TUTTI_TEST(a_failure_says_which_operation_it_was),
        TUTTI_TEST(a_success_is_not_described),
        TUTTI_TEST(one_of_many_finishes_wins),
        TUTTI_TEST(all_who_wait_wake_up),
        TUTTI_TEST(a_work_may_be_gone_as_soon_as_it_is_done),
        TUTTI_TEST(wait_any_gives_the_lowest_index),
        TUTTI_TEST(wait_any_gives_nothing_when_its_time_is_up),
        TUTTI_TEST(wait_any_takes_the_same_work_twice),
        TUTTI_TEST(wait_any_wakes_when_one_finishes_meanwhile),
        TUTTI_TEST(several_wait_any_share_their_works),
        TUTTI_TEST(wait_any_among_many_threads_loses_nothing),
        TUTTI_TEST(callbacks_come_once_each_in_order_with_the_result),
        TUTTI_TEST(a_callback_never_runs_inside_the_call_that_registers_it),
        TUTTI_TEST(a_callback_may_use_its_work_and_register_another),
        TUTTI_TEST(callbacks_of_many_threads_all_come),
        TUTTI_TEST(a_work_tells_what_it_is_and_how_long_it_took),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
