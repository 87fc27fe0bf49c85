// Every algorithm, once, over a Channel's messages. Each has a file of its own name; select.cpp
// says which serves which call. They run on the thread of the caller or of the group and throw what
// Exchange throws.
#pragma once

#include <cstddef>
#include <span>

#include "backend/call/call.hpp"
#include "exchange.hpp"

namespace tutti::algorithm {

// Runs the collective with the algorithm that suits its size and the number of ranks.
void run(Channel& channel, const Collective& call, uint64_t number, const Deadline& deadline);

// log2(ranks) rounds; in round k everyone signals the rank 2^k further on.
void dissemination_barrier(Exchange& exchange);

// A binomial tree from `root`, cut into segments that follow each other down the tree.
void tree_broadcast(Exchange& exchange, std::span<std::byte> data, int root);

// log2(ranks) rounds of exchanging everything with a partner: few messages, for short data.
void recursive_doubling_all_reduce(Exchange& exchange, const AllReduce& call);

// Around the ring twice, each time a 1/ranks part at a step: every byte travels twice, for long
// data.
void ring_all_reduce(Exchange& exchange, const AllReduce& call);

}  // namespace tutti::algorithm
