// The sends whose data go in parts, on any of the connections to a rank. The lock of the pool
// guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include "frame.hpp"
#include "request.hpp"

namespace tutti::tcp {

// An offer that the other side has accepted, and whose data go in parts.
struct Divided {
    uint32_t id;
    std::span<const std::byte> rest;  // no connection has it yet
    Request* request;                 // null: its owner has released it; the data are in the copy
    size_t parts_under_way = 0;
    std::unique_ptr<std::byte[]> copy{};
    std::list<Divided>::iterator place{};

    [[nodiscard]] bool has_rest() const { return !rest.empty(); }
};

// One part on its way.
struct Part {
    Head head{};
    std::span<const std::byte> data{};
    Divided* of = nullptr;
};

class Divisions {
public:
    [[nodiscard]] bool empty() const { return divided_.empty(); }
    // Whether there is a part that no connection has yet.
    [[nodiscard]] bool has_rest() const {
        return std::ranges::any_of(divided_, &Divided::has_rest);
    }
    Divided& add(uint32_t id, Request& request);
    // The next part, of up to `max_bytes`; nothing: there is none.
    [[nodiscard]] std::optional<Part> next(size_t max_bytes);
    [[nodiscard]] static Part next_of(Divided& of, size_t max_bytes);
    // One of its parts has been sent. After the last one its request is done.
    void sent(Divided& of);
    // The rest goes from a copy, and the request leaves. Parts that connections have must be moved
    // to the copy. False: no memory is left.
    [[nodiscard]] static bool release_request(Divided& of) noexcept;
    // All requests lose their link.
    void clear() noexcept;

private:
    std::list<Divided> divided_;
};

}  // namespace tutti::tcp
