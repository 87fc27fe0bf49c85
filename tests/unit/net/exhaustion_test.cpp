// Without descriptors: every call says so at once and names the limit, and a listener asks its
// owner.
#include <unistd.h>

#include <future>
#include <memory>
#include <vector>

#include "net/interfaces.hpp"
#include "net/loop.hpp"
#include "net/pending_peers.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "support/limits.hpp"
#include "support/sanitizers.h"

namespace {

using namespace tutti;
using net::Descriptor;
using net::Listener;
using net::ListenSocket;
using net::Loop;
using net::PendingPeers;
using net::Socket;
using test::LowLimit;
using test::NoDescriptors;

constexpr const char* limit = "this process may have 3 open files (ulimit -n)";
constexpr tutti_status exhausted = TUTTI_ERR_OUT_OF_MEMORY;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

// Without end, the deadline would be a test that hangs.
void connecting_and_listening_fail_at_once(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    const ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 8);
    const int port = listener.port();
    const NoDescriptors none;
    const Deadline never = Deadline::never();
    TUTTI_EXPECT_ERROR(Socket::connect({"127.0.0.1", port}, never), exhausted, limit);
    const auto addresses = net::numeric_addresses(std::vector<std::string>{"127.0.0.1"}, port);
    TUTTI_EXPECT_ERROR(Socket::connect(addresses, never), exhausted, limit);
    TUTTI_EXPECT_ERROR(Socket::connect_once(addresses, never), exhausted, limit);
    TUTTI_EXPECT_ERROR(ListenSocket::bind("127.0.0.1", 0, 8), exhausted, limit);
    TUTTI_EXPECT_ERROR(ListenSocket::bind("", 0, 8), exhausted, limit);
    TUTTI_EXPECT_ERROR(ListenSocket::adopt(listener.descriptor(), 8), exhausted, limit);
    TUTTI_EXPECT_ERROR(net::resolve({"no.such.name.invalid", 1}), exhausted, limit);
    TUTTI_EXPECT_ERROR(net::addresses_of_this_host(), exhausted, limit);
    TUTTI_EXPECT_ERROR(net::host_identity(), exhausted, limit);
    TUTTI_EXPECT_ERROR(Loop("test"), exhausted, limit);
}

void accepting_says_why_nobody_is_let_in(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    const ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 8);
    const Socket near = Socket::connect({"127.0.0.1", listener.port()}, ample());
    {
        const NoDescriptors none;
        TUTTI_EXPECT_ERROR(listener.accept(Deadline::never()), exhausted, limit);
    }
    assert_true(listener.accept(ample()).valid());
}

struct Door {
    explicit Door(Listener::Exhausted on_exhaustion) {
        ListenSocket socket = ListenSocket::bind("127.0.0.1", 0, 8);
        port = socket.port();
        loop.run([&] {
            listener = std::make_unique<Listener>(
                loop, std::vector<int>{socket.release()},
                [this](int fd) { accepted.set_value(Socket(fd)); }, std::move(on_exhaustion));
        });
    }
    ~Door() {
        loop.run([this] { listener.reset(); });
    }
    int port = 0;
    std::promise<Socket> accepted;
    std::unique_ptr<Listener> listener;
    Loop loop{"test"};
};

// Connected while the loop is busy; then the descriptors run out before it gets to accept.
void call_and_run_out(Door& door, Socket& near, std::unique_ptr<NoDescriptors>& none) {
    door.loop.run([&] {
        near = Socket::connect({"127.0.0.1", door.port}, ample());
        none = std::make_unique<NoDescriptors>();
    });
}

void a_listener_tells_its_owner_and_rests(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    std::promise<Status> told;
    int times = 0;
    Door door([&](const Status& status) {
        if (++times == 1) told.set_value(status);
        return false;
    });
    Socket near;
    std::unique_ptr<NoDescriptors> none;
    call_and_run_out(door, near, none);
    const Status status = told.get_future().get();
    assert_int_equal(status.code, exhausted);
    assert_true(status.message.find(limit) != std::string::npos);
    int seen = 0;
    for (int i = 0; i < 100; ++i) door.loop.run([&] { seen = times; });
    assert_true(seen < 50);  // it does not spin
    none.reset();
    assert_true(door.accepted.get_future().get().valid());
}

void a_listener_lets_in_whoever_room_was_made_for(void**) {
    if (TYPES_SANITIZED) skip();  // it needs descriptors itself
    std::unique_ptr<NoDescriptors> none;
    Door door([&](const Status&) {
        none.reset();
        return true;
    });
    Socket near;
    call_and_run_out(door, near, none);
    assert_true(door.accepted.get_future().get().valid());
    assert_null(none.get());
}

void the_oldest_stranger_goes_first(void**) {
    PendingPeers<int> strangers(3);
    for (int id = 1; id <= 3; ++id) assert_false(strangers.add(id).has_value());
    assert_int_equal(strangers.add(4).value_or(0), 1);
    strangers.remove(2);
    assert_false(strangers.add(5).has_value());
    assert_int_equal(strangers.add(6).value_or(0), 3);
    assert_int_equal(strangers.take_oldest().value_or(0), 4);
    assert_int_equal(strangers.size(), 2);
    strangers.remove(4);
    assert_int_equal(strangers.size(), 2);
    assert_int_equal(strangers.take_oldest().value_or(0), 5);
    assert_int_equal(strangers.take_oldest().value_or(0), 6);
    assert_false(strangers.take_oldest().has_value());
}

void free_descriptors_are_those_that_are_not_open(void**) {
    const LowLimit most(RLIMIT_NOFILE, 200);
    const size_t free = net::free_descriptors();
    assert_in_range(free, 1, 197);
    std::vector<Descriptor> more;
    for (int i = 0; i < 10; ++i) more.emplace_back(::dup(0));
    assert_int_equal(net::free_descriptors(), free - 10);
    while (net::free_descriptors() > 1) more.emplace_back(::dup(0));
    assert_int_equal(net::max_strangers(), 16);
    const NoDescriptors none;
    assert_int_equal(net::free_descriptors(), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(connecting_and_listening_fail_at_once),
        TUTTI_TEST(accepting_says_why_nobody_is_let_in),
        TUTTI_TEST(a_listener_tells_its_owner_and_rests),
        TUTTI_TEST(a_listener_lets_in_whoever_room_was_made_for),
        TUTTI_TEST(the_oldest_stranger_goes_first),
        TUTTI_TEST(free_descriptors_are_those_that_are_not_open),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
