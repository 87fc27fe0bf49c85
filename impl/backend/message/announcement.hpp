// What travels in front of a message, and the message itself if it is short. Little endian, as it
// is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/call/message.hpp"

namespace tutti {

struct Announcement {
    struct Header {
        int64_t count;    // elements
        uint64_t number;  // of the slot of the data, if they do not follow here
        uint32_t dtype;
        Content content;
        uint64_t reserved;
    };
    static constexpr size_t eager_bytes = 4096 - sizeof(Header);

    Header header;
    std::array<std::byte, eager_bytes> data;

    // Bytes of the data that follow in the announcement.
    static size_t eager(size_t bytes) { return bytes <= eager_bytes ? bytes : 0; }
};

}  // namespace tutti
