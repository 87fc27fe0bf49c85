// The offers of the other side that this one has accepted, until all of their data have come. The
// data of one come in one piece, or in parts on any of the connections. The lock of the pool guards
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "base/keyed_queues.hpp"
#include "frame.hpp"
#include "request.hpp"

namespace tutti::tcp {

struct Accepted {
    uint32_t id;
    uint32_t group;
    size_t length;
    Request* request;    // null: it was withdrawn
    size_t awaited = 0;  // bytes of parts that have begun
    size_t arrived = 0;  // and ended
    QueuePlace<Accepted> by_id{};
    std::list<Accepted>::iterator place{};

    [[nodiscard]] bool may_come_in_parts() const { return length >= divided_bytes; }
};

// A part that comes in, and the place of its data.
struct Arriving {
    Accepted* of = nullptr;
    size_t offset = 0;
    size_t left = 0;

    // Null: the data are dropped, for their receive was withdrawn.
    [[nodiscard]] std::byte* into() const {
        return of == nullptr || of->request == nullptr ? nullptr : of->request->data + offset;
    }
    void pass(size_t bytes) {
        offset += bytes;
        left -= bytes;
    }
};

class AcceptedOffers {
public:
    [[nodiscard]] bool empty() const { return accepted_.empty(); }
    void add(Request& request, uint32_t id, size_t length);
    // All data of one come at once. The offer ends here; nothing: they were not awaited so.
    struct Whole {
        Request* request;  // null: it was withdrawn
    };
    [[nodiscard]] std::optional<Whole> begin_whole(const Head& head);
    // Nothing: it is no part that was awaited.
    [[nodiscard]] std::optional<Arriving> begin_part(const Head& head);
    // With the last one its receive is done.
    void end_part(Accepted& of, size_t bytes);
    // The receive leaves; its data are dropped. False: it has accepted no offer.
    bool release(Request& request) noexcept;

    // Whether data may come on other connections than the first one.
    [[nodiscard]] bool may_come_in_parts() const { return long_ones_ > 0; }
    // Whether there are data whose first part has come, on the first connection; those of a group,
    // if one is given.
    [[nodiscard]] bool are_coming_in_parts(const uint32_t* group = nullptr) const;
    // All requests lose their link.
    void clear() noexcept;

private:
    void remove(Accepted& accepted) noexcept;

    std::list<Accepted> accepted_;
    KeyedQueues<Accepted, &Accepted::by_id> by_id_;
    size_t long_ones_ = 0;  // They may come in parts.
};

}  // namespace tutti::tcp
