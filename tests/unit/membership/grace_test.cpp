// Does a process that was held up read what came meanwhile before it calls others silent?
#include "membership/grace.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "membership/heartbeat.hpp"
#include "net/stream.hpp"
#include "progress/event.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

void hold_up(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

void what_has_come_is_read_before_the_grace_ends(void**) {
    net::Loop loop("grace-test");
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    std::unique_ptr<net::Stream> stream;
    std::unique_ptr<Grace> grace;
    Event over;
    const uint32_t ticket = over.ticket();
    bool has_heard = false;
    bool had_heard = false;
    loop.run([&] {
        net::Stream::Events events;
        events.data = [&](std::span<const std::byte>) { has_heard = true; };
        events.closed = [](const Status&) {};
        stream = net::Stream::adopt(loop, ends[0], std::move(events));
        grace = std::make_unique<Grace>(loop, [&] {
            had_heard = has_heard;
            over.notify();
        });
        grace->start(1);
        assert_int_equal(write(ends[1], "x", 1), 1);
        hold_up(std::chrono::milliseconds(5));
    });
    assert_true(over.wait(ticket, Deadline::after_ms(60'000)));
    loop.run([&] {
        grace.reset();
        stream.reset();
    });
    close(ends[1]);
    assert_true(had_heard);
}

void a_late_tick_does_not_count_as_silence(void**) {
    HeartbeatClock clock({.interval_ms = 1, .timeout_ms = 4});
    const auto last_heard = HeartbeatClock::Clock::now();
    hold_up(std::chrono::milliseconds(5));
    (void)clock.was_suspended();  // what came in that time is read only after this tick
    assert_false(clock.is_quiet(last_heard));
    assert_false(clock.is_overdue(last_heard));
    (void)clock.was_suspended();
    assert_true(clock.is_quiet(last_heard));
    assert_true(clock.is_overdue(last_heard));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_has_come_is_read_before_the_grace_ends),
        TUTTI_TEST(a_late_tick_does_not_count_as_silence),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
