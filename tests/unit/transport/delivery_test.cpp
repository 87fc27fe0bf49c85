// Does a rank that leaves wait for its last output, and no longer than that helps?
#include "transport/delivery.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "net/socket.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::net::ListenSocket;
using tutti::net::Socket;

Deadline ample() {
    return Deadline::after_ms(60'000);
}

struct Connection {
    // As many bytes as both kernels hold.
    [[nodiscard]] size_t fill() const {
        const std::vector<char> bytes(1 << 20);
        size_t all = 0;
        for (;;) {
            const ssize_t sent =
                ::send(near.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (sent <= 0) return all;
            all += static_cast<size_t>(sent);
        }
    }
    [[nodiscard]] size_t read_to_the_end() {
        std::vector<std::byte> bytes(1 << 20);
        size_t all = 0;
        while (const size_t got = far.recv_some(bytes, ample())) all += got;
        return all;
    }

    const ListenSocket listener = ListenSocket::bind("127.0.0.1", 0, 1);
    const Socket near = Socket::connect({"127.0.0.1", listener.port()}, ample());
    Socket far = listener.accept(ample());
};

bool any(int /*socket*/) {
    return true;
}

void it_waits_until_the_peer_has_all(void**) {
    Connection connection;
    const size_t sent = connection.fill();
    size_t got = 0;
    std::thread reader([&] { got = connection.read_to_the_end(); });
    const Deadline deadline = ample();
    tutti::deliver({connection.near.descriptor()}, any, deadline);
    assert_false(deadline.expired());
    int left = -1;
    assert_int_equal(::ioctl(connection.near.descriptor(), SIOCOUTQ, &left), 0);
    assert_int_equal(left, 0);
    reader.join();
    assert_true(got == sent);
}

void what_a_peer_has_refused_is_not_waited_for(void**) {
    Connection connection;
    assert_true(connection.fill() > 0);
    connection.far.close();  // with unread data: the connection is reset
    const Deadline deadline = ample();
    tutti::deliver({connection.near.descriptor()}, any, deadline);
    assert_false(deadline.expired());
}

void a_peer_that_does_not_read_is_waited_for_until_the_deadline(void**) {
    const Connection connection;
    assert_true(connection.fill() > 0);
    const Deadline deadline = Deadline::after_ms(50);
    tutti::deliver({connection.near.descriptor()}, any, deadline);
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
