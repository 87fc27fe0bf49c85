// The rules of binding. Any thread.
#include "bind_rules.hpp"

#include <algorithm>
#include <cerrno>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "limits.hpp"

namespace tutti {
namespace {

constexpr const char* variable = "TUTTI_STORE_BIND";

bool is_called_localhost(const std::string& host) {
    return host.starts_with("localhost") || host.starts_with("ip6-l");
}

bool is_loopback_here(const std::string& host, int port) {
    const std::vector<net::Address> addresses = net::resolve({host, port});
    return std::all_of(addresses.begin(), addresses.end(),
                       [](const net::Address& address) { return address.is_loopback(); });
}

// A loopback address under another name: /etc/hosts gives a machine's own name 127.0.1.1.
bool is_loopback_in_disguise(const std::string& host, int port) {
    if (net::is_numeric_host(host) || is_called_localhost(host)) return false;
    return is_loopback_here(host, port);
}

std::vector<net::ListenSocket> bind_all(int port) {
    return net::ListenSocket::bind_each("", port, store_limits::listen_backlog);
}

void warn(const std::string& host, const char* why) {
    log(LogLevel::Warning, "store server: ", host, why, ", so it listens at all addresses; ",
        variable, " decides otherwise");
}

}  // namespace

bool means_this_host(const std::string& host) {
    return is_called_localhost(host) || (net::is_numeric_host(host) && is_loopback_here(host, 0));
}

BoundServer bind_store_server(const std::string& host, int port) {
    if (const auto address = environment(variable)) {
        try {
            auto sockets =
                net::ListenSocket::bind_each(*address, port, store_limits::listen_backlog);
            const bool any = *address == "0.0.0.0" || *address == "::";
            return {std::move(sockets), any ? "localhost" : *address};
        } catch (const Error& error) {
            Status status = error.status();
            status.message += cat(" (the address is from ", variable, ")");
            throw Error(std::move(status));
        }
    }
    if (host.empty()) return {bind_all(port), "localhost"};
    if (is_loopback_in_disguise(host, port)) {
        warn(host, " resolves to a loopback address");
        return {bind_all(port), host};
    }
    try {
        return {net::ListenSocket::bind_each(host, port, store_limits::listen_backlog), host};
    } catch (const Error& error) {
        if (error.status().system_errno != EADDRNOTAVAIL) throw;
    }
    warn(host, " is no address of this machine");
    return {bind_all(port), "localhost"};
}

BoundServer adopt_store_server(int fd, const std::string& host, int port) {
    std::vector<net::ListenSocket> sockets;
    sockets.push_back(net::ListenSocket::adopt(fd, store_limits::listen_backlog));
    const int bound = sockets.front().port();
    if (port != 0 && port != bound)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("the socket to listen at is bound to port ", bound, ", not to ", port));
    const std::string address = sockets.front().address();
    const bool any = address == "0.0.0.0" || address == "::";
    return {std::move(sockets), any ? host : address};
}

}  // namespace tutti
