// Socket addresses: names resolved to them, and their text. Any thread. Resolving blocks for as
// long as the system's resolver takes, which no deadline can cut short.
#pragma once

#include <sys/socket.h>

#include <span>
#include <string>
#include <vector>

namespace tutti::net {

struct Endpoint {
    std::string host;
    int port = 0;
};

// "host:port", "[::1]:port" for an IPv6 address.
std::string endpoint_text(const std::string& host, int port);

struct Address {
    sockaddr_storage storage{};
    socklen_t size = sizeof(sockaddr_storage);

    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] int family() const { return storage.ss_family; }
    [[nodiscard]] int port() const;
    void set_port(int port);
    [[nodiscard]] std::string host() const;  // numeric; an IPv4 address in IPv6 form as IPv4
    [[nodiscard]] std::string text() const;  // with the port
    [[nodiscard]] bool is_loopback() const;
};

// The stream addresses of a name, in the resolver's order, without repetitions. An empty host is
// every address of this machine. Throws NETWORK naming the host; with `temporary` not null, a
// failure that may pass (EAI_AGAIN) is told there and gives an empty list and its reason instead.
std::vector<Address> resolve(const Endpoint& endpoint, std::string* temporary = nullptr);

// The addresses of numeric hosts, in their order. A host that is no address is left out, as is a
// link-local address of an interface that is not here.
std::vector<Address> numeric_addresses(std::span<const std::string> hosts, int port);

constexpr int highest_port = 65535;
// Throws INVALID_ARGUMENT unless within 0 to 65535.
void check_port(int port);

// Whether the text is an IPv4 or IPv6 address rather than a name.
bool is_numeric_host(const std::string& host);

// The address a socket is bound to, and the one it is connected to. Throws NETWORK.
Address local_address_of(int socket);
Address remote_address_of(int socket);

}  // namespace tutti::net
