// zstd frames, with a checksum, piece by piece in both directions. The only place that includes
// zstd.h. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/block.hpp"
#include "encode.hpp"

namespace tutti {

// Whether the message begins like a zstd frame.
bool is_compressed(std::span<const std::byte> message);

// Bytes after level 1, without a frame's frills: what a sample tells of the whole.
size_t compressed_size(std::span<const std::byte> sample);

// Writes its input to the sink, compressed as one frame.
class Compressor : public Sink {
public:
    // All of it, or, of what is long, one part in object_limits::compressed_parts.
    enum class Share { All, SomeParts };
    // `size` is that of all that will be written.
    Compressor(int level, size_t size, Sink& out, Share share = Share::All);
    ~Compressor() override;
    // How many bytes of those written are not left as they are, at most.
    [[nodiscard]] size_t tried() const;
    void write(std::span<const std::byte> piece) override;
    void finish();

private:
    struct State;
    void begin_part();
    void run(std::span<const std::byte> piece, bool last);

    std::unique_ptr<State> state_;
    Sink& out_;
    const int level_;
    const size_t size_;
    bool only_some_parts_ = false;
    size_t written_ = 0;
};

// Collects what a frame holds. Memory grows with what comes out, and never beyond the limit.
class Decompressor {
public:
    explicit Decompressor(size_t limit);
    ~Decompressor();
    // Throws INVALID_ARGUMENT with the byte of the frame where it goes wrong, also if what it
    // promises is beyond the limit. The first piece holds the frame's header: 18 bytes, or all.
    void write(std::span<const std::byte> piece);
    // The whole content; throws if the frame has not ended.
    OwnedBytes finish();

private:
    struct State;
    void read_header(std::span<const std::byte> piece);
    void make_room(size_t piece);

    std::unique_ptr<State> state_;
    const size_t limit_;
    OwnedBytes content_;
    std::optional<size_t> promised_;  // by the frame's header
    size_t taken_ = 0;                // bytes of the frame
    bool ended_ = false;
};

}  // namespace tutti
