// Where a rank is reached, and from it the others, once it has found rank 0. Any thread; what
// changes it comes before anybody asks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "invitation.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"
#include "store/store.hpp"

namespace tutti::membership {

class Whereabouts {
public:
    // Throws INVALID_ARGUMENT if the environment names an interface that there is not.
    Whereabouts();

    [[nodiscard]] const std::string& host() const { return host_; }  // net::host_identity()
    // Where rank 0 lets the others in, who all can reach that store.
    [[nodiscard]] std::vector<std::string> of_rank_0(const Store& store) const;
    // What tells where this rank is reached: whom it was invited by, and how it came there.
    void arrived(const Invitation& by, const net::Socket& connection);

    // Of this rank: like rank 0's if it is on the same host.
    [[nodiscard]] std::vector<std::string> own() const;
    // Of each rank as this one sees it, in the order to try.
    [[nodiscard]] std::vector<std::vector<std::string>> of(const std::vector<Seat>& seats,
                                                           int rank) const;

private:
    const std::string host_;
    const std::optional<std::vector<std::string>> chosen_;  // by the environment
    std::string host_of_rank_0_;
    std::vector<std::string> addresses_of_rank_0_;
    std::string local_;  // of the connection to rank 0
    std::string way_to_rank_0_;
};

}  // namespace tutti::membership
