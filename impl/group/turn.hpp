// The turn of a collective: collectives run one after the other, in an order that all ranks share.
// The caller's thread.
#pragma once

#include <utility>

#include "base/error.hpp"
#include "group.hpp"

namespace tutti {

// A turn that does not come in time ends the group, and with it what is in front.
template <typename Job>
void Group::take_turn(const Fingerprint& call, const Deadline& until, Job&& job) {
    Status late;
    const auto in_turn = [&](uint64_t sequence) {
        if (!late.ok()) throw Error(late);
        job(sequence);
    };
    ticket_queue_->run(until, in_turn, [&](uint64_t sequence) {
        late = fail({TUTTI_ERR_TIMEOUT, -1, 0,
                     "timed out waiting for this rank's earlier collectives to end"},
                    call, sequence, false);
    });
}

// A collective that ends in its turn. Its failure is the group's.
template <typename Job>
void Group::run_in_turn(const Fingerprint& call, const Deadline& until, Job&& job) {
    take_turn(call, until, [&](uint64_t sequence) {
        const InOperation inside(as_operator());
        try {
            check_turn();
            prepare(call, sequence, until);
            job(sequence);
        } catch (...) {
            throw Error(fail(current_status(), call, sequence));
        }
        membership_->ended(sequence);
    });
}

}  // namespace tutti
