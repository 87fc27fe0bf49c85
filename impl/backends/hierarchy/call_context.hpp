// The context of one collective, shared by its steps inside the hosts and between them. On the
// stack of the thread that runs the collective; the steps throw what Team and Exchange throw.
#pragma once

#include <span>

#include "algorithm/algorithm.hpp"
#include "backends/shm/team.hpp"
#include "hosts.hpp"

namespace tutti::hierarchy {

struct CallContext {
    shm::Team* team;  // the ranks of this host; null where this one is alone
    const Hosts& hosts;
    Channel& channel;
    Fingerprint fingerprint;
    uint64_t sequence;
    Deadline deadline;
    Exchange::Step step;

    // Messages among these ranks, one of each host, in the order of the hosts, this one included.
    // Once per collective.
    [[nodiscard]] Exchange between(std::span<const int> ranks) const {
        return {channel, fingerprint, sequence, deadline, step, ranks};
    }
    // Among all ranks.
    [[nodiscard]] Exchange among_all() const {
        return {channel, fingerprint, sequence, deadline, step};
    }
};

using algorithm::Reduction;
using algorithm::reduction_of;

// A reduction in two parts: the first combines the inputs of a host's ranks, the second the results
// of hosts, which are float32 where the reduction accumulates in that. Reduction::finish() of the
// whole ends it, or round() to the dtype.
Reduction inside(const Reduction& reduction);
Reduction between(const Reduction& reduction);

// --- steps among the ranks of this host, by local rank: those of shm/collectives.hpp, also for a
// rank that is alone. `output` of a partial reduction is float32, and no input.

void reduce_inside(const CallContext& context, ConstBytes input, Bytes output, int local_rank,
                   const Reduction& reduction);
void broadcast_inside(const CallContext& context, Bytes data, int local_rank);
void reduce_scatter_inside(const CallContext& context, std::span<const ConstBytes> inputs,
                           Bytes output, const Reduction& reduction);
void all_gather_inside(const CallContext& context, ConstBytes input,
                       std::span<const Bytes> outputs);
void gather_inside(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs,
                   size_t longest, int local_rank);
void scatter_inside(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
                    size_t longest, int local_rank);

}  // namespace tutti::hierarchy
