// The addresses of this rank and, from here, of the others, once rank 0 is found. Any thread; all
// changes come before the first query.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "invitation.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"
#include "store/store.hpp"

namespace tutti::membership {

class ReachableAddresses {
public:
    // Throws INVALID_ARGUMENT if the environment names a missing interface.
    ReachableAddresses();

    [[nodiscard]] const std::string& host() const { return host_; }  // net::host_identity()
    // Where rank 0 listens for the others, all of which can reach that store.
    [[nodiscard]] std::vector<std::string> of_rank_0(const Store& store) const;
    // From the invitation and the connection to rank 0 follow the addresses of this rank.
    void connected(const Invitation& by, const net::Socket& connection);

    // The addresses of this rank: like rank 0's if it is on the same host.
    [[nodiscard]] std::vector<std::string> own() const;
    // The addresses of each rank as this one sees it, in the order to try.
    [[nodiscard]] std::vector<std::vector<std::string>> of(const std::vector<Endpoint>& endpoints,
                                                           int rank) const;

private:
    const std::string host_;
    const std::optional<std::vector<std::string>> chosen_;  // by the environment
    std::string host_of_rank_0_;
    std::vector<std::string> addresses_of_rank_0_;
    std::string local_;  // of the connection to rank 0
    std::string route_to_rank_0_;
};

}  // namespace tutti::membership
