// Bytes between ranks, of pieces that follow each other in memory. Where MPI's int does not reach,
// every pair of ranks exchanges its piece as one count of a type made for it.
#pragma once

#include <cstdint>
#include <vector>

#include "ranks.hpp"

namespace tutti::mpi {

// `bytes` are those of each rank.
void move_to_all(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                 const std::vector<int64_t>& bytes);
void move_to_root(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                  const std::vector<int64_t>& bytes, int root);
void move_from_root(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                    const std::vector<int64_t>& bytes, int root);
// `max_of_any_rank`: bytes, the same on all ranks; -1: only pairs of ranks know their sizes.
void move_between_all(const Ranks& ranks, InFlight& flight, const char* from,
                      const std::vector<int64_t>& sends, char* to,
                      const std::vector<int64_t>& receives, int64_t max_of_any_rank);

}  // namespace tutti::mpi
