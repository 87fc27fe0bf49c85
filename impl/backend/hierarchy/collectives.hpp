// The collectives over several hosts, each in a file of its name: what goes on inside the hosts,
// and what between them. On the thread of the call; they throw what Team and Exchange throw.
#pragma once

#include "trip.hpp"

namespace tutti::hierarchy {

// Over hosts where that serves the call, else over the channel among all ranks.
void run(const Trip& trip, const FlatCall& call);

void barrier(const Trip& trip);
void broadcast(const Trip& trip, Bytes data, int root);
// `output` may be `input`.
void all_reduce(const Trip& trip, ConstBytes input, Bytes output, const Reduction& reduction);
// `output` is of account on the root only.
void reduce(const Trip& trip, ConstBytes input, Bytes output, int root, const Reduction& reduction);
// Lists are by rank, and the lengths may differ. `is_whole`: the pieces follow each other in
// memory, on all ranks.
void all_gather(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs, bool is_whole);
void reduce_scatter(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction, bool is_whole);
// All of one length; the lists are on the root.
void gather(const Trip& trip, ConstBytes input, std::span<const Bytes> outputs, int root);
void scatter(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output, int root);
// All of one length. `in_place`: the outputs take the place of the inputs.
void all_to_all(const Trip& trip, std::span<const ConstBytes> inputs,
                std::span<const Bytes> outputs, bool in_place);
void broadcast_byte_string(const Trip& trip, const ByteStrings& call);

}  // namespace tutti::hierarchy
