// How the data of a message reach its receiver if they do not come with the descriptor, by their
// size; measured by tests/bench/tutti-bench.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/cache.hpp"

namespace tutti::message {

enum class LongData : uint8_t {
    BySize,
    Streamed,  // the sender copies them into the stream, the receiver out of it
    InPlace    // the receiver reads them where they are, if the system lets it
};

// One way, if the table chooses.
constexpr bool is_read_in_place(size_t bytes) {
    return bytes >= 32 * shm::KiB && bytes <= 256 * shm::KiB;
}
// While the receiver also sends long data to the same rank: each rank then copies once instead of
// twice.
constexpr bool is_exchanged_in_place(size_t bytes) {
    return bytes >= 64 * shm::KiB && bytes <= 8 * shm::MiB;
}

}  // namespace tutti::message
