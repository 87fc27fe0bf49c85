#include "interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/first_line.hpp"
#include "base/hash.hpp"
#include "base/open_descriptors.hpp"
#include "base/resource_limits.hpp"

namespace tutti::net {

namespace {

struct InterfaceEntry {
    std::string interface;
    std::string address;
    bool loopback;
    bool link_local;
};

bool is_link_local(const sockaddr* address) {
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::vector<InterfaceEntry> all_entries() {
    ifaddrs* head = nullptr;
    const Opening opening;  // the kernel is asked through sockets
    if (getifaddrs(&head) != 0) throw system_error(TUTTI_ERR_NETWORK, "getifaddrs", errno);
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(head, &freeifaddrs);
    std::vector<InterfaceEntry> all;
    for (const ifaddrs* one = head; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const int family = one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        char text[NI_MAXHOST];
        if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
            continue;
        }
        all.push_back({one->ifa_name, text, (one->ifa_flags & IFF_LOOPBACK) != 0,
                       is_link_local(one->ifa_addr)});
    }
    return all;
}

// Without the link-local addresses of interfaces that have others.
std::vector<InterfaceEntry> useful_entries() {
    const auto all = all_entries();
    std::vector<InterfaceEntry> useful;
    for (const InterfaceEntry& one : all) {
        const auto is_better = [&](const InterfaceEntry& other) {
            return other.interface == one.interface && !other.link_local;
        };
        if (!one.link_local || std::ranges::none_of(all, is_better)) useful.push_back(one);
    }
    return useful;
}

}  // namespace

std::vector<std::string> addresses_of_this_host() {
    auto all = useful_entries();
    std::stable_partition(all.begin(), all.end(),
                          [](const InterfaceEntry& entry) { return !entry.loopback; });
    std::vector<std::string> addresses;
    for (const InterfaceEntry& entry : all) addresses.push_back(entry.address);
    return addresses;
}

std::vector<std::string> addresses_beside(const std::string& address) {
    std::vector<std::string> addresses{address};
    const auto all = useful_entries();
    const auto own = std::ranges::find(all, address, &InterfaceEntry::address);
    if (own == all.end()) return addresses;
    for (const InterfaceEntry& one : all) {
        if (one.interface == own->interface && one.address != address) {
            addresses.push_back(one.address);
        }
    }
    return addresses;
}

std::vector<std::string> addresses_of_interfaces(const std::string& names,
                                                 const std::string& variable) {
    const auto all = useful_entries();
    std::vector<std::string> addresses;
    size_t begin = 0;
    while (begin <= names.size()) {
        const size_t comma = std::min(names.find(',', begin), names.size());
        const std::string name = names.substr(begin, comma - begin);
        bool found = false;
        for (const InterfaceEntry& entry : all) {
            if (entry.interface != name) continue;
            found = true;
            if (std::ranges::find(addresses, entry.address) == addresses.end()) {
                addresses.push_back(entry.address);
            }
        }
        if (!found) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat("environment variable ", variable, " is \"", names, "\", and \"", name,
                            "\" is no interface of this machine that is up and has an address"));
        }
        begin = comma + 1;
    }
    return addresses;
}

std::vector<std::string> link_local_interfaces() {
    std::vector<std::string> names;
    for (const InterfaceEntry& entry : all_entries()) {
        if (entry.link_local) names.push_back(entry.interface);
    }
    return names;
}

std::string host_identity() {
    char network[64] = "";
    (void)::readlink("/proc/self/ns/net", network, sizeof network - 1);
    std::string text = cat(first_line("/proc/sys/kernel/random/boot_id"), network);
    if (text.empty()) {  // no /proc here
        utsname names{};
        (void)::uname(&names);
        text = names.nodename;
    }
    const uint64_t hash = fnv1a_64(text);
    std::string hex;
    for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(hash >> shift) & 15];
    return hex;
}

}  // namespace tutti::net
