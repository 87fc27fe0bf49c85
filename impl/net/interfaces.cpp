#include "interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace tutti::net {

namespace {

struct Entry {
    std::string interface;
    std::string address;
    bool loopback;
};

std::vector<Entry> entries() {
    ifaddrs* head = nullptr;
    if (getifaddrs(&head) != 0) {
        throw Error(TUTTI_ERR_NETWORK, cat("getifaddrs: ", errno_text(errno)), -1, errno);
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(head, &freeifaddrs);
    std::vector<Entry> all;
    for (const ifaddrs* one = head; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const int family = one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        char text[NI_MAXHOST];
        if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
            all.push_back({one->ifa_name, text, (one->ifa_flags & IFF_LOOPBACK) != 0});
        }
    }
    return all;
}

}  // namespace

std::vector<std::string> addresses_of_this_host() {
    auto all = entries();
    std::stable_partition(all.begin(), all.end(),
                          [](const Entry& entry) { return !entry.loopback; });
    std::vector<std::string> addresses;
    for (const Entry& entry : all) addresses.push_back(entry.address);
    return addresses;
}

std::vector<std::string> addresses_of_interfaces(const std::string& names,
                                                 const std::string& variable) {
    const auto all = entries();
    std::vector<std::string> addresses;
    size_t begin = 0;
    while (begin <= names.size()) {
        const size_t comma = std::min(names.find(',', begin), names.size());
        const std::string name = names.substr(begin, comma - begin);
        const size_t before = addresses.size();
        for (const Entry& entry : all) {
            if (entry.interface == name) addresses.push_back(entry.address);
        }
        if (addresses.size() == before) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat(variable, " names \"", name,
                            "\", which is no interface of this machine that is up and has an "
                            "address"));
        }
        begin = comma + 1;
    }
    return addresses;
}

}  // namespace tutti::net
