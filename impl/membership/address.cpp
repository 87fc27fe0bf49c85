#include "address.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/environment.hpp"
#include "net/interfaces.hpp"

namespace tutti::membership {

namespace {

using Addresses = std::vector<std::string>;

constexpr std::array<Variable, 2> interface_variables{"TUTTI_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"};

bool is_link_local(const std::string& address) {
    // fe80::/10, as getnameinfo writes it.
    return address.size() > 4 && address.starts_with("fe") &&
           std::string_view("89ab").find(address[2]) != std::string_view::npos &&
           address.find(':') == 4;
}

bool is_ipv6(const std::string& address) {
    return address.find(':') != std::string::npos;
}

void add(Addresses& all, const std::string& address) {
    if (std::ranges::find(all, address) == all.end()) all.push_back(address);
}

// A link-local address means nothing without the interface that leads there: the one that led to
// the host before, or any that may.
void add_link_local(Addresses& all, const std::string& address, const View& view) {
    for (const std::string& route : {view.route, view.usual_route}) {
        const auto percent = route.find('%');
        if (percent != std::string::npos) return add(all, address + route.substr(percent));
    }
    for (const auto& name : net::link_local_interfaces()) add(all, address + "%" + name);
}

}  // namespace

bool is_loopback(const std::string& address) {
    return address == "::1" || address.starts_with("127.");
}

std::optional<Addresses> addresses_by_environment() {
    for (const Variable name : interface_variables) {
        if (const auto names = environment(name)) {
            return net::addresses_of_interfaces(*names, name.name());
        }
    }
    return std::nullopt;
}

Addresses address_of_each_interface() {
    Addresses firsts;
    for (const Variable variable : interface_variables) {
        const auto names = environment(variable);
        if (!names) continue;
        std::istringstream list(*names);
        for (std::string name; std::getline(list, name, ',');) {
            const Addresses all = net::addresses_of_interfaces(name, variable.name());
            for (const bool kind : {false, true}) {
                const auto first = std::ranges::find(all, kind, is_ipv6);
                if (first != all.end()) add(firsts, *first);
            }
        }
        break;
    }
    return firsts;
}

Addresses addresses_by_route(const std::optional<std::string>& local) {
    if (local && !is_loopback(*local)) return net::addresses_beside(*local);
    Addresses all;
    if (local) all.push_back(*local);  // others replace it by their own way to this host
    for (const auto& address : net::addresses_of_this_host()) add(all, address);
    return all;
}

Addresses listening_at(const Addresses& addresses) {
    if (addresses.size() > 1 && std::ranges::any_of(addresses, is_loopback)) return {};
    const auto has_no_interface = [](const std::string& address) {
        return is_link_local(address) && address.find('%') == std::string::npos;
    };
    if (std::ranges::any_of(addresses, has_no_interface)) return {};
    return addresses;
}

Addresses without_interfaces(Addresses addresses) {
    for (std::string& address : addresses) address = address.substr(0, address.find('%'));
    return addresses;
}

Addresses seen_from_here(const Addresses& addresses, const View& view) {
    Addresses all;
    // His loopback address is his host, to which we know a way.
    const bool route_leads_there = std::ranges::any_of(addresses, is_loopback) ||
                                   std::ranges::find(addresses, view.route) != addresses.end();
    if (!view.same_host && !view.route.empty() && route_leads_there) all.push_back(view.route);
    for (const std::string& address : addresses) {
        if (is_loopback(address)) {
            if (view.same_host) add(all, address);
        } else if (is_link_local(address)) {
            add_link_local(all, address, view);
        } else {
            add(all, address);
        }
    }
    const std::string& known = view.route.empty() ? view.usual_route : view.route;
    if (!known.empty()) {
        std::stable_partition(all.begin(), all.end(), [&](const std::string& one) {
            return is_ipv6(one) == is_ipv6(known);
        });
    }
    if (!view.same_host) {
        // The same address may lead to ourselves: bridges of containers have it on every host.
        std::stable_partition(all.begin(), all.end(), [&](const std::string& one) {
            return std::ranges::find(view.own, one) == view.own.end();
        });
    }
    return all;
}

}  // namespace tutti::membership
