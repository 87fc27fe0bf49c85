// Every maximum of the values, in one place, and the default of each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::object_limits {

// The nodes of one value, which are numbered with 32 bits.
constexpr size_t nodes = UINT32_MAX;
// The dimensions of an array, as NumPy has it.
constexpr int dimensions = 64;
// The counts of MessagePack's headers: bytes, values of a list, pairs of a map.
constexpr size_t encoded_count = UINT32_MAX;
// Lists of other than scalars, and maps, that have more than this get an index.
constexpr size_t unindexed = 8;

// Defaults.
constexpr size_t message_bytes = size_t{4} << 30;
constexpr size_t decompressed_bytes = size_t{1} << 30;
constexpr size_t values = size_t{1} << 26;
constexpr size_t depth = 512;
constexpr size_t compression_threshold = 4096;
constexpr int compression_level = 1;

// zstd's levels that are of use between ranks; above them, it takes seconds for a MiB.
constexpr int lowest_compression_level = -7;
constexpr int highest_compression_level = 19;
// From so many bytes on, several threads compress one value, so many at most.
constexpr size_t parallel_compression = size_t{4} << 20;
constexpr int compression_threads = 4;
// Between ranks of one host, where a byte costs less than compressing it, one part in so many of
// such a value is compressed: that takes about as long as sending all of it does.
constexpr size_t compression_part = size_t{1} << 20;
constexpr size_t compressed_parts = 4;
// A frame that wants a larger window (this power of 2) than zstd's own default is refused.
constexpr int decompression_window = 27;

// Bytes of a key that an error message shows.
constexpr size_t key_bytes_in_message = 128;

}  // namespace tutti::object_limits
