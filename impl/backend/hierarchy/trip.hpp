// One collective on its way inside the hosts and between them: what every step of it goes by. On
// the stack of the thread that runs the collective; the steps throw what Team and Exchange throw.
#pragma once

#include <span>

#include "algorithm/algorithm.hpp"
#include "backend/shm/team.hpp"
#include "hosts.hpp"

namespace tutti::hierarchy {

struct Trip {
    shm::Team* team;  // the ranks of this host; nothing where this one is alone
    const Hosts& hosts;
    Channel& channel;
    Fingerprint fingerprint;
    uint64_t number;
    Deadline deadline;
    Exchange::Step step;

    // Messages among these ranks, one of each host, in the order of the hosts; of which this is
    // one. Once in a trip.
    [[nodiscard]] Exchange between(std::span<const int> ranks) const {
        return {channel, fingerprint, number, deadline, step, ranks};
    }
    // Among all ranks.
    [[nodiscard]] Exchange among_all() const {
        return {channel, fingerprint, number, deadline, step};
    }
};

using algorithm::Reduction;
using algorithm::reduction_of;

// A reduction that is taken apart: what the ranks of a host bring is combined with one, what comes
// of that between hosts with the other, and Reduction::finish() of the whole ends it.
Reduction inside(const Reduction& reduction);
Reduction between(const Reduction& reduction);

// --- steps among the ranks of this host, who are counted by their places: those of
// shm/collectives.hpp, also where a rank is alone

void reduce_inside(const Trip& trip, ConstBytes input, Bytes output, int place,
                   const Reduction& reduction);
void broadcast_inside(const Trip& trip, Bytes data, int place);
void reduce_scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                           const Reduction& reduction);
void all_gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs);
void gather_inside(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs,
                   size_t longest, int place);
void scatter_inside(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                    size_t longest, int place);

}  // namespace tutti::hierarchy
