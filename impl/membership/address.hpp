// Which addresses a rank gives to the others, and where those lie as seen from another host. Any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::membership {

bool is_loopback(const std::string& address);

// Those of the interfaces that TUTTI_SOCKET_IFNAME names (or GLOO_SOCKET_IFNAME): a rank is reached
// there and nowhere else. Nothing if neither is set; INVALID_ARGUMENT names the variable.
std::optional<std::vector<std::string>> addresses_by_environment();

// Where a rank can be reached that has reached the store, or rank 0, from `local`: there, and at
// what else that interface has. If that is a loopback address, or nothing, others will come from
// elsewhere: every address of this host.
std::vector<std::string> addresses_by_way(const std::optional<std::string>& local);

// Where somebody listens who can be reached at these addresses: there; an empty list is every
// address, where loopback stands among others, as those who come know the host by other addresses.
std::vector<std::string> listening_at(const std::vector<std::string>& addresses);

// As they go to other hosts, on which interfaces have other names: "fe80::1", not "fe80::1%eth0".
std::vector<std::string> without_interfaces(std::vector<std::string> addresses);

// Where somebody's addresses lie from here, in the order to try them.
struct View {
    bool same_host = false;  // as ours
    std::string way;         // by which the host was reached that may be his; empty: none
    std::string usual_way;   // an address by which another host was: it tells what works here
    std::span<const std::string> own = {};  // addresses of this host
};
std::vector<std::string> seen_from_here(const std::vector<std::string>& addresses,
                                        const View& view);

}  // namespace tutti::membership
