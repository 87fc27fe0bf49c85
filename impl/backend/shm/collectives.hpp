// The collectives over shared memory, each in a file of its name: what a rank stages in each step,
// and what it does with what the others have posted. On the thread of the call; they throw what
// Team throws.
#pragma once

#include "algorithm/reduction.hpp"
#include "call/byte_strings.hpp"
#include "call/flat.hpp"
#include "team.hpp"

namespace tutti::shm {

// What runs such a call over shared memory, the same on all ranks; null: nothing does, and it takes
// the channel.
using Server = void (*)(Team& team, const FlatCall& call);
Server server_of(const FlatCall& call);

// Ranks make memory and map each other's, if all have some and all can; who is without is counted
// in the team.
void alloc(Team& team, const Alloc& call);
// The steps of that. Ranks of one host may want more together than there is, which none sees from
// what it wants itself: then all refuse, for the sake of the one that wants most.
void refuse_excess(Team& team, const Alloc& call);
void share(Team& team, const Alloc& call);
void barrier(Team& team);
void broadcast(Team& team, Bytes data, int source);
// `output` may be `input`.
void all_reduce(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction);
void all_reduce_addends(Team& team, std::span<const ConstBytes> inputs, Bytes output,
                        const algorithm::Reduction& reduction);
// `output` is of account at the destination only.
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
// Of any lengths, which ranks first show each other. Throws MISMATCH, on all ranks the same, if one
// gives another less or more than that expects. `in_place`: outputs take the place of inputs.
void uneven_all_to_all(Team& team, std::span<const ConstBytes> inputs,
                       std::span<const Bytes> outputs, bool in_place, tutti_dtype dtype);
void byte_strings(Team& team, const ByteStrings& call);
// A byte string that came to the root from elsewhere: from that rank of the group.
void broadcast_byte_string(Team& team, const ByteStrings& call, int origin);

}  // namespace tutti::shm
