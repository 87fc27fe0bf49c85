// The common part of the tests of values: made values, and messages written by hand.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "object/builder.hpp"
#include "object/equal.hpp"
#include "object/message.hpp"
#include "support/seed.h"
#include "support/unit.hpp"

namespace tutti::test {

using ObjectPtr = std::shared_ptr<const Object>;

template <typename Build>
ObjectPtr make(Build&& build) {
    Builder builder;
    build(builder);
    return builder.finish();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

inline ObjectPtr read(std::string_view message, const ObjectSettings& settings = {}) {
    return unpack_copied(bytes_of(message), settings);
}

inline bool same(const ObjectPtr& a, const ObjectPtr& b) {
    return equal(*a, 0, *b, 0);
}

// "\x93" and its kin, with zeros inside.
inline std::string raw(std::initializer_list<int> bytes) {
    std::string text;
    for (const int byte : bytes) text += static_cast<char>(byte);
    return text;
}

// A value with at most `left` values in it, of every kind.
class Random {
public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    ObjectPtr value(size_t most) {
        Builder builder;
        left_ = most;
        add(builder, 0);
        return builder.finish();
    }

    uint64_t below(uint64_t limit) { return engine_() % limit; }

private:
    void add(Builder& builder, size_t depth) {
        if (left_ > 0) --left_;
        const uint64_t kinds = left_ > 0 && depth < 200 ? 11 : 9;
        switch (below(kinds)) {
            case 0:
                return builder.nil();
            case 1:
                return builder.boolean(below(2) == 1);
            case 2:
            case 3:
                return integer(builder);
            case 4:
                return builder.real(std::bit_cast<double>(engine_()));
            case 5:
                return builder.string(text());
            case 6: {
                const std::string data = text();
                return builder.bytes(data.data(), data.size(), Builder::Memory::Copied);
            }
            case 7:
                return builder.timestamp(
                    static_cast<int64_t>(engine_()) >> below(64),
                    below(2) == 0 ? 0 : static_cast<int64_t>(below(1'000'000'000)));
            case 8:
                return array(builder);
            default:
                return container(builder, depth);
        }
    }

    void integer(Builder& builder) {
        const uint64_t bits = engine_() >> below(64);
        if (below(2) == 0) return builder.unsigned_integer(bits);
        builder.signed_integer(static_cast<int64_t>(~bits));
    }

    std::string text() {
        std::string made(below(below(20) == 0 ? 70000 : 40), 'x');
        for (char& letter : made) letter = static_cast<char>(' ' + below(90));
        if (below(3) == 0) made += "\xc3\xa4\xf0\x9f\x8e\xbb";
        return made;
    }

    void array(Builder& builder) {
        const auto dimensions = static_cast<int32_t>(below(4));
        std::vector<int64_t> shape;
        for (int32_t i = 0; i < dimensions; ++i) shape.push_back(static_cast<int64_t>(below(6)));
        Array made{nullptr, shape.data(), static_cast<tutti_dtype>(below(15)), dimensions};
        std::vector<uint64_t> data(2 * count_elements(made) + 1);
        for (uint64_t& word : data) word = engine_();
        made.data = data.data();
        builder.array(made, Builder::Memory::Copied);
    }

    void container(Builder& builder, size_t depth) {
        const uint64_t count = below(below(10) == 0 ? 40 : 6);
        const bool counted = below(2) == 0;
        if (below(2) == 0) {
            counted ? builder.list(count) : builder.list();
            for (uint64_t i = 0; i < count; ++i) add(builder, depth + 1);
        } else {
            counted ? builder.map(count) : builder.map();
            for (uint64_t i = 0; i < count; ++i) {
                if (i % 2 == 0) {
                    builder.signed_integer(static_cast<int64_t>(i) - 3);
                } else {
                    builder.string("key " + std::to_string(i));
                }
                add(builder, depth + 1);
            }
        }
        if (!counted) builder.close();
    }

    std::mt19937_64 engine_;
    size_t left_ = 0;
};

inline uint32_t printed_seed() {
    const uint32_t seed = test_seed();
    print_message("seed %u\n", seed);
    return seed;
}

}  // namespace tutti::test
