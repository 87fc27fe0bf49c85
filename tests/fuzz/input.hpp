// The header of every fuzz target: the input, taken from its front. A target is one function that
// libFuzzer calls over and over on one thread; what must hold is checked with FUZZ_EXPECT, which
// ends the process so that the input is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace tutti::fuzz {

class Input {
public:
    Input(const uint8_t* data, size_t size) : left_(std::as_bytes(std::span(data, size))) {}

    [[nodiscard]] bool empty() const { return left_.empty(); }
    // 0 when there is no more.
    uint8_t byte() {
        const auto one = bytes(1);
        return one.empty() ? uint8_t{0} : std::to_integer<uint8_t>(one[0]);
    }
    // Fewer when there are no more.
    std::span<const std::byte> bytes(size_t wanted) {
        const auto taken = left_.first(std::min(wanted, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }
    std::string text(size_t wanted) {
        const auto taken = bytes(wanted);
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }
    std::span<const std::byte> rest() { return bytes(left_.size()); }

private:
    std::span<const std::byte> left_;
};

// Gives `stream` to `feed` in pieces; after each but the last come so many bytes as the next byte
// of `cuts` says.
template <typename Feed>
void in_pieces(std::span<const std::byte> stream, std::span<const std::byte> cuts, Feed&& feed) {
    for (const std::byte cut : cuts) {
        const auto size = std::min(stream.size(), std::to_integer<size_t>(cut));
        feed(stream.first(size));
        stream = stream.subspan(size);
    }
    feed(stream);
}

}  // namespace tutti::fuzz

#define FUZZ_EXPECT(condition)                                                           \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                \
        }                                                                                \
    } while (0)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
