// Values that are long enough for several threads to compress them, and for some parts of them to
// stay as they are: they come back, however they are cut, and never as more than they were.
// Input: a byte of the level, a byte of what is compressed, two bytes of the size, a byte n, n
// lengths of pieces in `unit` bytes, and for each `stretch` bytes in turn what they are like.
#include <random>
#include <vector>

#include "input.hpp"
#include "object/builder.hpp"
#include "object/compress.hpp"
#include "object/equal.hpp"
#include "object/message.hpp"

namespace {

using Bytes = std::span<const std::byte>;
using Content = std::vector<std::byte>;

constexpr size_t shortest = tutti::object_limits::parallel_compression - 64;
constexpr size_t unit = 50'000;
constexpr size_t stretch = 300'000;

// Noise, one byte over and over, or what repeats itself at some distance.
void fill(std::span<std::byte> part, std::byte like) {
    const auto seed = std::to_integer<uint32_t>(like);
    std::minstd_rand noise(seed + 1);
    const size_t distance = seed % 3 == 0 ? part.size() : seed % 3 == 1 ? 1 : 17 * seed;
    for (size_t i = 0; i < part.size(); ++i) {
        part[i] = i < distance ? static_cast<std::byte>(noise() >> 8) : part[i - distance];
    }
}

Content content_of(size_t size, Bytes likes) {
    Content content(size);
    const std::span<std::byte> all(content);
    for (size_t at = 0, i = 0; at < size; at += stretch, ++i) {
        const std::byte like = likes.empty() ? std::byte{1} : likes[i % likes.size()];
        fill(all.subspan(at, std::min(stretch, size - at)), like);
    }
    return content;
}

class Collected : public tutti::Sink {
public:
    void write(Bytes piece) override { bytes.insert(bytes.end(), piece.begin(), piece.end()); }
    Content bytes;
};

void try_frame(const Content& content, Bytes cuts, int level, tutti::Compressor::Share share) {
    Collected frame;
    tutti::Compressor compressor(level, content.size(), frame, share);
    Bytes left(content);
    for (const std::byte cut : cuts) {
        const Bytes piece = left.first(std::min(left.size(), unit * std::to_integer<size_t>(cut)));
        compressor.write(piece);
        left = left.subspan(piece.size());
    }
    compressor.write(left);
    compressor.finish();
    FUZZ_EXPECT(frame.bytes.size() <= content.size() + content.size() / 128);
    tutti::Decompressor decompressor(content.size());
    decompressor.write(frame.bytes);
    const tutti::OwnedBytes back = decompressor.finish();
    FUZZ_EXPECT(std::ranges::equal(back.bytes(), content));
}

void try_message(const Content& content, int level, bool same_host) {
    tutti::Builder builder;
    builder.bytes(content.data(), content.size(), tutti::Builder::Memory::Kept);
    const auto object = builder.finish();
    tutti::ObjectSettings settings;
    settings.compress = true;
    settings.same_host = same_host;
    if (level != 0) settings.level = level;
    const std::string message = tutti::pack(*object, settings);
    FUZZ_EXPECT(message.size() <= tutti::pack(*object, {}).size());
    const auto back = tutti::unpack_copied(std::as_bytes(std::span(message)), settings);
    FUZZ_EXPECT(tutti::equal(*object, 0, *back, 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using Share = tutti::Compressor::Share;
    tutti::fuzz::Input input(data, size);
    const int level = input.byte() % 8 - 4;
    const bool some_parts = input.byte() % 2 == 1;
    size_t more = size_t{input.byte()} << 14;
    more += input.byte();
    const Bytes cuts = input.bytes(input.byte());
    const Content content = content_of(shortest + more, input.rest());
    try_frame(content, cuts, level, some_parts ? Share::SomeParts : Share::All);
    try_message(content, level, some_parts);
    return 0;
}
