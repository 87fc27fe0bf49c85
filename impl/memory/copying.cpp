// Copies in the order that suits the processor, and past the caches where it has such stores. Any
// thread.
#include "copying.hpp"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::shm {

namespace {

// From here on data are copied page by page, which is slower for data in the cache. Data staged for
// this rank never are.
constexpr size_t copied_by_pages_from = 256 * KiB;

// Where what another processor has read takes long to be written again, and what goes past the
// caches does not.
bool writes_past_caches() {
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

#if defined(__SSE2__)
struct CacheLine {
    __m128i parts[4];
};
CacheLine load(const std::byte* from) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    return {{_mm_loadu_si128(source), _mm_loadu_si128(source + 1), _mm_loadu_si128(source + 2),
             _mm_loadu_si128(source + 3)}};
}

// A line of each of some pages in turn: the processor follows so many streams at a time, and each
// only to the end of its page. Returns how much was copied.
size_t copy_pages(std::byte* to, const std::byte* from, size_t bytes) {
    constexpr size_t page = 4096;
    constexpr size_t pages = 4;
    size_t done = 0;
    for (; bytes - done >= pages * page; done += pages * page) {
        for (size_t at = done; at < done + page; at += cache_line) {
            for (size_t each = 0; each < pages; ++each) {
                const CacheLine line = load(from + at + each * page);
                auto* const target = reinterpret_cast<__m128i*>(to + at + each * page);
                for (int part = 0; part < 4; ++part) {
                    _mm_storeu_si128(target + part, line.parts[part]);
                }
            }
        }
    }
    return done;
}

// Whole cache lines, `to` aligned to them; returns how much was copied.
size_t stream(std::byte* to, const std::byte* from, size_t bytes) {
    constexpr size_t ahead = 1024;  // bytes: the next reads are on their way
    const size_t whole = bytes / cache_line * cache_line;
    for (size_t at = 0; at < whole; at += cache_line) {
        _mm_prefetch(reinterpret_cast<const char*>(from + at) + ahead, _MM_HINT_T0);
        const CacheLine line = load(from + at);
        auto* const target = reinterpret_cast<__m128i*>(to + at);
        for (int part = 0; part < 4; ++part) _mm_stream_si128(target + part, line.parts[part]);
    }
    _mm_sfence();
    return whole;
}
#else
size_t copy_pages(std::byte*, const std::byte*, size_t) {
    return 0;
}
size_t stream(std::byte*, const std::byte*, size_t) {
    return 0;
}
#endif

}  // namespace

Stores staging_stores(size_t bytes) {
    static const bool past_caches = writes_past_caches();
    return past_caches && bytes >= 4 * KiB ? Stores::Streaming : Stores::Ordinary;
}

void copy_out(Bytes to, ConstBytes from, Stores stores) {
    if (to.data() == from.data() || from.empty()) return;
    size_t done = 0;
    if (stores == Stores::Streaming) {
        const auto address = reinterpret_cast<uintptr_t>(to.data());
        const size_t front =
            std::min((cache_line - address % cache_line) % cache_line, from.size());
        std::ranges::copy(from.first(front), to.begin());
        done = front + stream(to.data() + front, from.data() + front, from.size() - front);
    } else {
        done = copy_pages(to.data(), from.data(), from.size());
    }
    std::ranges::copy(from.subspan(done), to.subspan(done).begin());
}

void copy_data(Bytes to, ConstBytes from, Stores stores) {
    if (from.size() >= copied_by_pages_from) return copy_out(to, from, stores);
    copy(to, from);
}

}  // namespace tutti::shm
