// The layout of a rank's shared memory for messages: a ring for each other rank, with descriptors
// that offer messages, the receiver's answers, and a stream for long data. Plain memory, mapped by
// several processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/plain.hpp"
#include "call/message.hpp"
#include "message/operation.hpp"
#include "progress/doorbell.hpp"

namespace tutti::message {

constexpr size_t max_descriptors = 16;      // written and not yet consumed
constexpr size_t max_offers = 8192;         // messages to one rank that are not taken yet
constexpr uint32_t given = UINT32_MAX;      // instead of an offer: see Descriptor
constexpr size_t eager_bytes = 4096;        // data up to here are beside their descriptor
constexpr size_t stream_step = cache_line;  // alignment in a stream

// Offers a message: its type, and its data if they are few. Sequence numbers start at 1. A message
// with few data is given if no offer is free: it is the receiver's, which keeps it.
struct alignas(cache_line) Descriptor {
    struct Head {
        int64_t count;  // elements
        uint32_t dtype;
        Content content;
        int32_t tag;
        uint32_t offer;  // index of its state in `offers`, or `given`
    };
    static constexpr size_t most = 32;

    std::atomic<uint64_t> sequence;  // of the message that it offers; 0: none yet
    Head head;
    std::byte data[most];  // else data are in `eager` or follow, and here is a Location
};
static_assert(sizeof(Descriptor) == cache_line && Plain<Descriptor::Head>);

static_assert(sizeof(Location) <= Descriptor::most);

// The state of a message, stored with its sequence number. The receiver takes it, with or without
// its data, or first reads the data in place; or the sender withdraws it.
enum class State : uint64_t { Offered = 0, Taken = 1, Wanted = 2, BeingRead = 3, Withdrawn = 4 };
constexpr int state_bits = 3;
constexpr uint64_t state_of(uint64_t sequence, State state) {
    return sequence << state_bits | static_cast<uint64_t>(state);
}

// The head of data in a stream.
struct StreamHead {
    uint64_t sequence;
    uint64_t bytes;
};
static_assert(sizeof(StreamHead) <= stream_step);

// From the rank whose memory it is to one other. The sender writes the descriptors and the stream.
struct Ring {
    Descriptor descriptors[max_descriptors];
    alignas(cache_line) std::atomic<uint64_t> written;   // bytes of the stream so far
    alignas(cache_line) std::atomic<uint64_t> consumed;  // the receiver's: descriptors so far
    std::atomic<uint64_t> settled;                       // the receiver's: offers so far
    alignas(cache_line) std::atomic<uint64_t> read;      // the receiver's: bytes of the stream
    alignas(4096) std::atomic<uint64_t> offers[max_offers];
    alignas(4096) std::byte eager[max_descriptors][eager_bytes];
    // the stream follows
};

// How long the streams of a group's rings are: a power of two, less where there are many.
constexpr size_t stream_bytes_for(int ranks) {
    constexpr size_t all = size_t{8} * 1024 * 1024;
    const size_t each = std::bit_floor(all / static_cast<size_t>(std::max(ranks, 1)));
    return std::clamp(each, size_t{16} * 1024, size_t{512} * 1024);
}

// In front of the rings. Ranks that have written for this one ring the doorbell.
struct Front {
    Doorbell doorbell;
    // the rings follow
};
constexpr size_t front_bytes = 4096;
static_assert(sizeof(Front) <= front_bytes && sizeof(Ring) % 4096 == 0);

// Bytes for each of so many ranks that all see each other's memory.
constexpr size_t rings_bytes(int ranks) {
    return front_bytes + static_cast<size_t>(ranks) * (sizeof(Ring) + stream_bytes_for(ranks));
}
// Bytes for any number of ranks up to that one.
constexpr size_t max_rings_bytes(int ranks) {
    size_t most = 0;
    for (int fewer = 1; fewer <= ranks; ++fewer) most = std::max(most, rings_bytes(fewer));
    return most;
}

// One ring, as seen by either side.
struct RingView {
    Ring* ring = nullptr;
    std::byte* stream = nullptr;
    size_t stream_bytes = 0;

    // The one to `place` in such memory of one of so many ranks.
    static RingView in(void* memory, int place, int ranks) {
        const size_t bytes = stream_bytes_for(ranks);
        auto* const begin = static_cast<std::byte*>(memory) + front_bytes +
                            static_cast<size_t>(place) * (sizeof(Ring) + bytes);
        return {reinterpret_cast<Ring*>(begin), begin + sizeof(Ring), bytes};
    }
};

}  // namespace tutti::message
