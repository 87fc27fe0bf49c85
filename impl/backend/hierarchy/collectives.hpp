// The collectives over several hosts, each in a file of its name: what goes on inside the hosts,
// and what between them. On the thread of the call; they throw what Team and Exchange throw.
#pragma once

#include "trip.hpp"

namespace tutti::hierarchy {

// Over hosts where that serves the call, else over the channel among all ranks.
void run(const Trip& trip, const Collective& call);

void barrier(const Trip& trip);
void broadcast(const Trip& trip, const Broadcast& call);
void all_reduce(const Trip& trip, const AllReduce& call);
void reduce(const Trip& trip, const Reduce& call);
// Lists are by rank, and the lengths may differ. `is_whole`: the pieces follow each other in
// memory, on all ranks.
void all_gather(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs, bool is_whole);
void reduce_scatter(const Trip& trip, std::span<const ConstBytes> inputs, const View& output,
                    const ReduceOp& op, bool is_whole);
void gather(const Trip& trip, const Gather& call);
void scatter(const Trip& trip, const Scatter& call);
void all_to_all(const Trip& trip, const AllToAllSingle& call);
void broadcast_parcel(const Trip& trip, const Parcels& call);

}  // namespace tutti::hierarchy
