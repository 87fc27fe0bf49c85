// The collectives over shared memory, each in a file of its name: what a rank stages in each step,
// and what it does with what the others have posted. On the thread of the call; they throw what
// Team throws.
#pragma once

#include "team.hpp"

namespace tutti::shm {

// Whether run() serves the call; the same on all ranks.
bool serves(const Collective& call);
void run(Team& team, const Collective& call);

// Ranks make memory and map each other's, if all have some and all can; who is without is counted
// in the team.
void alloc(Team& team, const Alloc& call);
// The steps of that. Ranks of one host may want more together than there is, which none sees from
// what it wants itself: then all refuse, for the sake of the one that wants most.
void refuse_excess(Team& team, const Alloc& call);
void share(Team& team, const Alloc& call);
void barrier(Team& team);
void broadcast(Team& team, Bytes data, int source);
void all_reduce(Team& team, const AllReduce& call);
void all_reduce_addends(Team& team, const AllReduceAddends& call);
void reduce(Team& team, const Reduce& call);
void reduce_scatter(Team& team, std::span<const ConstBytes> inputs, const View& output,
                    const ReduceOp& op);
// The lengths may differ.
void all_gather(Team& team, ConstBytes input, std::span<const Bytes> outputs);
// The lengths may differ, and each rank knows its own and the longest.
void gather(Team& team, ConstBytes input, std::span<const Bytes> outputs, size_t longest,
            int destination);
void scatter(Team& team, std::span<const ConstBytes> inputs, Bytes output, size_t longest,
             int source);
// All of one length.
void scatter_evenly(Team& team, std::span<const ConstBytes> inputs, Bytes output, int source);
void all_to_all(Team& team, std::span<const ConstBytes> inputs, std::span<const Bytes> outputs);
void parcels(Team& team, const Parcels& call);
// A parcel that came to the root from elsewhere: from that rank of the group.
void broadcast_parcel(Team& team, const Parcels& call, int origin);

}  // namespace tutti::shm
