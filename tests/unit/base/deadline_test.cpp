// Is a deadline the point in time that was asked for, and never an overflow?
#include "base/deadline.hpp"

#include <climits>

#include "support/unit.hpp"

namespace {

using tutti::Deadline;

void below_zero_is_never(void**) {
    for (const int64_t timeout_ms : {int64_t{-1}, int64_t{-1000}, INT64_MIN}) {
        const auto deadline = Deadline::after_ms(timeout_ms);
        assert_true(deadline.is_never());
        assert_false(deadline.expired());
        assert_int_equal(deadline.poll_ms(), -1);
    }
}

void more_than_a_clock_can_hold_is_never(void**) {
    assert_true(Deadline::after_ms(INT64_MAX).is_never());
    assert_true(Deadline::after_ms(INT64_MAX / 1'000'000).is_never());
}

void zero_has_expired_at_once(void**) {
    const auto deadline = Deadline::after_ms(0);
    assert_false(deadline.is_never());
    assert_true(deadline.expired());
    assert_int_equal(deadline.poll_ms(), 0);
}

void what_is_left_is_rounded_up(void**) {
    const auto now = Deadline::Clock::now();
    assert_true(Deadline::at(now + std::chrono::hours(1)).poll_ms() > 3'599'000);
    assert_true(Deadline::at(now + std::chrono::hours(1)).poll_ms() <= 3'600'000);
    // A poll for 0 ms before the deadline would turn without resting.
    for (int turn = 0; turn < 1000; ++turn) {
        const auto deadline = Deadline::at(Deadline::Clock::now() + std::chrono::microseconds(300));
        const int left = deadline.poll_ms();
        if (!deadline.expired()) assert_int_equal(left, 1);
    }
}

void a_far_deadline_fits_what_poll_takes(void**) {
    const auto month = Deadline::after_ms(int64_t{40} * 24 * 3600 * 1000);
    assert_false(month.is_never());
    assert_int_equal(month.poll_ms(), INT_MAX);
}

void the_earlier_of_two_counts(void**) {
    const auto soon = Deadline::after_ms(10);
    const auto late = Deadline::after_ms(60'000);
    const auto never = Deadline::never();
    assert_true(soon.or_earlier(late).when() == soon.when());
    assert_true(late.or_earlier(soon).when() == soon.when());
    assert_true(never.or_earlier(soon).when() == soon.when());
    assert_true(soon.or_earlier(never).when() == soon.when());
    assert_true(never.or_earlier(never).is_never());
}

void one_of_waiting_counts_from_the_first_question(void**) {
    const auto deadline = Deadline::after_ms_of_waiting(60'000);
    const auto before = Deadline::Clock::now();
    assert_false(deadline.expired());
    const auto begun = deadline.when();
    assert_true(begun >= before + std::chrono::minutes(1));
    assert_true(deadline.when() == begun);
    assert_int_equal(deadline.timeout_ms(), 60'000);
    assert_true(Deadline::after_ms_of_waiting(0).expired());
    assert_true(Deadline::after_ms_of_waiting(-1).is_never());
    assert_int_equal(Deadline::after_ms_of_waiting(-1).poll_ms(), -1);
    const auto soon = Deadline::after_ms_of_waiting(10);
    assert_true(deadline.or_earlier(soon).when() == soon.when());
    assert_true(soon.or_later(deadline).when() == begun);
}

// However late the other one is asked.
void copies_are_the_same_point_in_time(void**) {
    const auto deadline = Deadline::after_ms_of_waiting(60'000);
    const Deadline copy = deadline;
    Deadline assigned = Deadline::never();
    assigned = deadline;
    const auto begun = copy.when();
    while (Deadline::Clock::now() + std::chrono::minutes(1) <= begun) {
    }
    assert_true(deadline.when() == begun && assigned.when() == begun);
    assert_int_equal(assigned.timeout_ms(), 60'000);
    const auto other = Deadline::after_ms_of_waiting(60'000);
    Deadline successor = Deadline::never();
    successor = other.successor();
    assert_true(successor.when() > begun);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(below_zero_is_never),
        TUTTI_TEST(more_than_a_clock_can_hold_is_never),
        TUTTI_TEST(zero_has_expired_at_once),
        TUTTI_TEST(what_is_left_is_rounded_up),
        TUTTI_TEST(a_far_deadline_fits_what_poll_takes),
        TUTTI_TEST(the_earlier_of_two_counts),
        TUTTI_TEST(one_of_waiting_counts_from_the_first_question),
        TUTTI_TEST(copies_are_the_same_point_in_time),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
