// Does a thread pause, yield and sleep in that order, and sleep at once where others compute?
#include "progress/pace.hpp"

#include <chrono>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace std::chrono_literals;
using Next = Pace::Next;

void it_spins_then_yields_then_sleeps(void**) {
    Pace pace(3, 200us);
    for (int spin = 0; spin < 3; ++spin) assert_true(pace.next() == Next::Look);
    const auto began = Deadline::Clock::now();
    assert_true(pace.next() == Next::LookAtClock);
    while (pace.next() == Next::LookAtClock) {
    }
    assert_true(Deadline::Clock::now() - began >= 200us);
    assert_true(pace.is_over());
    assert_true(pace.next() == Next::Sleep);
}

void a_look_that_found_something_begins_it_anew(void**) {
    Pace pace(2, 50us);
    while (pace.next() != Next::Sleep) {
    }
    pace.moved();
    assert_false(pace.is_over());
    assert_true(pace.next() == Next::Look);
    assert_true(pace.next() == Next::Look);
    assert_true(pace.next() == Next::LookAtClock);
}

void without_either_it_sleeps_at_once(void**) {
    Pace pace(0, Pace::Duration::zero());
    assert_true(pace.is_over());
    assert_true(pace.next() == Next::Sleep);
}

void where_others_compute_some_waits_sleep_at_once(void**) {
    Crowd crowd;
    assert_true(Pace(1, 1h, &crowd).next() == Next::Look);
    crowd.yielded(100us);
    assert_false(crowd.was_seen());
    crowd.yielded(1ms);
    int waits = 0;
    while (crowd.was_seen()) {
        assert_true(Pace(1, 1h, &crowd).next() == Next::Sleep);
        ++waits;
    }
    assert_true(waits > 1 && waits < 1000);
    assert_true(Pace(1, 1h, &crowd).next() == Next::Look);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(it_spins_then_yields_then_sleeps),
        TUTTI_TEST(a_look_that_found_something_begins_it_anew),
        TUTTI_TEST(without_either_it_sleeps_at_once),
        TUTTI_TEST(where_others_compute_some_waits_sleep_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
