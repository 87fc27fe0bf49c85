// Binding, listening and blocking accept. Any thread.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/resource_limits.hpp"
#include "line.hpp"
#include "socket.hpp"
#include "wait.hpp"

namespace tutti::net {
namespace {

// The first address picks a port, until one is free at the others, too.
constexpr int free_port_tries = 16;
constexpr int64_t refused_pause_ms = 20;
constexpr const char* range_variable = "TUTTI_PORT_RANGE";

}  // namespace

std::optional<PortRange> port_range() {
    const auto text = environment(range_variable);
    if (!text) return std::nullopt;
    const auto dash = std::min(text->find('-'), text->size());
    try {
        const auto port = [](const std::string& one) {
            return static_cast<int>(parse_number(one, "a port", 1, highest_port));
        };
        const int first = port(text->substr(0, dash));
        const int last = dash == text->size() ? first : port(text->substr(dash + 1));
        if (first <= last) return PortRange{first, last};
    } catch (const Error&) {  // said below, of the whole
    }
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("environment variable ", range_variable, " is \"", *text,
                    "\", not a port or two like 30000-30100, from 1 to ", highest_port));
}

namespace {

// At any port that will do. `listen_at` gives no sockets where its port is taken at one of several
// addresses, and throws where it is taken at the first.
template <typename ListenAt>
std::vector<ListenSocket> listen_at_any(ListenAt&& listen_at) {
    const auto range = port_range();
    if (!range) {
        // With port 0 the first address picks the port.
        for (int round = 1;; ++round) {
            auto sockets = listen_at(0, round < free_port_tries);
            if (!sockets.empty()) return sockets;
        }
    }
    for (int port = range->first; port <= range->last; ++port) {
        try {
            auto sockets = listen_at(port, true);
            if (!sockets.empty()) return sockets;
        } catch (const Error& error) {
            if (error.status().system_errno == EADDRINUSE) continue;
            Status status = error.status();
            status.message += cat(" (the port is from ", range_variable, ")");
            throw Error(std::move(status));
        }
    }
    const std::string which =
        range->first == range->last
            ? cat("port ", range->first, " of ", range_variable, " is")
            : cat("all ports of ", range_variable, "=", range->first, "-", range->last, " are");
    throw Error(TUTTI_ERR_NETWORK,
                cat("listening: ", which,
                    " in use: each rank of a host takes one, and one for each of the backends tcp "
                    "and gloo that it uses; tuttirun on one node takes one"),
                -1, EADDRINUSE);
}

std::string listening_at(const std::string& host, int port) {
    return cat("listening at ", endpoint_text(host, port));
}

[[noreturn]] void fail_listening(const std::string& host, int port, int number) {
    throw system_error(TUTTI_ERR_NETWORK, listening_at(host, port), number);
}

bool has_family(int family) {
    const Descriptor probe(
        open_tracked([&] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); }));
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
    // A malformed value is an error here, not on the thread that will accept.
    (void)line_timeout_ms();
    Descriptor fd(open_tracked(
        [&] { return ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }));
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
    (void)line_timeout_ms();
    const std::string what = cat("cannot listen at descriptor ", fd);
    const auto refuse = [&](const std::string& why) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, ": ", why));
    };
    Descriptor own(open_tracked([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }));
    if (!own.valid()) throw system_error(TUTTI_ERR_INVALID_ARGUMENT, what, errno);
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

// At the other addresses of a name, on the port of the first socket. False if that is taken at one
// of them and another port may do.
bool ListenSocket::bind_others(std::vector<ListenSocket>& sockets, const std::string& host,
                               std::span<const Address> addresses, int backlog, bool may_retry) {
    const int port = sockets.front().port();
    const std::string first = sockets.front().address();
    for (Address address : addresses) {
        if (address.host() == first) continue;
        address.set_port(port);
        try {
            sockets.push_back(bind_address(address, host, port, backlog, false));
        } catch (const Error& error) {
            const int number = error.status().system_errno;
            if (number == EADDRNOTAVAIL || number == EAFNOSUPPORT) continue;
            if (number == EADDRINUSE && may_retry) return false;
            throw;
        }
    }
    return true;
}

std::vector<ListenSocket> ListenSocket::bind_each(const std::string& host, int port, int backlog) {
    const auto listen_at = [&](int at, bool may_retry) {
        std::vector<ListenSocket> sockets;
        sockets.push_back(bind(host, at, backlog));
        if (host.empty()) return sockets;
        if (!bind_others(sockets, host, resolve({host, at}), backlog, may_retry)) sockets.clear();
        return sockets;
    };
    return port == 0 ? listen_at_any(listen_at) : listen_at(port, false);
}

std::vector<ListenSocket> ListenSocket::bind_each(std::span<const std::string> addresses,
                                                  int backlog) {
    if (addresses.empty()) return bind_each("", 0, backlog);
    const std::vector<Address> all = numeric_addresses(addresses, 0);
    return listen_at_any([&](int at, bool may_retry) {
        std::vector<ListenSocket> sockets;
        sockets.push_back(bind(addresses.front(), at, backlog));
        if (!bind_others(sockets, addresses.front(), all, backlog, may_retry)) sockets.clear();
        return sockets;
    });
}

std::string ListenSocket::address() const {
    return local_address_of(descriptor_.get()).host();
}

Socket ListenSocket::accept(const Deadline& deadline, int cancel_fd) const {
    return accept(std::span(this, 1), deadline, cancel_fd);
}

Socket ListenSocket::accept(std::span<const ListenSocket> sockets, const Deadline& deadline,
                            int cancel_fd) {
    const std::string what = cat("accepting at port ", sockets.front().port());
    std::vector<int> descriptors;
    for (const ListenSocket& one : sockets) descriptors.push_back(one.descriptor());
    while (true) {
        bool is_refused = false;
        for (const int descriptor : descriptors) {
            const int fd = open_tracked([&] {
                return ::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            });
            if (fd >= 0) return Socket(fd);
            const int number = errno;
            if (is_exhaustion(number) || number == EINVAL || number == EBADF || number == ENOTSOCK)
                throw system_error(TUTTI_ERR_NETWORK, what, number);
            const bool nobody = number == EAGAIN || number == EWOULDBLOCK || number == EINTR ||
                                number == ECONNABORTED;
            is_refused = is_refused || !nobody;  // by the network: that caller, just now
        }
        const Waited waited =
            is_refused
                ? wait_descriptor(-1, 0, deadline.or_earlier(Deadline::after_ms(refused_pause_ms)),
                                  cancel_fd)
                : wait_descriptors(descriptors, POLLIN, deadline, cancel_fd);
        if (waited == Waited::Cancelled) fail_cancelled(what);
        if (waited != Waited::Ready && deadline.expired())
            throw Error(TUTTI_ERR_TIMEOUT, cat(what, ": nobody connected in time"));
    }
}

}  // namespace tutti::net
