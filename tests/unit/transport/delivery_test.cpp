// Does a rank that leaves wait for its last output, and no longer than that helps?
#include "transport/delivery.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "net/descriptor.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::net::Descriptor;

struct Connection {
    Connection() {
        const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        assert_int_equal(::bind(listener.get(), general, size), 0);
        assert_int_equal(::listen(listener.get(), 1), 0);
        assert_int_equal(::getsockname(listener.get(), general, &size), 0);
        near = Descriptor(::socket(AF_INET, SOCK_STREAM, 0));
        assert_int_equal(::connect(near.get(), general, size), 0);
        far = Descriptor(::accept(listener.get(), nullptr, nullptr));
    }

    // As many bytes as both kernels hold.
    [[nodiscard]] size_t fill() const {
        const std::vector<char> bytes(1 << 20);
        size_t all = 0;
        for (;;) {
            const ssize_t sent = ::send(near.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (sent <= 0) return all;
            all += static_cast<size_t>(sent);
        }
    }
    [[nodiscard]] size_t read_to_the_end() const {
        std::vector<char> bytes(1 << 20);
        size_t all = 0;
        for (;;) {
            const ssize_t got = ::recv(far.get(), bytes.data(), bytes.size(), 0);
            if (got <= 0) return all;
            all += static_cast<size_t>(got);
        }
    }

    Descriptor near;
    Descriptor far;
};

bool any(int /*socket*/) {
    return true;
}

void it_waits_until_the_peer_has_all(void**) {
    const Connection connection;
    const size_t sent = connection.fill();
    size_t got = 0;
    std::thread reader([&] { got = connection.read_to_the_end(); });
    const Deadline deadline = Deadline::after_ms(60'000);
    tutti::deliver({connection.near.get()}, any, deadline);
    assert_false(deadline.expired());
    int left = -1;
    assert_int_equal(::ioctl(connection.near.get(), SIOCOUTQ, &left), 0);
    assert_int_equal(left, 0);
    reader.join();
    assert_true(got == sent);
}

void what_a_peer_has_refused_is_not_waited_for(void**) {
    Connection connection;
    assert_true(connection.fill() > 0);
    connection.far = Descriptor();  // with unread data: the connection is reset
    const Deadline deadline = Deadline::after_ms(60'000);
    tutti::deliver({connection.near.get()}, any, deadline);
    assert_false(deadline.expired());
}

void a_peer_that_does_not_read_is_waited_for_until_the_deadline(void**) {
    const Connection connection;
    assert_true(connection.fill() > 0);
    const Deadline deadline = Deadline::after_ms(50);
    tutti::deliver({connection.near.get()}, any, deadline);
    assert_true(deadline.expired());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(it_waits_until_the_peer_has_all),
        TUTTI_TEST(what_a_peer_has_refused_is_not_waited_for),
        TUTTI_TEST(a_peer_that_does_not_read_is_waited_for_until_the_deadline),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
