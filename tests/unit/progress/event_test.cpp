// Does everybody who waits wake up? Threads against each other; a wake-up that is lost ends as a
// time-out.
#include "progress/event.hpp"

#include <thread>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::Event;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

void a_notify_after_the_ticket_ends_the_wait(void**) {
    Event event;
    const uint32_t ticket = event.ticket();
    event.notify();
    assert_true(event.wait(ticket, Deadline::never()));
    assert_true(event.wait(ticket, Deadline::after_ms(0)));
}

void a_notify_before_the_ticket_does_not(void**) {
    Event event;
    event.notify();
    assert_false(event.wait(event.ticket(), Deadline::after_ms(1)));
}

void a_deadline_in_the_past_ends_the_wait(void**) {
    Event event;
    assert_false(event.wait(event.ticket(), Deadline::after_ms(0)));
    assert_false(event.wait(event.ticket(), Deadline::at(Deadline::Clock::time_point{})));
}

void a_wait_lasts_until_its_deadline(void**) {
    Event event;
    const auto deadline = Deadline::after_ms(20);
    assert_false(event.wait(event.ticket(), deadline));
    assert_true(deadline.expired());
}

void one_notify_wakes_all(void**) {
    Event event;
    std::atomic<bool> open{false};
    std::atomic<int> late{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 16; ++index) {
        threads.emplace_back([&] {
            for (uint32_t ticket = event.ticket(); !open; ticket = event.ticket()) {
                if (open) break;
                if (!event.wait(ticket, ample())) ++late;
            }
        });
    }
    open = true;
    event.notify();
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(late, 0);
}

// Two threads hand a number to and fro: each step is one chance to lose a wake-up.
void no_wake_up_is_lost_between_two(void**) {
    Event event;
    std::atomic<int> turn{0};
    std::atomic<int> late{0};
    constexpr int turns = 20'000;
    const auto play = [&](int parity) {
        for (int mine = parity; mine < turns; mine += 2) {
            for (;;) {
                const uint32_t ticket = event.ticket();
                if (turn == mine || late > 0) break;
                if (!event.wait(ticket, ample())) ++late;
            }
            turn = mine + 1;
            event.notify();
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    assert_int_equal(late, 0);
    assert_int_equal(turn, turns);
}

// Many take, many give: whoever gives notifies without knowing whether anybody sleeps.
void no_wake_up_is_lost_among_many(void**) {
    Event event;
    std::atomic<int> there{0};
    std::atomic<int> late{0};
    constexpr int threads_each = 4;
    constexpr int each = 5'000;
    const auto take_one = [&] {
        int seen = there;
        while (seen > 0) {
            if (there.compare_exchange_weak(seen, seen - 1)) return true;
        }
        return false;
    };
    std::vector<std::thread> threads;
    for (int index = 0; index < threads_each; ++index) {
        threads.emplace_back([&] {
            for (int count = 0; count < each; ++count) {
                for (;;) {
                    const uint32_t ticket = event.ticket();
                    if (take_one() || late > 0) break;
                    if (!event.wait(ticket, ample())) ++late;
                }
            }
        });
        threads.emplace_back([&] {
            for (int count = 0; count < each; ++count) {
                ++there;
                event.notify();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(late, 0);
    assert_int_equal(there, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_notify_after_the_ticket_ends_the_wait),
        TUTTI_TEST(a_notify_before_the_ticket_does_not),
        TUTTI_TEST(a_deadline_in_the_past_ends_the_wait),
        TUTTI_TEST(a_wait_lasts_until_its_deadline),
        TUTTI_TEST(one_notify_wakes_all),
        TUTTI_TEST(no_wake_up_is_lost_between_two),
        TUTTI_TEST(no_wake_up_is_lost_among_many),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
