// Name resolution and address texts over getaddrinfo and getnameinfo. Any thread.
#include "address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/resource_limits.hpp"
#include "descriptor.hpp"

namespace tutti::net {
namespace {

const sockaddr_in& as_ipv4(const Address& address) {
    return reinterpret_cast<const sockaddr_in&>(address.storage);
}

const sockaddr_in6& as_ipv6(const Address& address) {
    return reinterpret_cast<const sockaddr_in6&>(address.storage);
}

bool same(const Address& a, const Address& b) {
    return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
}

std::string resolver_text(int result) {
    if (result == EAI_SYSTEM) return errno_text(errno);
    return gai_strerror(result);
}

// The errno of an exhausted limit, or 0 if the resolver failed for another reason. Without a
// descriptor or memory the resolver may report anything, "temporary failure" among others; so the
// system is asked.
int exhaustion_behind(int result) {
    if (result == EAI_MEMORY) return ENOMEM;
    if (result == EAI_SYSTEM && is_exhaustion(errno)) return errno;
    const Descriptor probe(
        open_tracked([&] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }));
    return probe.valid() || !is_exhaustion(errno) ? 0 : errno;
}

// For a name that the file does not have the resolver asks a name server, even for localhost.
bool hosts_file_knows(const std::string& name) {
    std::ifstream file("/etc/hosts");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string word;
        words >> word;  // the address
        while (words >> word) {
            if (word == name) return true;
        }
    }
    return false;
}

}  // namespace

std::string endpoint_text(const std::string& host, int port) {
    if (host.find(':') != std::string::npos) return cat('[', host, "]:", port);
    return cat(host.empty() ? "*" : host, ':', port);
}

void check_port(int port) {
    if (port < 0 || port > highest_port)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("port ", port, " is not within 0 to 65535"));
}

int Address::port() const {
    return ntohs(family() == AF_INET6 ? as_ipv6(*this).sin6_port : as_ipv4(*this).sin_port);
}

void Address::set_port(int port) {
    const auto network_order = htons(static_cast<uint16_t>(port));
    if (family() == AF_INET6)
        reinterpret_cast<sockaddr_in6&>(storage).sin6_port = network_order;
    else
        reinterpret_cast<sockaddr_in&>(storage).sin_port = network_order;
}

std::string Address::host() const {
    char buffer[NI_MAXHOST];
    const Opening opening;  // the name of an interface is asked of the kernel through a socket
    const int result = getnameinfo(get(), size, buffer, sizeof buffer, nullptr, 0, NI_NUMERICHOST);
    if (result != 0) return "an unknown address";
    const std::string text = buffer;
    const std::string mapped = "::ffff:";
    if (text.starts_with(mapped) && text.find('.') != std::string::npos)
        return text.substr(mapped.size());
    return text;
}

std::string Address::text() const {
    return endpoint_text(host(), port());
}

bool Address::is_loopback() const {
    if (family() == AF_INET) return (ntohl(as_ipv4(*this).sin_addr.s_addr) >> 24) == 127;
    const in6_addr& ipv6 = as_ipv6(*this).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&ipv6)) return ipv6.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&ipv6);
}

std::vector<Address> resolve(const Endpoint& endpoint, std::string* temporary) {
    check_port(endpoint.port);
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (endpoint.host.empty() ? AI_PASSIVE : 0);
    const StandardPlaceholders held;  // the resolver opens files and sockets
    addrinfo* list = nullptr;
    const std::string service = std::to_string(endpoint.port);
    // A machine whose /etc/hosts is not there or empty, as containers may have it, has this name
    // all the same, and what a name server far away says of it does not count.
    const bool is_unwritten = endpoint.host == "localhost" && !hosts_file_knows(endpoint.host);
    const std::string host = is_unwritten ? "127.0.0.1" : endpoint.host;
    const int result =
        getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &list);
    if (const int number = result == 0 ? 0 : exhaustion_behind(result); number != 0) {
        throw system_error(TUTTI_ERR_NETWORK, cat("cannot resolve host \"", endpoint.host, "\""),
                           number);
    }
    if (result == EAI_AGAIN && temporary != nullptr) {
        *temporary = resolver_text(result);
        return {};
    }
    if (result != 0)
        throw Error(TUTTI_ERR_NETWORK,
                    cat("cannot resolve host \"", endpoint.host, "\"",
                        endpoint.port > 0 ? cat(" (port ", endpoint.port, ")") : "", ": ",
                        resolver_text(result)),
                    -1, result == EAI_SYSTEM ? errno : 0);
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    std::vector<Address> addresses;
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
        Address address;
        std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
        address.size = entry->ai_addrlen;
        const auto is_same = [&](const Address& other) { return same(other, address); };
        if (std::none_of(addresses.begin(), addresses.end(), is_same)) addresses.push_back(address);
    }
    return addresses;
}

std::vector<Address> numeric_addresses(std::span<const std::string> hosts, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    std::vector<Address> addresses;
    for (const std::string& host : hosts) {
        addrinfo* list = nullptr;
        if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) continue;
        const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
        Address address;
        std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
        address.size = list->ai_addrlen;
        address.set_port(port);
        addresses.push_back(address);
    }
    return addresses;
}

bool is_numeric_host(const std::string& host) {
    in6_addr ignored{};
    // A scope ("fe80::1%eth0") is not part of what inet_pton reads.
    const std::string address = host.substr(0, host.find('%'));
    return inet_pton(AF_INET, address.c_str(), &ignored) == 1 ||
           inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
}

Address local_address_of(int socket) {
    Address address;
    if (getsockname(socket, address.get(), &address.size) != 0)
        throw system_error(TUTTI_ERR_NETWORK, "cannot read a socket's address", errno);
    return address;
}

Address remote_address_of(int socket) {
    Address address;
    if (getpeername(socket, address.get(), &address.size) != 0)
        throw system_error(TUTTI_ERR_NETWORK, "cannot read the address of a socket's peer", errno);
    return address;
}

}  // namespace tutti::net
