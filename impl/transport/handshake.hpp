// What ranks must know to connect to each other, and the bytes that a rank sends first on a
// connection that it makes; the other one answers with the secret of the caller. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "base/plain.hpp"
#include "membership/protocol.hpp"

namespace tutti {

// Its bytes travel as they are.
struct Handshake {
    static constexpr uint32_t right_magic = 0x44545554;  // "TUTD"
    static constexpr uint32_t right_version = 4;

    uint32_t magic = right_magic;
    uint32_t version = right_version;
    uint32_t rank = 0;
    uint32_t joins = 0;          // 1: a further connection
    membership::Token secret{};  // of the rank that is called
};
static_assert(sizeof(Handshake) == 32 && Plain<Handshake>);

// The rank that a caller proves to be, or nobody.
struct Caller {
    int rank = membership::nobody;
    bool joins = false;  // there is a connection already
};

// The caller of rank `own` of `size`, which has that secret.
[[nodiscard]] Caller find_caller(const std::string& received, int own, int size,
                                 const membership::Token& secret);

// Where a rank listens, and the secret by which others prove that they belong to its world.
struct RankEndpoint {
    int port = 0;
    membership::Token secret{};

    [[nodiscard]] std::string text() const;
    // The text() of that rank. Throws if it is malformed.
    static RankEndpoint parse(int rank, const std::string& text);
};

}  // namespace tutti
