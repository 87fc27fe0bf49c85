// Blocking TCP sockets with deadlines. Any thread, one at a time per direction. Descriptors are
// close-on-exec and non-blocking underneath; no call raises SIGPIPE. Failures are Errors: NETWORK,
// TIMEOUT, ABORTED when `cancel_fd` (an eventfd, or -1: none) became readable, and at once
// OUT_OF_MEMORY, naming the limit, where this process has no descriptor or memory left.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "address.hpp"
#include "base/deadline.hpp"
#include "descriptor.hpp"

namespace tutti::net {

// Whether an attempt to connect that failed with this errno had an answer from every address: the
// network, or a host, said that the way is closed.
bool is_refusal(int number);

class Socket {
public:
    Socket() = default;
    explicit Socket(int fd);  // takes a connected descriptor

    // To the address of the host that answers first: each gets a head start over the next, so one
    // that swallows packets costs no more than that. All of them again with back-off while the
    // failures may pass (refused, unreachable), until the deadline. The Error (NETWORK) names host,
    // port and each attempt's reason.
    static Socket connect(const Endpoint& endpoint, const Deadline& deadline, int cancel_fd = -1);
    // The same for addresses of one peer, the best one first. Refusals of all of them are final
    // from `refused_until` on: if the peer listened before, they do not pass.
    static Socket connect(std::span<const Address> addresses, const Deadline& deadline,
                          int cancel_fd = -1, const Deadline& refused_until = Deadline::never());

    // One attempt at each. `from`: the near end, if it is not the system's choice.
    static Socket connect_once(std::span<const Address> addresses, const Deadline& deadline,
                               int cancel_fd = -1, const Address* from = nullptr);
    static Socket connect(const Address& address, const Deadline& deadline, int cancel_fd = -1) {
        return connect_once(std::span(&address, 1), deadline, cancel_fd);
    }

    void send_all(std::span<const std::byte> bytes, const Deadline& deadline, int cancel_fd = -1);
    void recv_all(std::span<std::byte> bytes, const Deadline& deadline, int cancel_fd = -1);
    // At least one byte; 0 when the peer has closed.
    size_t recv_some(std::span<std::byte> bytes, const Deadline& deadline, int cancel_fd = -1);
    // The Error (NETWORK) of a peer that has closed where more was to come.
    [[noreturn]] void fail_closed() const;

    // Until recv_some has something to return or to throw.
    void await_readable(const Deadline& deadline, int cancel_fd = -1) const;
    // False if nothing can be read without waiting. End of file and errors count as readable.
    [[nodiscard]] bool readable() const;

    [[nodiscard]] std::string local_address() const;   // numeric, without the port
    [[nodiscard]] std::string remote_address() const;  // numeric, without the port
    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] bool valid() const { return descriptor_.valid(); }
    [[nodiscard]] int release() { return descriptor_.release(); }
    // Wakes the threads blocked in this socket, with an Error; the descriptor stays. Any thread.
    void shut_down() noexcept;
    void close() { descriptor_.reset(); }

private:
    void wait_for(short events, const char* verb, const Deadline& deadline, int cancel_fd) const;
    [[noreturn]] void fail(const char* verb, int number) const;

    Descriptor descriptor_;
    std::string peer_;  // "host:port", for messages
};

struct PortRange {
    int first;
    int last;
};
// TUTTI_PORT_RANGE: the ports that a listener may have to which any is good. Throws
// INVALID_ARGUMENT if that is malformed.
std::optional<PortRange> port_range();

class ListenSocket {
public:
    // Host "" is every address of this machine, IPv6 and IPv4 where there are both. Port 0 is a
    // free one. Throws NETWORK naming host and port, "address already in use" among others.
    static ListenSocket bind(const std::string& host, int port, int backlog);
    // A duplicate of a TCP socket of the caller's that is bound; listens. Throws INVALID_ARGUMENT
    // for another descriptor, NETWORK.
    static ListenSocket adopt(int fd, int backlog);
    // One socket for every address the host resolves to on this machine, all on one port. Port 0 is
    // any of TUTTI_PORT_RANGE, or a free one. Throws INVALID_ARGUMENT if that is malformed.
    static std::vector<ListenSocket> bind_each(const std::string& host, int port, int backlog);
    // One for each of these numeric addresses, all on one such port; no address is every address.
    static std::vector<ListenSocket> bind_each(std::span<const std::string> addresses, int backlog);

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::string address() const;  // numeric, without the port
    Socket accept(const Deadline& deadline, int cancel_fd = -1) const;
    // The next caller of any of them.
    static Socket accept(std::span<const ListenSocket> sockets, const Deadline& deadline,
                         int cancel_fd = -1);
    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] int release() { return descriptor_.release(); }

private:
    ListenSocket(Descriptor descriptor, int port)
        : descriptor_(std::move(descriptor)), port_(port) {}
    static ListenSocket bind_address(const Address& address, const std::string& host, int port,
                                     int backlog, bool both_families);
    static bool bind_others(std::vector<ListenSocket>& sockets, const std::string& host,
                            std::span<const Address> addresses, int backlog, bool may_retry);

    Descriptor descriptor_;
    int port_ = 0;
};

}  // namespace tutti::net
