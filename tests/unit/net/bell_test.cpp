// Does a bell wake the thread that sleeps on sockets, whether it rings before the sleep or in it?
#include "net/bell.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "net/descriptor.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

struct Pair {
    Pair() {
        std::array<int, 2> ends{};
        assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        here = net::Descriptor(ends[0]);
        there = net::Descriptor(ends[1]);
    }
    net::Descriptor here;
    net::Descriptor there;
};

void a_ring_before_the_sleep_counts_once(void**) {
    const Pair pair;
    const net::Bell bell;
    bell.ring();
    bell.ring();
    bell.await_ring_or(pair.here.get(), Deadline::never());
    const auto before = Deadline::Clock::now();
    bell.await_ring_or(pair.here.get(), Deadline::after_ms(5));
    assert_true(Deadline::Clock::now() - before >= std::chrono::milliseconds(4));
}

void a_ring_ends_the_sleep(void**) {
    const Pair pair;
    const net::Bell bell;
    for (int round = 0; round < 100; ++round) {
        std::thread ringer([&] { bell.ring(); });
        bell.await_ring_or(pair.here.get(), Deadline::never());
        ringer.join();
    }
}

void input_ends_the_sleep(void**) {
    const Pair pair;
    const net::Bell bell;
    assert_int_equal(::write(pair.there.get(), "x", 1), 1);
    bell.await_ring_or(pair.here.get(), Deadline::never());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_ring_before_the_sleep_counts_once),
        TUTTI_TEST(a_ring_ends_the_sleep),
        TUTTI_TEST(input_ends_the_sleep),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
