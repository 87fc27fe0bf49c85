// Does the watcher call its steps when the device has come so far, in their order, and end those
// whose time is over? The device is the test's own.
#include "device/watcher.hpp"

#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "support/unit.hpp"
#include "table.hpp"

namespace {

using tutti::Deadline;
using tutti::Status;
using tutti::device::EventPointer;
using tutti::device::Stop;
using tutti::device::Watcher;
using namespace tutti::device::test;

// The calls so far, in their order.
class Calls {
public:
    void add(char one) {
        const std::lock_guard lock(mutex_);
        all_ += one;
    }
    [[nodiscard]] std::string all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }
    void wait_for(size_t count) const {
        while (all().size() < count) std::this_thread::yield();
    }

private:
    mutable std::mutex mutex_;
    std::string all_;
};

Watcher& watcher() {
    Watcher::of_process().start_thread();
    return Watcher::of_process();
}

Watcher::Step adds(Calls& calls, char one) {
    return [&calls, one](const Status& status) -> EventPointer {
        calls.add(status.ok() ? one : '!');
        return nullptr;
    };
}

void add(const EventPointer& event, Watcher::Step step, const void* order = nullptr) {
    watcher().add({.event = event, .step = std::move(step), .order = {order}});
}

// The watcher has looked at all that was added before.
void let_it_look() {
    Calls calls;
    for (int i = 0; i < 3; ++i) {
        add(nullptr, adds(calls, 'x'));
        calls.wait_for(static_cast<size_t>(i) + 1);
    }
}

void a_step_comes_after_its_event(void**) {
    Calls calls;
    const Recorded first;
    const Recorded second;
    add(first.event, adds(calls, 'a'));
    add(second.event, adds(calls, 'b'));
    let_it_look();
    assert_string_equal(calls.all().c_str(), "");
    second.pass();
    calls.wait_for(1);
    first.pass();
    calls.wait_for(2);
    assert_string_equal(calls.all().c_str(), "ba");
}

void steps_of_one_order_keep_it(void**) {
    Calls calls;
    const Recorded first;
    const Recorded second;
    const Recorded other;
    const int order = 0;
    const int another = 0;
    add(first.event, adds(calls, 'a'), &order);
    add(second.event, adds(calls, 'b'), &order);
    add(nullptr, adds(calls, 'c'), &order);
    add(other.event, adds(calls, 'd'), &another);
    second.pass();
    let_it_look();
    assert_string_equal(calls.all().c_str(), "");
    other.pass();
    calls.wait_for(1);
    first.pass();
    calls.wait_for(4);
    assert_string_equal(calls.all().c_str(), "dabc");
}

// A step's next wait still holds up those behind it.
void a_step_goes_on_after_the_event_that_it_returns(void**) {
    Calls calls;
    const Recorded first;
    const Recorded next;
    const int order = 0;
    add(
        first.event,
        [&calls, &next, again = false](const Status&) mutable -> EventPointer {
            calls.add(again ? 'b' : 'a');
            return std::exchange(again, true) ? nullptr : next.event;
        },
        &order);
    add(nullptr, adds(calls, 'c'), &order);
    first.pass();
    calls.wait_for(1);
    let_it_look();
    assert_string_equal(calls.all().c_str(), "a");
    next.pass();
    calls.wait_for(3);
    assert_string_equal(calls.all().c_str(), "abc");
}

// So it may be told before those in front of it.
void a_held_step_has_its_deadline(void**) {
    Calls calls;
    const Recorded first;
    const int order = 0;
    add(first.event, adds(calls, 'a'), &order);
    watcher().add({.event = nullptr,
                   .step = adds(calls, 'b'),
                   .deadline = Deadline::after_ms(1),
                   .order = {&order}});
    add(nullptr, adds(calls, 'c'), &order);
    watcher().add({.event = nullptr, .step = adds(calls, 'd'), .order = {&order, 1}});
    calls.wait_for(2);
    let_it_look();
    first.pass();
    calls.wait_for(4);
    const std::string all = calls.all();
    assert_true(all == "d!ac" || all == "!dac");
}

Status status_of(Watcher::Wait wait) {
    Calls calls;
    Status told;
    wait.step = [&](const Status& status) -> EventPointer {
        told = status;
        calls.add('x');
        return nullptr;
    };
    watcher().add(std::move(wait));
    calls.wait_for(1);
    return told;
}

void a_wait_that_is_too_long_times_out(void**) {
    const Recorded never;
    const Status status =
        status_of({.event = never.event, .step = nullptr, .deadline = Deadline::after_ms(5)});
    assert_int_equal(status.code, TUTTI_ERR_TIMEOUT);
    assert_true(status.message.find("timed out after 5 ms") != std::string::npos);
}

// Once it has begun there is no limit: the device uses the memory.
void only_the_first_wait_has_a_limit(void**) {
    Calls calls;
    const Recorded next;
    const auto stop = std::make_shared<Stop>();
    watcher().add({.event = nullptr,
                   .step = [&](const Status& status) -> EventPointer {
                       const bool is_first = calls.all().empty();
                       calls.add(status.ok() ? 'a' : '!');  // the last call ends the test
                       return is_first ? next.event : nullptr;
                   },
                   .deadline = Deadline::after_ms(1),
                   .stop = stop});
    calls.wait_for(1);
    stop->set({TUTTI_ERR_ABORTED, -1, 0, "enough"});
    let_it_look();
    assert_string_equal(calls.all().c_str(), "a");
    next.pass();
    calls.wait_for(2);
    assert_string_equal(calls.all().c_str(), "aa");
}

void a_wait_that_is_stopped_says_why(void**) {
    const Recorded never;
    const auto stop = std::make_shared<Stop>();
    stop->check();
    assert_false(stop->is_set());
    stop->set({TUTTI_ERR_PEER_LOST, 2, 0, "rank 2 died"});
    stop->set({TUTTI_ERR_ABORTED, -1, 0, "later"});
    assert_true(stop->is_set());
    TUTTI_EXPECT_ERROR(stop->check(), TUTTI_ERR_PEER_LOST, "rank 2 died");
    const Status status = status_of({.event = never.event, .step = nullptr, .stop = stop});
    assert_int_equal(status.code, TUTTI_ERR_PEER_LOST);
    assert_int_equal(status.rank, 2);
}

void what_has_passed_is_not_stopped(void**) {
    const auto stop = std::make_shared<Stop>();
    stop->set({TUTTI_ERR_ABORTED, -1, 0, "enough"});
    assert_true(status_of({.event = nullptr, .step = nullptr, .stop = stop}).ok());
}

void a_lost_device_ends_the_wait(void**) {
    const Recorded never;
    device().is_lost = true;
    const Status status = status_of({.event = never.event, .step = nullptr});
    device().is_lost = false;
    assert_int_equal(status.code, TUTTI_ERR_BACKEND);
    assert_string_equal(status.message.c_str(), "the device is lost");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_step_comes_after_its_event),
        TUTTI_TEST(steps_of_one_order_keep_it),
        TUTTI_TEST(a_step_goes_on_after_the_event_that_it_returns),
        TUTTI_TEST(a_held_step_has_its_deadline),
        TUTTI_TEST(a_wait_that_is_too_long_times_out),
        TUTTI_TEST(only_the_first_wait_has_a_limit),
        TUTTI_TEST(a_wait_that_is_stopped_says_why),
        TUTTI_TEST(what_has_passed_is_not_stopped),
        TUTTI_TEST(a_lost_device_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
