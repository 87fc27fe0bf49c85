// Init methods: taken apart, or an Error that shows the text. What was understood, written down
// anew, means the same.
// Input: the text.
#include "group/init_url.hpp"

#include "base/error.hpp"
#include "input.hpp"

namespace {

using tutti::cat;
using tutti::InitUrl;

constexpr int64_t max_timeout_ms = 1'000'000'000'000;

// A millisecond more or less: seconds are read as binary fractions.
bool about_equal(std::optional<int64_t> one, std::optional<int64_t> other) {
    if (!one || !other) return one == other;
    return *one - *other <= 1 && *other - *one <= 1;
}

std::string written(const InitUrl& url) {
    std::string text = cat(url.scheme, "://", url.place, '?');
    if (url.rank) text += cat("rank=", *url.rank, '&');
    if (url.world_size) text += cat("world_size=", *url.world_size, '&');
    if (!url.timeout_ms) return text;
    const std::string fraction = std::to_string(1000 + *url.timeout_ms % 1000).substr(1);
    return text += cat("timeout=", *url.timeout_ms / 1000, '.', fraction);
}

void expect_readable(const InitUrl& url) {
    FUZZ_EXPECT(!url.rank || *url.rank >= 0);
    FUZZ_EXPECT(!url.world_size || *url.world_size >= 1);
    FUZZ_EXPECT(!url.timeout_ms || (*url.timeout_ms >= 1 && *url.timeout_ms <= max_timeout_ms));
    const InitUrl again = tutti::parse_init_url(written(url));
    FUZZ_EXPECT(again.scheme == url.scheme && again.place == url.place);
    FUZZ_EXPECT(again.rank == url.rank && again.world_size == url.world_size);
    FUZZ_EXPECT(about_equal(again.timeout_ms, url.timeout_ms));
}

void expect_reachable(const InitUrl& url) {
    const tutti::net::Endpoint endpoint = tutti::parse_endpoint(url);
    FUZZ_EXPECT(!endpoint.host.empty() && endpoint.port >= 1 && endpoint.port <= 65535);
    const bool bracketed =
        endpoint.host.starts_with('[') || endpoint.host.find(':') != std::string::npos;
    const std::string host = bracketed ? cat('[', endpoint.host, ']') : endpoint.host;
    const tutti::net::Endpoint again =
        tutti::parse_endpoint(tutti::parse_init_url(cat("tcp://", host, ':', endpoint.port)));
    FUZZ_EXPECT(again.host == endpoint.host && again.port == endpoint.port);
    FUZZ_EXPECT(!bracketed || tutti::without_brackets(host) == endpoint.host);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const InitUrl url = tutti::parse_init_url(text);
        FUZZ_EXPECT(url.text == text);
        if (text.find("://") == std::string::npos) {
            FUZZ_EXPECT(url.scheme.empty() && url.place.empty() && !url.rank && !url.world_size);
            return 0;
        }
        FUZZ_EXPECT(text.starts_with(cat(url.scheme, "://", url.place)));
        expect_readable(url);
        expect_reachable(url);
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_INVALID_ARGUMENT);
        FUZZ_EXPECT(error.status().message.find(text) != std::string::npos);
    }
    return 0;
}
