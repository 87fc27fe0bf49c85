// The address of a coordinator, and the token that proves the caller belongs there. Rank 0 leaves
// its own at the store for the others; the process that runs a coordinator that is no rank makes it
// known. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol.hpp"

namespace tutti::membership {

// In hexadecimal, and back; false for any other text.
std::string hex(const Token& token);
bool parse_hex(std::string_view text, Token& token);

struct Invitation {
    int port = 0;
    Token token{};
    std::string host;                    // net::host_identity() of the coordinator
    std::vector<std::string> addresses;  // best first
    int rank = 0;                        // that coordinates, or nobody

    // The invitation of rank 0: "port token-in-hex host address,address".
    [[nodiscard]] std::string text() const;
    // Throws STORE for anything else.
    static Invitation parse(const std::string& text);
};

}  // namespace tutti::membership
