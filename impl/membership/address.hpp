// The addresses that a rank publishes, and how they look from another host. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::membership {

bool is_loopback(const std::string& address);

// The addresses of the interfaces in TUTTI_SOCKET_IFNAME (or GLOO_SOCKET_IFNAME), where alone a
// rank is then reached. Nothing if neither is set; INVALID_ARGUMENT names the variable.
std::optional<std::vector<std::string>> addresses_by_environment();

// The first address of each kind, IPv4 and IPv6, of each interface that is named there. None if
// neither is set.
std::vector<std::string> address_of_each_interface();

// The addresses of a rank that reached the store, or rank 0, from `local`: `local` first, then the
// others of its interface. If `local` is a loopback address or nothing, others connect from
// elsewhere: every address of this host.
std::vector<std::string> addresses_by_route(const std::optional<std::string>& local);

// Where a rank with these addresses listens: at them. An empty list is every address, needed if
// loopback is one of several, since other ranks then know the host by other addresses.
std::vector<std::string> listening_at(const std::vector<std::string>& addresses);

// As published to other hosts, where interfaces have other names: "fe80::1", not "fe80::1%eth0".
std::vector<std::string> without_interfaces(std::vector<std::string> addresses);

// A rank's addresses as seen from here, in the order to try them.
struct View {
    bool same_host = false;   // as ours
    std::string route;        // address at which its host was reached; empty: none
    std::string usual_route;  // address at which another host was: the kind that works here
    std::span<const std::string> own = {};  // addresses of this host
};
std::vector<std::string> seen_from_here(const std::vector<std::string>& addresses,
                                        const View& view);

}  // namespace tutti::membership
