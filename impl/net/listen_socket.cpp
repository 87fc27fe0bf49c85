// Binding, listening and blocking accept. Any thread.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

#include "base/error.hpp"
#include "socket.hpp"
#include "wait.hpp"

namespace tutti::net {
namespace {

// With port 0 the first address picks the port; another address may have it taken.
constexpr int free_port_tries = 16;
constexpr int64_t full_table_pause_ms = 20;

std::string listening_at(const std::string& host, int port) {
    return cat("listening at ", endpoint_text(host, port));
}

[[noreturn]] void fail_listening(const std::string& host, int port, int number) {
    throw Error(TUTTI_ERR_NETWORK, cat(listening_at(host, port), ": ", errno_text(number)), -1,
                number);
}

bool has_family(int family) {
    const Descriptor probe(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return probe.valid();
}

Address any_address(int family, int port) {
    Address address;
    address.storage.ss_family = static_cast<sa_family_t>(family);
    address.size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    address.set_port(port);
    return address;
}

}  // namespace

ListenSocket ListenSocket::bind_address(const Address& address, const std::string& host, int port,
                                        int backlog, bool both_families) {
    Descriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) fail_listening(host, port, errno);
    const int one = 1;
    // A server that was restarted must not wait for the old connections' last packets.
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address.family() == AF_INET6) {
        const int only = both_families ? 0 : 1;
        if (setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) != 0)
            fail_listening(host, port, errno);
    }
    if (::bind(fd.get(), address.get(), address.size) != 0) fail_listening(host, port, errno);
    if (::listen(fd.get(), backlog) != 0) fail_listening(host, port, errno);
    const int bound = local_address_of(fd.get()).port();
    return ListenSocket(std::move(fd), bound);
}

ListenSocket ListenSocket::bind(const std::string& host, int port, int backlog) {
    if (host.empty()) {
        check_port(port);
        if (!has_family(AF_INET6))
            return bind_address(any_address(AF_INET, port), host, port, backlog, false);
        try {
            return bind_address(any_address(AF_INET6, port), host, port, backlog, true);
        } catch (const Error& error) {
            // IPv6 compiled in and switched off: the socket can be made, not bound.
            if (error.status().system_errno != EADDRNOTAVAIL) throw;
            return bind_address(any_address(AF_INET, port), host, port, backlog, false);
        }
    }
    const std::vector<Address> addresses = resolve({host, port});
    for (const Address& address : addresses) {
        try {
            return bind_address(address, host, port, backlog, false);
        } catch (const Error& error) {
            if (error.status().system_errno != EADDRNOTAVAIL || &address == &addresses.back())
                throw;
        }
    }
    throw Error(TUTTI_ERR_NETWORK, cat(listening_at(host, port), ": the name has no address"));
}

ListenSocket ListenSocket::adopt(int fd, int backlog) {
    const auto refuse = [fd](const std::string& why) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("cannot listen at descriptor ", fd, ": ", why));
    };
    Descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid()) refuse(errno_text(errno));
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(own.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) refuse(errno_text(errno));
    Address address = local_address_of(own.get());
    if (type != SOCK_STREAM || (address.family() != AF_INET && address.family() != AF_INET6))
        refuse("it is no TCP socket");
    if (address.port() == 0) refuse("it is not bound to a port");
    if (::fcntl(own.get(), F_SETFL, ::fcntl(own.get(), F_GETFL) | O_NONBLOCK) != 0)
        refuse(errno_text(errno));
    const int port = address.port();
    // A socket that is connected refuses this.
    if (::listen(own.get(), backlog) != 0) refuse(errno_text(errno));
    return ListenSocket(std::move(own), port);
}

std::vector<ListenSocket> ListenSocket::bind_each(const std::string& host, int port, int backlog) {
    std::vector<ListenSocket> sockets;
    for (int round = 1; sockets.empty(); ++round) {
        sockets.push_back(bind(host, port, backlog));
        if (host.empty()) break;
        const int bound = sockets.front().port();
        for (Address address : resolve({host, bound})) {
            if (address.host() == sockets.front().address()) continue;
            try {
                sockets.push_back(bind_address(address, host, bound, backlog, false));
            } catch (const Error& error) {
                const int number = error.status().system_errno;
                if (number == EADDRNOTAVAIL || number == EAFNOSUPPORT) continue;
                if (number != EADDRINUSE || port != 0 || round == free_port_tries) throw;
                sockets.clear();
                break;
            }
        }
    }
    return sockets;
}

std::string ListenSocket::address() const {
    return local_address_of(descriptor_.get()).host();
}

Socket ListenSocket::accept(const Deadline& deadline, int cancel_fd) {
    while (true) {
        const int fd = ::accept4(descriptor_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) return Socket(fd);
        Waited waited = Waited::Ready;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            waited = wait_descriptor(descriptor_.get(), POLLIN, deadline, cancel_fd);
        else if (errno == EINVAL || errno == EBADF || errno == ENOTSOCK)
            throw Error(TUTTI_ERR_NETWORK,
                        cat("accepting at port ", port_, ": ", errno_text(errno)), -1, errno);
        else if (errno != EINTR && errno != ECONNABORTED)  // no descriptors or memory just now
            waited = wait_descriptor(
                -1, 0, deadline.or_earlier(Deadline::after_ms(full_table_pause_ms)), cancel_fd);
        if (waited == Waited::Cancelled)
            throw Error(TUTTI_ERR_ABORTED, cat("accepting at port ", port_, ": cancelled"));
        if (waited != Waited::Ready && deadline.expired())
            throw Error(TUTTI_ERR_TIMEOUT,
                        cat("accepting at port ", port_, ": nobody connected in time"));
    }
}

}  // namespace tutti::net
