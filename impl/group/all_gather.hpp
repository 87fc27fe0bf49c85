// Bootstrap without a store of the user's: rank 0 serves one, and the caller's all-gather tells the
// others where. Runs on the caller's thread; reads the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"
#include "store/store.hpp"

namespace tutti {

// Gives `size` bytes at `input`, receives those of all ranks, in their order, at `output`.
using AllGatherFunction = std::function<Status(const void* input, void* output, size_t size)>;

// Calls `all_gather` once, on every rank, whatever fails here; then connects. Throws
// INVALID_ARGUMENT for results that no all-gather returns, MISMATCH for ranks that disagree, and
// the failure of the all-gather itself.
std::shared_ptr<Store> make_store_by_all_gather(const AllGatherFunction& all_gather, int rank,
                                                int size, int64_t timeout_ms);

}  // namespace tutti
