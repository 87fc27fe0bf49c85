// The decompressor: whatever comes is content within the limit or an error; however a frame is cut
// it means the same; and what was compressed comes back.
// Input: a byte of the limit, a byte of the level, a byte n, n lengths of pieces, the frame.
#include "base/error.hpp"
#include "input.hpp"
#include "object/compress.hpp"

namespace {

using Bytes = std::span<const std::byte>;

struct Outcome {
    std::vector<std::byte> content;
    bool refused = false;

    bool operator==(const Outcome&) const = default;
};

Outcome decompress(Bytes frame, Bytes cuts, size_t limit) {
    Outcome outcome;
    try {
        tutti::Decompressor decompressor(limit);
        tutti::fuzz::in_pieces(frame, cuts, [&](Bytes piece) { decompressor.write(piece); });
        const tutti::OwnedBytes message = decompressor.finish();
        FUZZ_EXPECT(message.size <= limit);
        // As much as was promised, never more than the limit, and what was trusted.
        FUZZ_EXPECT(message.block.size() <= limit + 2);
        outcome.content.assign(message.bytes().begin(), message.bytes().end());
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_INVALID_ARGUMENT);
        outcome.refused = true;
    }
    return outcome;
}

class Collected : public tutti::Sink {
public:
    void write(Bytes piece) override { bytes.insert(bytes.end(), piece.begin(), piece.end()); }
    std::vector<std::byte> bytes;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const size_t limit = size_t{1} << (input.byte() % 23);
    const int level = input.byte() % 8 - 4;
    const Bytes cuts = input.bytes(input.byte());
    const Bytes stream = input.rest();

    const Outcome whole = decompress(stream, {}, limit);
    // The first piece holds the header.
    if (!cuts.empty() && std::to_integer<size_t>(cuts[0]) >= 18) {
        FUZZ_EXPECT(whole == decompress(stream, cuts, limit));
    }

    Collected frame;
    tutti::Compressor compressor(level, stream.size(), frame);
    tutti::fuzz::in_pieces(stream, cuts, [&](Bytes piece) { compressor.write(piece); });
    compressor.finish();
    const Outcome back = decompress(frame.bytes, {}, stream.size());
    FUZZ_EXPECT(!back.refused &&
                std::equal(back.content.begin(), back.content.end(), stream.begin(), stream.end()));
    return 0;
}
