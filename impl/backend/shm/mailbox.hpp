// What stands in the memory that a rank shows the others for its messages: a box for each of them,
// with the letters in which it offers messages, the answers to them, and a stream for data that are
// long. Plain memory, mapped by several processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend/call/message.hpp"
#include "layout.hpp"
#include "shared.hpp"

namespace tutti::shm {

constexpr size_t most_letters = 16;         // that were written and not yet heard
constexpr size_t most_offers = 8192;        // messages to one rank that it has not taken yet
constexpr size_t eager_bytes = 4096;        // data up to here travel with their letter
constexpr size_t stream_step = cache_line;  // what is in a stream begins at multiples

// Offers a message: what it is, and its data if they are few. Messages are counted from 1.
struct alignas(cache_line) Letter {
    struct Head {
        int64_t count;  // elements
        uint32_t dtype;
        Content content;
        int32_t tag;
        uint32_t offer;  // which one tells what becomes of it
    };
    static constexpr size_t most = 32;

    std::atomic<uint64_t> number;  // of the message that it offers; 0: none yet
    Head head;
    std::byte data[most];  // else they are in `eager` or come later, and here is a Whereabouts
};
static_assert(sizeof(Letter) == cache_line);

// Where data are that have not come with their letter.
struct Whereabouts {
    uint64_t address;  // in the sender's memory
    Place place;       // in memory that it has shared; 0: in none
};
static_assert(sizeof(Whereabouts) <= Letter::most);

// What became of a message: its number, and one of these. The receiver takes it, with or without
// its data, or reads them where they are before it does; the sender takes it back.
enum class Fate : uint64_t { Offered = 0, Taken = 1, Wanted = 2, BeingRead = 3, Withdrawn = 4 };
constexpr int fate_bits = 3;
constexpr uint64_t fate_of(uint64_t number, Fate fate) {
    return number << fate_bits | static_cast<uint64_t>(fate);
}

// In front of the data in a stream.
struct StreamHead {
    uint64_t number;
    uint64_t bytes;
};
static_assert(sizeof(StreamHead) <= stream_step);

// From the rank whose memory it is to one other. The sender writes the letters and the stream.
struct Box {
    Letter letters[most_letters];
    alignas(cache_line) std::atomic<uint64_t> written;  // bytes of the stream so far
    alignas(cache_line) std::atomic<uint64_t> heard;    // the receiver's: letters so far
    std::atomic<uint64_t> settled;                      // the receiver's: offers so far
    alignas(cache_line) std::atomic<uint64_t> read;     // the receiver's: bytes of the stream
    alignas(4096) std::atomic<uint64_t> offers[most_offers];
    alignas(4096) std::byte eager[most_letters][eager_bytes];
    // the stream follows
};

// How long the streams of a group's boxes are: a power of two, less where there are many.
constexpr size_t stream_bytes_for(int ranks) {
    constexpr size_t all = size_t{8} * 1024 * 1024;
    const size_t each = std::bit_floor(all / static_cast<size_t>(std::max(ranks, 1)));
    return std::clamp(each, size_t{16} * 1024, size_t{512} * 1024);
}

// Others who have written something for the rank ring.
struct Mail {
    Bell bell;
    // the boxes follow
};
constexpr size_t mail_front = 4096;
constexpr size_t mail_bytes(int ranks) {
    return mail_front + static_cast<size_t>(ranks) * (sizeof(Box) + stream_bytes_for(ranks));
}
static_assert(sizeof(Mail) <= mail_front && sizeof(Box) % 4096 == 0);

// Where a rank's mail is, and in which process the rest of its memory can be read; 0: in none.
struct MailPlace {
    void* memory = nullptr;
    int32_t process = 0;
};

// One box, as either side has it before it.
struct BoxView {
    Box* box = nullptr;
    std::byte* stream = nullptr;
    size_t stream_bytes = 0;

    // That of `rank` in the mail of a group of so many ranks.
    static BoxView in(void* mail, int rank, int ranks) {
        const size_t bytes = stream_bytes_for(ranks);
        auto* const begin = static_cast<std::byte*>(mail) + mail_front +
                            static_cast<size_t>(rank) * (sizeof(Box) + bytes);
        return {reinterpret_cast<Box*>(begin), begin + sizeof(Box), bytes};
    }
};

}  // namespace tutti::shm
