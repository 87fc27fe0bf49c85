// Blocking sockets: connecting with retries, deadlines, cancelling, and what the errors say.
#include "net/socket.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "net/address.hpp"
#include "support/unit.hpp"

namespace {

using tutti::cat;
using tutti::Deadline;
using tutti::net::Descriptor;
using tutti::net::ListenSocket;
using tutti::net::Socket;

constexpr const char* here = "127.0.0.1";

Deadline soon() {
    return Deadline::after_ms(50);
}
// Longer than any test may take: for what must not time out.
Deadline ample() {
    return Deadline::after_ms(60'000);
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string receive(Socket& socket, size_t size) {
    std::string text(size, '\0');
    socket.recv_all(std::as_writable_bytes(std::span(text)), ample());
    return text;
}

struct Pair {
    ListenSocket listener = ListenSocket::bind(here, 0, 8);
    Socket near = Socket::connect({here, listener.port()}, ample());
    Socket far = listener.accept(ample());
};

// A port at which nobody listens and that nobody is given while the socket lives: bound, and never
// listening.
struct UnusedPort {
    UnusedPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        for (const tutti::net::Address& address : tutti::net::resolve({here, 0}))
            assert_int_equal(::bind(fd.get(), address.get(), address.size), 0);
        port = tutti::net::local_address_of(fd.get()).port();
    }
    Descriptor fd;
    int port = 0;
};

void bytes_travel_both_ways(void**) {
    Pair pair;
    pair.near.send_all(bytes_of("ping"), ample());
    assert_string_equal(receive(pair.far, 4).c_str(), "ping");
    pair.far.send_all(bytes_of("pong!"), ample());
    assert_string_equal(receive(pair.near, 5).c_str(), "pong!");
    assert_string_equal(pair.near.remote_address().c_str(), here);
    assert_string_equal(pair.near.local_address().c_str(), here);
}

void more_than_the_kernel_buffers_arrives_whole(void**) {
    Pair pair;
    std::string sent(16 * 1024 * 1024, '\0');
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 2654435761u >> 13);
    std::thread sender([&] { pair.near.send_all(bytes_of(sent), ample()); });
    const std::string received = receive(pair.far, sent.size());
    sender.join();
    assert_true(received == sent);
}

void descriptors_are_closed_on_exec_and_do_not_block(void**) {
    Pair pair;
    for (const int fd :
         {pair.listener.descriptor(), pair.near.descriptor(), pair.far.descriptor()}) {
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    }
}

void connect_retries_until_somebody_listens(void**) {
    UnusedPort unused;
    std::atomic<bool> connecting{false};
    Socket socket;
    std::thread client([&] {
        // Refused at least once: this deadline passes before anybody listens.
        try {
            (void)Socket::connect({here, unused.port}, Deadline::after_ms(1));
        } catch (const tutti::Error&) {
            connecting = true;
        }
        connecting.notify_one();
        socket = Socket::connect({here, unused.port}, ample());
    });
    connecting.wait(false);
    assert_int_equal(::listen(unused.fd.get(), 8), 0);
    client.join();
    assert_true(socket.valid());
}

void a_refused_connect_says_where_and_why(void**) {
    const UnusedPort unused;
    TUTTI_EXPECT_ERROR(Socket::connect({here, unused.port}, soon()), TUTTI_ERR_NETWORK,
                       cat("127.0.0.1:", unused.port));
    TUTTI_EXPECT_ERROR(Socket::connect({here, unused.port}, soon()), TUTTI_ERR_NETWORK,
                       "127.0.0.1: Connection refused (ECONNREFUSED))");
}

void a_name_that_does_not_resolve_is_named(void**) {
    TUTTI_EXPECT_ERROR(Socket::connect({"not a host name", 80}, soon()), TUTTI_ERR_NETWORK,
                       "\"not a host name\"");
}

void a_port_out_of_range_is_an_invalid_argument(void**) {
    TUTTI_EXPECT_ERROR(Socket::connect({here, 65536}, soon()), TUTTI_ERR_INVALID_ARGUMENT, "65536");
    TUTTI_EXPECT_ERROR(ListenSocket::bind("", -1, 8), TUTTI_ERR_INVALID_ARGUMENT, "-1");
}

void connecting_can_be_cancelled(void**) {
    const UnusedPort unused;
    const Descriptor cancel(eventfd(1, EFD_CLOEXEC));
    TUTTI_EXPECT_ERROR(Socket::connect({here, unused.port}, Deadline::never(), cancel.get()),
                       TUTTI_ERR_ABORTED, "cancelled");
}

void receiving_can_be_cancelled(void**) {
    Pair pair;
    const Descriptor cancel(eventfd(0, EFD_CLOEXEC));
    std::thread canceller([&] { assert_int_equal(eventfd_write(cancel.get(), 1), 0); });
    std::array<std::byte, 1> byte{};
    TUTTI_EXPECT_ERROR(pair.near.recv_all(byte, Deadline::never(), cancel.get()), TUTTI_ERR_ABORTED,
                       "cancelled");
    canceller.join();
}

void a_deadline_ends_every_wait(void**) {
    Pair pair;
    std::array<std::byte, 1> byte{};
    TUTTI_EXPECT_ERROR(pair.near.recv_all(byte, soon()), TUTTI_ERR_TIMEOUT, "receiving from");
    TUTTI_EXPECT_ERROR(pair.listener.accept(soon()), TUTTI_ERR_TIMEOUT, "nobody connected");
    const std::string much(64 * 1024 * 1024, 'x');
    TUTTI_EXPECT_ERROR(pair.near.send_all(bytes_of(much), soon()), TUTTI_ERR_TIMEOUT, "sending to");
}

void a_peer_that_closes_is_an_error_and_no_signal(void**) {
    Pair pair;
    pair.far.close();
    std::array<std::byte, 1> byte{};
    TUTTI_EXPECT_ERROR(pair.near.recv_all(byte, ample()), TUTTI_ERR_NETWORK,
                       "the peer closed the connection");
    const auto send_until_it_fails = [&] {
        while (true) pair.near.send_all(byte, ample());
    };
    TUTTI_EXPECT_ERROR(send_until_it_fails(), TUTTI_ERR_NETWORK, "sending to 127.0.0.1:");
}

void shutting_down_wakes_a_blocked_receiver(void**) {
    Pair pair;
    std::thread other([&] { pair.near.shut_down(); });
    std::array<std::byte, 1> byte{};
    TUTTI_EXPECT_ERROR(pair.near.recv_all(byte, Deadline::never()), TUTTI_ERR_NETWORK, "closed");
    other.join();
}

void a_port_in_use_is_named(void**) {
    const ListenSocket first = ListenSocket::bind(here, 0, 8);
    TUTTI_EXPECT_ERROR(ListenSocket::bind(here, first.port(), 8), TUTTI_ERR_NETWORK,
                       cat("127.0.0.1:", first.port(), ": Address already in use (EADDRINUSE)"));
}

void an_empty_host_listens_at_every_address(void**) {
    ListenSocket listener = ListenSocket::bind("", 0, 8);
    const Socket near = Socket::connect({here, listener.port()}, ample());
    const Socket far = listener.accept(ample());
    assert_string_equal(far.local_address().c_str(), here);
}

void every_address_of_a_name_gets_the_same_port(void**) {
    std::vector<ListenSocket> listeners = ListenSocket::bind_each("localhost", 0, 8);
    assert_true(!listeners.empty());
    for (ListenSocket& listener : listeners) {
        assert_int_equal(listener.port(), listeners.front().port());
        const Socket near = Socket::connect({listener.address(), listener.port()}, ample());
        assert_true(listener.accept(ample()).valid());
    }
}

std::vector<tutti::net::Address> addresses_of(const std::vector<const ListenSocket*>& sockets) {
    std::vector<tutti::net::Address> addresses;
    for (const ListenSocket* one : sockets) {
        addresses.push_back(tutti::net::local_address_of(one->descriptor()));
    }
    return addresses;
}

// An address at which nobody answers and nobody refuses: its queue is full.
struct SilentPort {
    SilentPort() {
        for (int count = 0; count < 4; ++count) {
            Descriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            const auto address = tutti::net::local_address_of(listener.descriptor());
            (void)::connect(caller.get(), address.get(), address.size);
            callers.push_back(std::move(caller));
        }
    }
    ListenSocket listener = ListenSocket::bind(here, 0, 0);
    std::vector<Descriptor> callers;
};

void the_first_address_that_answers_is_taken(void**) {
    const UnusedPort refuses;
    const SilentPort silent;
    const ListenSocket open = ListenSocket::bind(here, 0, 8);
    auto addresses = addresses_of({&silent.listener, &silent.listener, &open});
    addresses[1].set_port(refuses.port);
    const Deadline limit = Deadline::after_ms(20'000);  // not enough for whoever waits for silence
    for (int turn = 0; turn < 3; ++turn) {
        const Socket once = Socket::connect_once(addresses, limit);
        assert_int_equal(tutti::net::remote_address_of(once.descriptor()).port(), open.port());
        const Socket patient = Socket::connect(addresses, limit);
        assert_int_equal(tutti::net::remote_address_of(patient.descriptor()).port(), open.port());
        std::rotate(addresses.begin(), addresses.begin() + 1, addresses.end());
    }
    addresses.assign(2, addresses_of({&silent.listener}).front());
    addresses[0].set_port(refuses.port);
    for (const char* reason : {"127.0.0.1: Connection refused (ECONNREFUSED)",
                               "127.0.0.1: Connection timed out (ETIMEDOUT)"}) {
        TUTTI_EXPECT_ERROR(Socket::connect_once(addresses, soon()), TUTTI_ERR_NETWORK, reason);
        TUTTI_EXPECT_ERROR(Socket::connect(addresses, soon()), TUTTI_ERR_NETWORK, reason);
    }
}

void several_addresses_share_a_port_and_a_queue(void**) {
    const std::vector<std::string> names{"127.0.0.3", "127.0.0.2", "127.0.0.3"};
    const auto listeners = ListenSocket::bind_each(std::span(names), 8);
    assert_int_equal(listeners.size(), 2);
    for (const char* name : {"127.0.0.2", "127.0.0.3"}) {
        const Socket near = Socket::connect({name, listeners.front().port()}, ample());
        const Socket far = ListenSocket::accept(listeners, ample());
        assert_string_equal(far.local_address().c_str(), name);
    }
    TUTTI_EXPECT_ERROR(ListenSocket::accept(listeners, soon()), TUTTI_ERR_TIMEOUT, "nobody");
    const auto everywhere = ListenSocket::bind_each(std::span<const std::string>(), 8);
    assert_true(Socket::connect({"127.0.0.5", everywhere.front().port()}, ample()).valid());
}

void what_is_no_numeric_address_is_left_out(void**) {
    const std::vector<std::string> hosts{"10.0.0.1", "localhost", "fe80::1%none", "", "fd00::1"};
    const auto addresses = tutti::net::numeric_addresses(hosts, 80);
    assert_int_equal(addresses.size(), 2);
    assert_string_equal(addresses[0].text().c_str(), "10.0.0.1:80");
    assert_string_equal(addresses[1].text().c_str(), "[fd00::1]:80");
}

void addresses_have_their_usual_text(void**) {
    assert_string_equal(tutti::net::endpoint_text("::1", 80).c_str(), "[::1]:80");
    assert_string_equal(tutti::net::resolve({"::1", 80}).front().text().c_str(), "[::1]:80");
    assert_string_equal(tutti::net::resolve({"::ffff:10.0.0.1", 80}).front().text().c_str(),
                        "10.0.0.1:80");
    assert_true(tutti::net::resolve({"127.0.1.1", 1}).front().is_loopback());
    assert_true(tutti::net::resolve({"::ffff:127.0.0.1", 1}).front().is_loopback());
    assert_false(tutti::net::resolve({"10.0.0.1", 1}).front().is_loopback());
    assert_true(tutti::net::is_numeric_host("fe80::1%eth0"));
    assert_false(tutti::net::is_numeric_host("localhost"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(bytes_travel_both_ways),
        TUTTI_TEST(more_than_the_kernel_buffers_arrives_whole),
        TUTTI_TEST(descriptors_are_closed_on_exec_and_do_not_block),
        TUTTI_TEST(connect_retries_until_somebody_listens),
        TUTTI_TEST(a_refused_connect_says_where_and_why),
        TUTTI_TEST(a_name_that_does_not_resolve_is_named),
        TUTTI_TEST(a_port_out_of_range_is_an_invalid_argument),
        TUTTI_TEST(connecting_can_be_cancelled),
        TUTTI_TEST(receiving_can_be_cancelled),
        TUTTI_TEST(a_deadline_ends_every_wait),
        TUTTI_TEST(a_peer_that_closes_is_an_error_and_no_signal),
        TUTTI_TEST(shutting_down_wakes_a_blocked_receiver),
        TUTTI_TEST(a_port_in_use_is_named),
        TUTTI_TEST(an_empty_host_listens_at_every_address),
        TUTTI_TEST(every_address_of_a_name_gets_the_same_port),
        TUTTI_TEST(the_first_address_that_answers_is_taken),
        TUTTI_TEST(several_addresses_share_a_port_and_a_queue),
        TUTTI_TEST(what_is_no_numeric_address_is_left_out),
        TUTTI_TEST(addresses_have_their_usual_text),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
