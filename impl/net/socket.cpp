// Sending and receiving with poll, and connecting with retries. Any thread.
#include "socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.hpp"
#include "wait.hpp"

namespace tutti::net {
namespace {

constexpr int64_t first_pause_ms = 5;
constexpr int64_t longest_pause_ms = 300;
// With several addresses, one that swallows packets must not use up the time of the others.
constexpr int64_t longest_attempt_ms = 5'000;

bool may_pass(int number) {
    switch (number) {
        case ECONNREFUSED:
        case ECONNRESET:
        case ECONNABORTED:
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENETDOWN:
        case EADDRNOTAVAIL:
        case EAGAIN:
            return true;
        default:
            return false;
    }
}

void set_no_delay(int fd) {
    const int one = 1;
    // Fails on a socket that is not TCP, which needs no such thing.
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

[[noreturn]] void fail_cancelled(const std::string& what) {
    throw Error(TUTTI_ERR_ABORTED, cat(what, ": cancelled"));
}

// A connect to a free port of this machine can meet itself: the kernel picks that very port for the
// near end. Such a connection would also keep the real server from binding.
bool connected_to_itself(int fd) {
    const Address local = local_address_of(fd);
    Address remote;
    if (getpeername(fd, remote.get(), &remote.size) != 0) return false;
    return local.port() == remote.port() && local.host() == remote.host();
}

// One attempt: a connected descriptor and 0, or none and the errno.
std::pair<Descriptor, int> try_address(const Address& address, const Deadline& deadline,
                                       int cancel_fd, const std::string& what) {
    Descriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return {Descriptor(), errno};
    set_no_delay(fd.get());
    if (::connect(fd.get(), address.get(), address.size) != 0) {
        if (errno != EINPROGRESS && errno != EINTR) return {Descriptor(), errno};
        switch (wait_descriptor(fd.get(), POLLOUT, deadline, cancel_fd)) {
            case Waited::Cancelled:
                fail_cancelled(what);
            case Waited::Expired:
                return {Descriptor(), ETIMEDOUT};
            case Waited::Ready:
                break;
        }
        int number = 0;
        socklen_t size = sizeof number;
        if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
        if (number != 0) return {Descriptor(), number};
    }
    if (connected_to_itself(fd.get())) return {Descriptor(), ECONNREFUSED};
    return {std::move(fd), 0};
}

void note(std::vector<std::string>& reasons, std::string reason) {
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
        reasons.push_back(std::move(reason));
}

std::string join(const std::vector<std::string>& pieces) {
    std::string out;
    for (const std::string& piece : pieces) out += cat(out.empty() ? "" : "; ", piece);
    return out;
}

// What the attempts of one connect() have met so far.
struct Attempts {
    std::vector<std::string> reasons;
    int last_errno = 0;
    bool again = false;  // something of the last round may pass
};

Descriptor try_all(const Endpoint& endpoint, const Deadline& deadline, int cancel_fd,
                   const std::string& what, Attempts& attempts) {
    attempts.again = false;
    std::string temporary;
    const std::vector<Address> addresses = resolve(endpoint, &temporary);
    if (!temporary.empty()) {
        note(attempts.reasons, temporary);
        attempts.again = true;
    }
    for (const Address& address : addresses) {
        const Deadline limit = addresses.size() == 1
                                   ? deadline
                                   : deadline.or_earlier(Deadline::after_ms(longest_attempt_ms));
        auto [fd, number] = try_address(address, limit, cancel_fd, what);
        if (fd.valid()) return std::move(fd);
        note(attempts.reasons, cat(address.host(), ": ", errno_text(number)));
        attempts.last_errno = number;
        attempts.again = attempts.again || may_pass(number);
    }
    return Descriptor();
}

}  // namespace

Socket::Socket(int fd) : descriptor_(fd) {
    Address peer;
    const bool known = getpeername(fd, peer.get(), &peer.size) == 0;
    peer_ = known ? peer.text() : "a closed peer";
    set_no_delay(fd);
}

Socket Socket::connect(const Endpoint& endpoint, const Deadline& deadline, int cancel_fd) {
    const std::string what = cat("connecting to ", endpoint_text(endpoint.host, endpoint.port));
    if (endpoint.host.empty() || endpoint.port == 0)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, ": host and port must be given"));
    Attempts attempts;
    int64_t pause_ms = first_pause_ms;
    while (true) {
        Descriptor fd = try_all(endpoint, deadline, cancel_fd, what, attempts);
        if (fd.valid()) return Socket(fd.release());
        if (!attempts.again || deadline.expired()) break;
        const Deadline pause = deadline.or_earlier(Deadline::after_ms(pause_ms));
        if (wait_descriptor(-1, 0, pause, cancel_fd) == Waited::Cancelled) fail_cancelled(what);
        if (deadline.expired()) break;
        pause_ms = std::min(pause_ms * 2, longest_pause_ms);
    }
    throw Error(TUTTI_ERR_NETWORK,
                cat(what, attempts.again ? ": no success in time (" : " failed (",
                    join(attempts.reasons), ")"),
                -1, attempts.last_errno);
}

Socket Socket::connect(const Address& address, const Deadline& deadline, int cancel_fd) {
    const std::string what = cat("connecting to ", address.text());
    auto [fd, number] = try_address(address, deadline, cancel_fd, what);
    if (!fd.valid())
        throw Error(TUTTI_ERR_NETWORK, cat(what, ": ", errno_text(number)), -1, number);
    return Socket(fd.release());
}

void Socket::wait_for(short events, const char* verb, const Deadline& deadline,
                      int cancel_fd) const {
    switch (wait_descriptor(descriptor_.get(), events, deadline, cancel_fd)) {
        case Waited::Ready:
            return;
        case Waited::Cancelled:
            fail_cancelled(cat(verb, ' ', peer_));
        case Waited::Expired:
            throw Error(TUTTI_ERR_TIMEOUT, cat(verb, ' ', peer_, ": timed out"));
    }
}

void Socket::fail(const char* verb, int number) const {
    throw Error(TUTTI_ERR_NETWORK, cat(verb, ' ', peer_, ": ", errno_text(number)), -1, number);
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
            wait_for(POLLIN, "receiving from", deadline, cancel_fd);
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
