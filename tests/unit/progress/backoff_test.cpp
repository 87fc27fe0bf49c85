// How long does a thread rest between polls of what nobody notifies it of?
#include "progress/backoff.hpp"

#include <chrono>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace std::chrono_literals;

// How many polls come before the next rest, which ends after that time at the earliest.
int polls_before_rest(Backoff& backoff, Deadline::Clock::duration least) {
    int polls = 0;
    Deadline until = Deadline::never();
    const auto before = Deadline::Clock::now();
    while (!backoff.rests(until)) ++polls;
    assert_true(until.when() - before >= least);
    return polls;
}

void rests_grow_until_something_moves(void**) {
    Backoff backoff;
    assert_true(polls_before_rest(backoff, 20us) > 1);
    for (const auto least : {40us, 80us, 160us, 320us, 640us, 640us, 640us}) {
        assert_int_equal(polls_before_rest(backoff, least), 0);
    }
    backoff.reset();
    assert_true(polls_before_rest(backoff, 20us) > 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(rests_grow_until_something_moves),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
