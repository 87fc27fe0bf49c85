// Copies that go past the caches where the processor has such stores. Any thread.
#include "pieces.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::shm {

namespace {

#if defined(__SSE2__)
// Whole cache lines, `to` aligned to them; returns how much was copied.
size_t stream(std::byte* to, const std::byte* from, size_t bytes) {
    constexpr size_t ahead = 512;  // bytes: the next reads are on their way
    const size_t whole = bytes / cache_line * cache_line;
    for (size_t at = 0; at < whole; at += cache_line) {
        const auto* const source = reinterpret_cast<const __m128i*>(from + at);
        auto* const target = reinterpret_cast<__m128i*>(to + at);
        _mm_prefetch(reinterpret_cast<const char*>(from + at) + ahead, _MM_HINT_T0);
        const __m128i first = _mm_loadu_si128(source);
        const __m128i second = _mm_loadu_si128(source + 1);
        const __m128i third = _mm_loadu_si128(source + 2);
        const __m128i fourth = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, first);
        _mm_stream_si128(target + 1, second);
        _mm_stream_si128(target + 2, third);
        _mm_stream_si128(target + 3, fourth);
    }
    _mm_sfence();
    return whole;
}
#else
size_t stream(std::byte*, const std::byte*, size_t) {
    return 0;
}
#endif

}  // namespace

void copy_out(Bytes to, ConstBytes from, Stores stores) {
    if (to.data() == from.data() || from.empty()) return;
    size_t done = 0;
    if (stores == Stores::Streaming) {
        const auto address = reinterpret_cast<uintptr_t>(to.data());
        const size_t front =
            std::min((cache_line - address % cache_line) % cache_line, from.size());
        std::ranges::copy(from.first(front), to.begin());
        done = front + stream(to.data() + front, from.data() + front, from.size() - front);
    }
    std::ranges::copy(from.subspan(done), to.subspan(done).begin());
}

}  // namespace tutti::shm
