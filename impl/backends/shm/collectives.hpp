// The collectives over shared memory, each in a file of its name: a rank stages a piece in each
// step, and uses the pieces that the others have posted. On the thread of the call; they throw what
// Team throws.
#pragma once

#include "algorithm/reduction.hpp"
#include "call/byte_strings.hpp"
#include "call/flat.hpp"
#include "team.hpp"

namespace tutti::shm {

// The function that runs such a call over shared memory, the same on all ranks; null: it takes the
// channel.
using Server = void (*)(Team& team, const FlatCall& call);
Server handler_for(const FlatCall& call);

// Ranks make memory and map each other's, if all have some and all can; the first rank without is
// named by its index in the team.
void alloc(Team& team, const Alloc& call);
// Its last step, when every rank has memory.
void share(Team& team, const Alloc& call);
void barrier(Team& team);
void broadcast(Team& team, Bytes data, int source);
// `output` may be `input`.
void all_reduce(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction);
void all_reduce_addends(Team& team, std::span<const ConstBytes> inputs, Bytes output,
                        const algorithm::Reduction& reduction);
// `output` matters at the destination only. Of a partial reduction the output of this and of
// reduce_scatter() is float32, and not an input; this is for short data, then.
void reduce(Team& team, ConstBytes input, Bytes output, int destination,
            const algorithm::Reduction& reduction);
void reduce_scatter(Team& team, std::span<const ConstBytes> inputs, Bytes output,
                    const algorithm::Reduction& reduction);
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
// Pieces of any lengths, which ranks first exchange. Throws MISMATCH, the same on all ranks, if two
// of them disagree. `in_place`: outputs take the place of inputs.
void uneven_all_to_all(Team& team, std::span<const ConstBytes> inputs,
                       std::span<const Bytes> outputs, bool in_place, tutti_dtype dtype);
void byte_strings(Team& team, const ByteStrings& call);
// A byte string that the root received from that rank of the group.
void broadcast_byte_string(Team& team, const ByteStrings& call, int origin);

}  // namespace tutti::shm
