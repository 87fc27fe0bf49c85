#include "key.hpp"

#include <cstring>

#include "base/random.hpp"
#include "base/text.hpp"
#include "limits.hpp"

namespace tutti {

namespace {

struct Secret {
    uint64_t seed;
    uint64_t factor;
};

const Secret& secret() {
    static const Secret chosen{random_value<uint64_t>(), random_value<uint64_t>() | 1};
    return chosen;
}

// Both halves of the product, so that every bit of `a` reaches every bit of the result.
uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

Key::Key(const Node& node) : kind(node.kind()) {
    if (kind == TUTTI_OBJECT_STRING) {
        text = node.text();
    } else {
        bits = node.bits();
    }
}

Key Key::signed_integer(int64_t value) {
    return {TUTTI_OBJECT_INT64, static_cast<uint64_t>(value)};
}

Key Key::unsigned_integer(uint64_t value) {
    return {value > INT64_MAX ? TUTTI_OBJECT_UINT64 : TUTTI_OBJECT_INT64, value};
}

uint64_t hash(const Key& key) {
    const Secret& hidden = secret();
    uint64_t state = hidden.seed ^ key.kind;
    if (key.kind != TUTTI_OBJECT_STRING) return mix(state ^ key.bits, hidden.factor);
    std::string_view rest = key.text;
    state ^= uint64_t{rest.size()} << 8;
    uint64_t word = 0;
    for (; rest.size() >= sizeof word; rest.remove_prefix(sizeof word)) {
        std::memcpy(&word, rest.data(), sizeof word);
        state = mix(state ^ word, hidden.factor);
    }
    word = 0;
    if (!rest.empty()) std::memcpy(&word, rest.data(), rest.size());
    return mix(state ^ word, hidden.factor);
}

std::string describe(const Key& key) {
    if (key.kind == TUTTI_OBJECT_INT64) return cat(static_cast<int64_t>(key.bits));
    if (key.kind == TUTTI_OBJECT_UINT64) return cat(key.bits);
    if (key.text.size() <= object_limits::key_bytes_in_message) return cat('"', key.text, '"');
    return cat('"', cut(key.text, object_limits::key_bytes_in_message), "...\"");
}

}  // namespace tutti
