// Meeting without a store of the user's: rank 0 serves one, and an all-gather that the caller has
// tells the others where. Runs on the caller's thread; reads the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "store/store.hpp"

namespace tutti {

// Gives `size` bytes at `input`, receives those of all ranks, in their order, at `output`.
using AllGatherFunction = std::function<tutti_status(const void* input, void* output, size_t size)>;

// Calls `all_gather` once, on every rank, whatever fails here; then connects. Throws
// INVALID_ARGUMENT for what no all-gather returns, MISMATCH for ranks that disagree, and what the
// all-gather itself returned.
std::shared_ptr<Store> meet_by_all_gather(const AllGatherFunction& all_gather, int rank, int size,
                                          int64_t timeout_ms);

}  // namespace tutti
