// Every algorithm, over a Channel's messages. Each has a file of its own name; select.cpp chooses
// by size. They run on the thread of the caller or of the group and throw what Exchange throws.
// Lists of memory are in rank order.
#pragma once

#include <functional>

#include "call/byte_strings.hpp"
#include "call/flat.hpp"
#include "exchange.hpp"
#include "parts.hpp"
#include "reduction.hpp"

namespace tutti::algorithm {

// --- calls (run.cpp)

// Runs the collective with the algorithms that suit its size and the number of ranks. `past`: those
// before it, over this channel.
void run(Channel& channel, const FlatCall& call, uint64_t sequence, const Deadline& deadline,
         const PastCalls& past = no_past_calls);

// The same on an existing Exchange; not for coalesced calls.
void run(Exchange& exchange, const FlatCall& call);
// The call in a group of one rank.
void run_alone(const FlatCall& call);

// Runs the coalesced calls in turn, each with an Exchange of its own; short calls of one kind share
// one.
void run_coalesced(Channel& channel, const FlatCall& coalesced, uint64_t sequence,
                   const Deadline& deadline, const PastCalls& past);

// The same for a backend that runs a call in its own way: run_one(call, fingerprint, step). The
// call may be several merged ones; fingerprint and step are for its Exchange.
using RunOne = std::function<void(const FlatCall&, const Fingerprint&, const Exchange::Step&)>;
void run_coalesced(const FlatCall& coalesced, const PastCalls& past, const RunOne& run_one);

// --- chosen by size and number of ranks (select.cpp); contracts as below

void broadcast(Exchange& exchange, Bytes data, int root);
// `output` may be `input`.
void all_reduce(Exchange& exchange, ConstBytes input, Bytes output, const Reduction& reduction);
void reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
            const Reduction& reduction);
// `input` may be this rank's output.
void all_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs);
void gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root);
void scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output, int root);
void reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction);
// `in_place`: the outputs take the place of the inputs. `are_even`: all pieces have one size.
void all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                std::span<const Bytes> outputs, bool in_place, bool are_even);

// --- barrier

// log2(ranks) rounds; in round k everyone signals the rank 2^k further on.
void dissemination_barrier(Exchange& exchange);

// --- alloc: no rank sees another one's memory

void alloc(Exchange& exchange, const Alloc& call);
void alloc_alone(const Alloc& call);

// --- byte strings whose sizes only their owners know

void byte_strings(Exchange& exchange, const ByteStrings& call);
void byte_strings_alone(const ByteStrings& call);

// --- broadcast

// A binomial tree from `root`, cut into segments that follow each other down the tree.
void tree_broadcast(Exchange& exchange, Bytes data, int root);

// From `root` to each rank: one message on the way, for short data and few ranks.
void direct_broadcast(Exchange& exchange, Bytes data, int root);

// --- all_reduce: in place; all ranks get the same bits

// log2(ranks) rounds of exchanging everything with a partner: few messages, for short data.
void recursive_doubling_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction);

// Around the ring twice, each time a 1/ranks part at a step: every byte travels twice, for long
// data.
void ring_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction);

// Short data from all to all; of long data every rank receives all inputs of a part. All inputs are
// combined at once, in rank order: for reproducible groups, where the bits depend on it.
void ordered_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction);

// The same with several inputs per rank, or none: counts[rank], the same list on all ranks.
// `output` may be one of them; AVG divides by their number. Without any input the result is 0.
void ordered_all_reduce(Exchange& exchange, std::span<const ConstBytes> inputs,
                        std::span<const size_t> counts, Bytes output, const Reduction& reduction);
// The same where each rank knows only its own number of inputs.
void all_reduce_addends(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                        const Reduction& reduction);
void all_reduce_addends_alone(std::span<const ConstBytes> inputs, Bytes output,
                              const Reduction& reduction);

// Functions that do not commute take recursive_doubling_all_reduce, which combines neighbouring
// ranks only, and the ordered_ algorithms.

// --- reduce: `output` matters on `root` only, and may be `input`

// Up a binomial tree, in segments that follow each other: for two ranks, and for short data.
void tree_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction);

// Short data straight to the root; of long data every rank receives all inputs of a part, and sends
// their sums to the root: all at once, in rank order.
void ordered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                    const Reduction& reduction);

// ring_reduce_scatter of even parts, and their sums to the root: for long data.
void ring_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction);

// --- all_gather: parts[rank] is the input, the others are received; sizes may differ

// log2(ranks) rounds, in each of which a rank's data double: for short data.
void bruck_all_gather(Exchange& exchange, std::span<const Bytes> parts);

// Around the ring, a part at a step: every part arrives where it stays, for long data.
void ring_all_gather(Exchange& exchange, std::span<const Bytes> parts);

// --- gather: `outputs` on `root` only, where one may be `input`

// Up a binomial tree, all of a subtree in one message; all inputs have one size: for short data.
void tree_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root);

// Straight to the root; sizes may differ.
void direct_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root);

// --- scatter: `inputs` on `root` only, where one may be `output`

// Down a binomial tree; all inputs have one size: for short data.
void tree_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output, int root);

// Straight from the root.
void direct_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output, int root);

// --- reduce_scatter: `output` may be inputs[rank]; sizes may differ

// log2(ranks) rounds, in each of which a rank's remaining work halves: for short data.
void recursive_halving_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs,
                                      Bytes output, const Reduction& reduction);

// Every rank gives every other its part, in pieces that are combined at once, in the order of the
// ranks.
void ordered_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                            const Reduction& reduction);

// Around the ring once, a part at a step: two neighbours only, for long data.
void ring_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                         const Reduction& reduction);

// --- all_to_all: no output is an input

// Every rank with every other, directly; sizes may differ, and ranks that disagree get an error.
void pairwise_all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                         std::span<const Bytes> outputs);

// log2(ranks) rounds of half of the data each; all pieces have one size: for short data.
void bruck_all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                      std::span<const Bytes> outputs);

}  // namespace tutti::algorithm
