// A connection carries heads, each with the data of its message behind it. Little endian,
// as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/plain.hpp"

namespace tutti::tcp {

enum class Kind : uint32_t {
    Message = 1,  // a short message, sent unasked
    Offer,        // of a message with that length, which its sender keeps until it is accepted
    Accept,       // of the offer with that id: its data are awaited
    Taken,        // the Message or the offer with that id: its sender is done with it
    Data,         // of an accepted offer; none if the sender has taken it back
    Part,         // or so much of them, from the byte `slot` on, on any connection
    TakeBack,     // Messages in that slot that no receive has taken are empty
    Return,       // the Message with that id as well: asked for,
    Returned,     // and answered, unless it was taken
    Goodbye,      // the sender leaves that group
    Credit,       // nothing else
};

struct Head {
    uint64_t slot;    // of a Part: where it begins; of Data: whether they are withdrawn
    uint64_t length;  // bytes
    uint32_t group;   // the id in the world
    uint32_t id;      // of a Message or an offer, by its sender; 0: nobody waits until it is taken
    uint32_t credit;  // bytes of Messages that the receiver of this may send more
    Kind kind;

    // Data that never come, for their sender has taken them back.
    static constexpr uint64_t withdrawn = 1;  // as `slot`
    [[nodiscard]] bool is_withdrawn() const {
        return kind == Kind::Data && length == 0 && slot == withdrawn;
    }
};
static_assert(sizeof(Head) == 32 && Plain<Head>);

// The longest Message, and what a rank may send in Messages before the other one has taken them:
// that much memory they can take there.
constexpr size_t eager_bytes = size_t{64} * 1024;
constexpr uint32_t window_bytes = 1024 * 1024;
// Long data go in parts, so that others need not wait for all of them: over several connections,
// from so many bytes on, in short ones; over one in long ones.
constexpr size_t part_bytes = size_t{128} * 1024;
constexpr size_t divided_bytes = 2 * part_bytes;
constexpr size_t long_part_bytes = size_t{1024} * 1024;
// Bytes of one call on a connection while data are to come the other way, or on other connections,
// so that these have their turn.
constexpr size_t max_at_once = size_t{512} * 1024;
constexpr uint32_t charge_of(uint64_t length) {
    return static_cast<uint32_t>(sizeof(Head) + length);
}

}  // namespace tutti::tcp
