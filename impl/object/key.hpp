// Keys of maps: strings and integers, compared by value, hashed with a secret of the process, so
// that no message can choose keys that collide. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node.hpp"

namespace tutti {

struct Key {
    tutti_object_kind kind{};  // INT64, UINT64 or STRING
    uint64_t bits = 0;         // of an integer
    std::string_view text;

    explicit Key(std::string_view text_) : kind(TUTTI_OBJECT_STRING), text(text_) {}
    explicit Key(const Node& node);
    static Key signed_integer(int64_t value);
    static Key unsigned_integer(uint64_t value);

    bool operator==(const Key&) const = default;

private:
    Key(tutti_object_kind kind_, uint64_t bits_) : kind(kind_), bits(bits_) {}
};

uint64_t hash(const Key& key);
// "\"loss\"" or "-3", cut where it is long.
std::string describe(const Key& key);

}  // namespace tutti
