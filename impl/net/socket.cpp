// Sending and receiving with poll. Any thread.
#include "socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/resource_limits.hpp"
#include "connecting.hpp"
#include "line.hpp"
#include "wait.hpp"

namespace tutti::net {
namespace {

void set_no_delay(int fd) {
    const int one = 1;
    // Fails on a socket that is not TCP, which needs no such thing.
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

std::string text_of(std::span<const Address> addresses) {
    std::string text;
    for (const Address& one : addresses) text += cat(text.empty() ? "" : ", ", one.text());
    return text;
}

}  // namespace

Socket::Socket(int fd) : descriptor_(fd) {
    Address peer;
    const bool known = getpeername(fd, peer.get(), &peer.size) == 0;
    peer_ = known ? peer.text() : "a closed peer";
    set_no_delay(fd);
    keep_alive(fd);
}

Socket Socket::connect(const Endpoint& endpoint, const Deadline& deadline, int cancel_fd) {
    const std::string what = cat("connecting to ", endpoint_text(endpoint.host, endpoint.port));
    if (endpoint.host.empty() || endpoint.port == 0)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, ": host and port must be given"));
    const auto resolve_host = [&](Attempts& attempts) {
        std::string temporary;
        std::vector<Address> addresses = resolve(endpoint, &temporary);
        if (!temporary.empty()) {
            note(attempts, temporary);
            attempts.again = true;
        }
        return addresses;
    };
    return Socket(connect_patiently(resolve_host, deadline, cancel_fd, what).release());
}

Socket Socket::connect(std::span<const Address> addresses, const Deadline& deadline, int cancel_fd,
                       const Deadline& refused_until) {
    const auto all = [&](Attempts&) {
        return std::vector<Address>(addresses.begin(), addresses.end());
    };
    const std::string what = cat("connecting to ", text_of(addresses));
    return Socket(connect_patiently(all, deadline, cancel_fd, what, refused_until).release());
}

Socket Socket::connect_once(std::span<const Address> addresses, const Deadline& deadline,
                            int cancel_fd, const Address* from) {
    const std::string what = cat("connecting to ", text_of(addresses));
    Attempts attempts;
    Descriptor fd = net::connect_once(addresses, deadline, cancel_fd, what, attempts, from);
    if (!fd.valid())
        throw Error(TUTTI_ERR_NETWORK, cat(what, ": ", reasons_of(attempts)), -1,
                    attempts.last_errno);
    return Socket(fd.release());
}

void Socket::wait_for(short events, const char* verb, const Deadline& deadline,
                      int cancel_fd) const {
    for (;;) {
        const Deadline look = deadline.or_earlier(Deadline::after_ms(line_look_ms()));
        switch (wait_descriptor(descriptor_.get(), events, look, cancel_fd)) {
            case Waited::Ready:
                return;
            case Waited::Cancelled:
                fail_cancelled(cat(verb, ' ', peer_));
            case Waited::Expired:
                break;
        }
        if (is_dead(descriptor_.get())) fail(verb, ETIMEDOUT);
        if (deadline.expired())
            throw Error(TUTTI_ERR_TIMEOUT, cat(verb, ' ', peer_, ": timed out"));
    }
}

void Socket::fail(const char* verb, int number) const {
    throw system_error(TUTTI_ERR_NETWORK, cat(verb, ' ', peer_), number);
}

void Socket::send_all(std::span<const std::byte> bytes, const Deadline& deadline, int cancel_fd) {
    while (!bytes.empty()) {
        const ssize_t sent =
            ::send(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            bytes = bytes.subspan(static_cast<size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            wait_for(POLLOUT, "sending to", deadline, cancel_fd);
        } else if (errno != EINTR) {
            fail("sending to", errno);
        }
    }
}

size_t Socket::recv_some(std::span<std::byte> bytes, const Deadline& deadline, int cancel_fd) {
    while (true) {
        const ssize_t count = ::recv(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count >= 0) return static_cast<size_t>(count);
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            await_readable(deadline, cancel_fd);
        else if (errno != EINTR)
            fail("receiving from", errno);
    }
}

void Socket::recv_all(std::span<std::byte> bytes, const Deadline& deadline, int cancel_fd) {
    while (!bytes.empty()) {
        const size_t count = recv_some(bytes, deadline, cancel_fd);
        if (count == 0) fail_closed();
        bytes = bytes.subspan(count);
    }
}

void Socket::fail_closed() const {
    throw Error(TUTTI_ERR_NETWORK,
                cat("receiving from ", peer_, ": the peer closed the connection"));
}

void Socket::await_readable(const Deadline& deadline, int cancel_fd) const {
    wait_for(POLLIN, "receiving from", deadline, cancel_fd);
}

bool Socket::readable() const {
    pollfd entry = {descriptor_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
}

std::string Socket::local_address() const {
    return local_address_of(descriptor_.get()).host();
}

std::string Socket::remote_address() const {
    return remote_address_of(descriptor_.get()).host();
}

void Socket::shut_down() noexcept {
    (void)::shutdown(descriptor_.get(), SHUT_RDWR);
}

}  // namespace tutti::net
