// A group's calls as the flight recorder has them, and as those hear of them who watch. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "call/flat.hpp"
#include "call/message.hpp"
#include "core.hpp"
#include "record/recorder.hpp"

namespace tutti {

// How a call is issued, as far as its record says.
struct CallNote {
    int64_t timeout_ms = 0;     // 0: the group's; -1: never
    std::string_view tag = {};  // what the program calls it
    bool is_in_background = false;
};

// The timeout that a deadline was made from.
inline int64_t timeout_of(const Deadline& deadline) {
    return deadline.timeout_ms() == 0 ? -1 : deadline.timeout_ms();
}

// The record of a call that waits for its turn.
record::Call record_of(const FlatCall& call, const GroupCore& group, const CallNote& note);
// The same of one that moves nothing.
record::Call record_of(const Fingerprint& call, const GroupCore& group, const CallNote& note);
// The record of a message, which waits for no turn.
record::Call record_of(const Send& call, const GroupCore& group, const CallNote& note);
record::Call record_of(const Receive& call, const GroupCore& group, const CallNote& note);
// The record of a step that all ranks of a group take together, such as a split. `what`: a text.
record::Call record_of(record::Kind kind, const GroupCore& group, int64_t timeout_ms,
                       std::string_view what = {});

}  // namespace tutti
