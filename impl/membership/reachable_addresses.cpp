#include "reachable_addresses.hpp"

#include <algorithm>

#include "address.hpp"
#include "net/interfaces.hpp"

namespace tutti::membership {

namespace {

bool is_in(const std::string& one, const std::vector<std::string>& list) {
    return std::ranges::find(list, one) != list.end();
}

}  // namespace

ReachableAddresses::ReachableAddresses()
    : host_(net::host_identity()), chosen_(addresses_by_environment()) {}

std::vector<std::string> ReachableAddresses::of_rank_0(const Store& store) const {
    if (chosen_) return *chosen_;
    const auto local = store.local_address();
    if (store.only_this_host() && local) return {*local};
    auto addresses = addresses_by_route(local);
    // The others may reach the store by another address of its name, if it is on this host.
    const auto here = net::addresses_of_this_host();
    for (const auto& one : store.remote_addresses()) {
        if (is_in(one, here) && !is_in(one, addresses) && !is_loopback(one)) {
            addresses.push_back(one);
        }
    }
    return addresses;
}

void ReachableAddresses::connected(const Invitation& by, const net::Socket& connection) {
    host_of_rank_0_ = by.host;
    addresses_of_rank_0_ = by.addresses;
    local_ = connection.local_address();
    route_to_rank_0_ = connection.remote_address();
}

std::vector<std::string> ReachableAddresses::own() const {
    if (chosen_) return *chosen_;
    if (host_ == host_of_rank_0_) return addresses_of_rank_0_;
    return addresses_by_route(local_);
}

std::vector<std::vector<std::string>> ReachableAddresses::of(const std::vector<Endpoint>& endpoints,
                                                             int rank) const {
    const auto here = net::addresses_of_this_host();
    std::vector<std::vector<std::string>> all;
    for (size_t peer = 0; peer < endpoints.size(); ++peer) {
        const Endpoint& endpoint = endpoints[peer];
        const View view{.same_host = endpoint.host == host_,
                        .route = endpoint.host == host_of_rank_0_ ? route_to_rank_0_ : "",
                        .usual_route = route_to_rank_0_,
                        .own = here};
        auto addresses = seen_from_here(endpoint.addresses, view);
        if (chosen_ && !addresses.empty()) {
            // The connections between ranks use all the interfaces that are named.
            const size_t higher = std::max(peer, static_cast<size_t>(rank));
            const auto first = static_cast<std::ptrdiff_t>(higher % addresses.size());
            std::rotate(addresses.begin(), addresses.begin() + first, addresses.end());
        }
        all.push_back(std::move(addresses));
    }
    return all;
}

}  // namespace tutti::membership
