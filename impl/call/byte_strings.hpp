// Collectives of byte strings whose sizes only their owners know, as data: lists of objects travel
// in this form. The first message has the size, and the bytes if they are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/block.hpp"
#include "fingerprint.hpp"

namespace tutti {

struct ByteStrings {
    enum class Pattern : uint32_t { Broadcast, AllGather, Gather, Scatter };
    // Received data, written when all of it is there. By rank: all_gather, and gather on its root;
    // one: broadcast and scatter, but nothing on the root of a broadcast.
    using Received = std::vector<OwnedBytes>;

    Pattern pattern{};
    bool objects = true;    // else bytes as they are; ranks must agree
    bool keeps_own = true;  // else received data omit this rank's own
    int root = -1;
    // Data of this rank: one string, or on the root of a scatter one for each rank; nothing
    // elsewhere.
    std::vector<std::span<const std::byte>> inputs{};
    std::shared_ptr<const void> inputs_memory{};  // if it is not the caller's
    size_t max_bytes = 0;                         // of one that is received
    std::shared_ptr<Received> received{};
};

// Throws INVALID_ARGUMENT, naming the argument.
void check(const ByteStrings& call, int rank, int size);
const char* call_name(const ByteStrings& call);
Fingerprint fingerprint(const ByteStrings& call);

// Throws MISMATCH if the byte string from `origin` is longer than this rank accepts.
void check_size(const ByteStrings& call, uint64_t size, int origin, int rank);
// Data of this rank for itself: a copy, or nothing.
OwnedBytes own_of(const ByteStrings& call, std::span<const std::byte> byte_string);

}  // namespace tutti
