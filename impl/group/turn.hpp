// The turn of a collective: collectives run one after the other, in an order that all ranks share.
// The caller's thread.
#pragma once

#include <utility>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "compare_calls.hpp"
#include "core.hpp"
#include "record/recorder.hpp"

namespace tutti {

// A turn that does not come in time ends the group, and with it what is in front.
template <typename Job>
void take_turn(GroupCore& group, const Fingerprint& call, const Deadline& until, Job&& job) {
    Status late;
    const auto in_turn = [&](uint64_t sequence) {
        if (!late.ok()) throw Error(late);
        job(sequence);
    };
    group.ticket_queue->run(until, in_turn, [&](uint64_t sequence) {
        late = group.fail({TUTTI_ERR_TIMEOUT, -1, 0,
                           "timed out waiting for this rank's earlier collectives to end"},
                          {call, sequence}, false);
    });
}

// Before a collective moves anything, in its turn. Throws the reason why it must not.
inline void begin_turn(GroupCore& group, const Fingerprint& call, uint64_t sequence,
                       const Deadline& until) {
    group.life.check_turn();
    if (group.identity.compares_first) compare_calls(group, call, sequence, until);
}

// A collective that ends in its turn. Its failure is the group's.
template <typename Job>
void run_in_turn(GroupCore& group, const Fingerprint& call, const Deadline& until,
                 record::Call& recorded, Job&& job) {
    take_turn(group, call, until, [&](uint64_t sequence) {
        const InOperation inside(group.identity.as);
        try {
            recorded.start(sequence, false);
            begin_turn(group, call, sequence, until);
            job(sequence);
        } catch (...) {
            throw Error(group.fail(current_status(), {call, sequence, recorded.tag()}));
        }
        group.membership->ended(sequence);
    });
}

}  // namespace tutti
