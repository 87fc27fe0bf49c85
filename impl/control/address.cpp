#include "address.hpp"

#include <algorithm>

#include "base/environment.hpp"
#include "net/interfaces.hpp"

namespace tutti::control {

bool is_loopback(const std::string& address) {
    return address == "::1" || address.starts_with("127.");
}

bool is_plain_loopback(const std::string& address) {
    return address == "::1" || address == "127.0.0.1";
}

std::vector<std::string> candidates(const Store& store) {
    std::vector<std::string> all;
    const auto add = [&](const std::string& address) {
        if (std::ranges::find(all, address) == all.end()) all.push_back(address);
    };
    for (const char* name : {"TUTTI_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
        const auto interfaces = environment(name);
        if (!interfaces) continue;
        for (const auto& address : net::addresses_of_interfaces(*interfaces, name)) add(address);
        return all;
    }
    if (const auto address = store.local_address()) {
        add(*address);
        // Others may know the way to the store's host when ours ends at our own door.
        if (is_loopback(*address) && !is_plain_loopback(store.remote_address().value_or(""))) {
            for (const auto& other : net::addresses_of_this_host()) add(other);
        }
        return all;
    }
    for (const auto& address : net::addresses_of_this_host()) add(address);
    return all;
}

std::string seen_from_here(const std::string& address, const std::string& way_to_rank_0) {
    return is_loopback(address) && !is_loopback(way_to_rank_0) ? way_to_rank_0 : address;
}

}  // namespace tutti::control
