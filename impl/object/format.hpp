// The bytes of MessagePack (its specification, github.com/msgpack/msgpack/blob/master/spec.md), and
// of the extension that carries arrays (tutti/object.h describes it). Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::format {

enum Tag : uint8_t {
    fix_map = 0x80,     // to 0x8f
    fix_list = 0x90,    // to 0x9f
    fix_string = 0xa0,  // to 0xbf
    nil = 0xc0,
    no = 0xc2,
    yes = 0xc3,
    bytes_8 = 0xc4,
    bytes_16 = 0xc5,
    bytes_32 = 0xc6,
    extension_8 = 0xc7,
    extension_16 = 0xc8,
    extension_32 = 0xc9,
    float_32 = 0xca,
    float_64 = 0xcb,
    unsigned_8 = 0xcc,
    unsigned_16 = 0xcd,
    unsigned_32 = 0xce,
    unsigned_64 = 0xcf,
    signed_8 = 0xd0,
    signed_16 = 0xd1,
    signed_32 = 0xd2,
    signed_64 = 0xd3,
    fix_extension_1 = 0xd4,
    fix_extension_2 = 0xd5,
    fix_extension_4 = 0xd6,
    fix_extension_8 = 0xd7,
    fix_extension_16 = 0xd8,
    string_8 = 0xd9,
    string_16 = 0xda,
    string_32 = 0xdb,
    list_16 = 0xdc,
    list_32 = 0xdd,
    map_16 = 0xde,
    map_32 = 0xdf,
    fix_negative = 0xe0,  // to 0xff
};

// Types of extensions.
constexpr int8_t timestamp = -1;
constexpr int8_t array = 84;

// The header of an array, in front of its shape: dtype, dimensions, padding, 0.
constexpr size_t array_header = 4;
// The elements of an array begin at a multiple of this from the beginning of the message.
constexpr size_t array_alignment = 8;

}  // namespace tutti::format
