#include "common_address.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "address.hpp"
#include "membership.hpp"
#include "world.hpp"

namespace tutti::membership {

namespace {

using Addresses = std::vector<std::string>;

std::string without_interface(const std::string& address) {
    return address.substr(0, address.find('%'));
}

// The first address of each rank of the group, as this one tries it, a line for each.
std::string view_of(const Membership& group, const Routes& routes) {
    std::string view;
    for (int rank = 0; rank < group.size(); ++rank) {
        const auto& addresses = routes.by_rank.at(static_cast<size_t>(group.world_rank(rank)));
        view += cat(addresses.empty() ? "" : without_interface(addresses.front()), "\n");
    }
    return view;
}

std::string line_of(const std::string& view, int rank) {
    std::istringstream lines(view);
    std::string line;
    for (int index = 0; index <= rank; ++index) {
        if (!std::getline(lines, line)) return "";
    }
    return line;
}

}  // namespace

std::string common_address(Membership& group, const std::string& key, const Deadline& deadline) {
    const Routes routes = group.world().routes();
    const auto& own = routes.by_rank.at(static_cast<size_t>(group.world_rank(group.rank())));
    bool are_all_here = true;
    for (int rank = 0; rank < group.size(); ++rank) are_all_here &= group.same_host(rank);
    if (are_all_here) {
        const auto chosen = addresses_by_environment();
        return chosen && !chosen->empty() ? chosen->front() : "127.0.0.1";
    }
    const auto views = group.all_gather(key, view_of(group, routes), deadline);
    for (int rank = 0; rank < group.size(); ++rank) {
        if (group.same_host(rank)) continue;
        const std::string seen = line_of(views.at(static_cast<size_t>(rank)), group.rank());
        const auto found = std::ranges::find(own, seen, without_interface);
        if (found != own.end() && !is_loopback(seen)) return *found;
    }
    const auto any = std::ranges::find_if_not(own, is_loopback);
    return any != own.end() ? *any : "127.0.0.1";
}

}  // namespace tutti::membership
