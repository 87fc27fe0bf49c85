#include "handshake.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "membership/invitation.hpp"
#include "net/address.hpp"

namespace tutti {

Caller find_caller(const std::string& received, int own, int size,
                   const membership::Token& secret) {
    Handshake handshake;
    if (received.size() != sizeof handshake) return {};
    std::memcpy(&handshake, received.data(), sizeof handshake);
    const auto peer = static_cast<int>(handshake.rank);
    const bool is_right = handshake.magic == Handshake::right_magic &&
                          handshake.version == Handshake::right_version && peer >= 0 &&
                          peer < size && peer != own && handshake.secret == secret;
    return is_right ? Caller{peer, handshake.joins != 0} : Caller{};
}

std::string RankEndpoint::text() const {
    return cat(port, " ", membership::hex(secret));
}

RankEndpoint RankEndpoint::parse(int rank, const std::string& text) {
    const size_t space = std::min(text.find(' '), text.size());
    RankEndpoint endpoint;
    endpoint.port = static_cast<int>(
        parse_number(text.substr(0, space), "a rank's port", 1, net::highest_port));
    const std::string_view secret = std::string_view(text).substr(std::min(space + 1, text.size()));
    if (!membership::parse_hex(secret, endpoint.secret)) {
        throw Error(TUTTI_ERR_NETWORK, cat("rank ", rank, " sent a malformed address"));
    }
    return endpoint;
}

}  // namespace tutti
