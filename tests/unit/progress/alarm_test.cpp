// Do alarms ring when they should, in order, and not after they were cleared?
#include "progress/alarm.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "progress/event.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Alarm;
using tutti::Deadline;

// The alarms that rang, in order.
class Record {
public:
    std::function<void()> note(int number) {
        return [this, number] {
            const tutti::Lock lock(mutex_);
            numbers_.push_back(number);
            changed_.notify_all();
        };
    }
    std::vector<int> wait_for(size_t count) {
        tutti::Lock lock(mutex_);
        const auto deadline = Deadline::after_ms(60'000);
        while (numbers_.size() < count && changed_.wait(lock, deadline)) {
        }
        return numbers_;
    }

private:
    tutti::Mutex mutex_;
    tutti::Condition changed_;
    std::vector<int> numbers_ TUTTI_GUARDED_BY(mutex_);
};

// Keeps the alarm's thread busy, so that what is set meanwhile cannot ring yet.
class Gate {
public:
    explicit Gate(Alarm& alarm) {
        alarm.set(Deadline::after_ms(0), [go = open_.get_future().share()] { go.wait(); });
    }
    void open() { open_.set_value(); }

private:
    std::promise<void> open_;
};

void an_alarm_rings_when_its_time_has_come_and_not_before(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    const auto deadline = Deadline::after_ms(5);
    std::atomic<bool> early{false};
    alarm->set(deadline, [&, note = record.note(1)] {
        early = !deadline.expired();
        note();
    });
    assert_int_equal(record.wait_for(1).size(), 1);
    assert_false(early);
}

void alarms_ring_in_the_order_of_their_times(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    Gate gate(*alarm);
    const auto now = Deadline::Clock::now();
    const auto in_ms = [now](int ms) { return Deadline::at(now + std::chrono::milliseconds(ms)); };
    for (const int ms : {30, 20, 10, 25, 15}) alarm->set(in_ms(ms), record.note(ms));
    gate.open();
    assert_true(record.wait_for(5) == std::vector<int>({10, 15, 20, 25, 30}));
}

void an_earlier_alarm_wakes_the_thread_before_the_one_it_waits_for(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    const auto far = alarm->set(Deadline::after_ms(3'600'000), record.note(1));
    alarm->set(Deadline::after_ms(1), record.note(2));
    assert_true(record.wait_for(1) == std::vector<int>({2}));
    alarm->clear(far);
}

void alarms_of_one_time_ring_in_the_order_they_were_set(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    const auto deadline = Deadline::after_ms(5);
    std::vector<int> expected;
    for (int number = 0; number < 50; ++number) {
        alarm->set(deadline, record.note(number));
        expected.push_back(number);
    }
    assert_true(record.wait_for(50) == expected);
}

void never_does_not_ring(void**) {
    const auto alarm = Alarm::shared();
    std::weak_ptr<int> kept;
    {
        auto held = std::make_shared<int>(1);
        kept = held;
        assert_int_equal(alarm->set(Deadline::never(), [held] {}), 0);
    }
    assert_true(kept.expired());
    alarm->clear(0);
}

void a_cleared_alarm_does_not_ring_and_lets_go_of_what_it_holds(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = held;
    Gate gate(*alarm);
    const auto deadline = Deadline::after_ms(0);
    const Alarm::Id id = alarm->set(deadline, [held, note = record.note(1)] { note(); });
    held.reset();
    assert_false(kept.expired());
    alarm->clear(id);
    assert_true(kept.expired());
    alarm->clear(id);
    gate.open();
    alarm->set(deadline, record.note(2));  // rings after the first would have
    assert_true(record.wait_for(1) == std::vector<int>({2}));
}

void a_ring_may_set_and_clear_alarms(void**) {
    Record record;
    const auto alarm = Alarm::shared();
    const auto deadline = Deadline::after_ms(2);
    std::atomic<Alarm::Id> other{0};
    std::promise<void> ready;
    alarm->set(deadline, [&, go = ready.get_future().share()] {
        go.wait();
        alarm->clear(other);
        alarm->set(Deadline::after_ms(0), record.note(3));
    });
    other = alarm->set(deadline, record.note(2));
    ready.set_value();
    assert_true(record.wait_for(1) == std::vector<int>({3}));
}

void the_last_user_may_go_inside_a_ring(void**) {
    for (int turn = 0; turn < 50; ++turn) {
        std::promise<void> rang;
        auto alarm = Alarm::shared();
        auto* const raw = alarm.get();
        std::promise<std::shared_ptr<Alarm>> handed;
        auto mine = handed.get_future().share();
        raw->set(Deadline::after_ms(0), [mine, &rang]() mutable {
            std::shared_ptr<Alarm> last = mine.get();
            mine = {};
            last.reset();  // or when this function is destroyed
            rang.set_value();
        });
        handed.set_value(std::move(alarm));
        rang.get_future().wait();
    }
}

void an_alarm_that_never_rang_goes_with_its_last_user(void**) {
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = held;
    auto alarm = Alarm::shared();
    alarm->set(Deadline::after_ms(3'600'000), [held] {});
    held.reset();
    alarm.reset();
    assert_true(kept.expired());
}

void there_is_one_for_the_process_while_anybody_uses_it(void**) {
    const auto first = Alarm::shared();
    assert_ptr_equal(first.get(), Alarm::shared().get());
}

// Threads set and clear at the times the alarms ring.
void what_was_cleared_in_time_never_rings(void**) {
    const auto alarm = Alarm::shared();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&, index] {
            for (int turn = 0; turn < 500; ++turn) {
                // Far in the future: must not ring. Now: may ring or be cleared.
                const auto far = alarm->set(Deadline::after_ms(3'600'000), [&] { ++wrong; });
                const auto near = alarm->set(Deadline::after_ms(turn % 2), [] {});
                if ((turn + index) % 3 > 0) alarm->clear(near);
                alarm->clear(far);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(wrong, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(an_alarm_rings_when_its_time_has_come_and_not_before),
        TUTTI_TEST(alarms_ring_in_the_order_of_their_times),
        TUTTI_TEST(an_earlier_alarm_wakes_the_thread_before_the_one_it_waits_for),
        TUTTI_TEST(alarms_of_one_time_ring_in_the_order_they_were_set),
        TUTTI_TEST(never_does_not_ring),
        TUTTI_TEST(a_cleared_alarm_does_not_ring_and_lets_go_of_what_it_holds),
        TUTTI_TEST(a_ring_may_set_and_clear_alarms),
        TUTTI_TEST(the_last_user_may_go_inside_a_ring),
        TUTTI_TEST(an_alarm_that_never_rang_goes_with_its_last_user),
        TUTTI_TEST(there_is_one_for_the_process_while_anybody_uses_it),
        TUTTI_TEST(what_was_cleared_in_time_never_rings),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
