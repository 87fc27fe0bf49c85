// The making of a first group: its ranks meet at a store and open the backends that they share. The
// caller's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/backend_map.hpp"
#include "call/view.hpp"
#include "core.hpp"
#include "store/store.hpp"

namespace tutti {

struct GroupOptions {
    std::string backend;  // one name, or one for each type of device: "cpu:gloo,cuda:nccl"
    std::optional<BackendMap> map{};  // in the place of `backend`
    std::shared_ptr<Store> store;
    int rank = 0;
    int size = 1;
    std::string name;
    int64_t timeout_ms = 1'800'000;  // -1: never
    bool reproducible = false;       // the same on all ranks
    Device bound{};                  // the one device of this rank's calls; the CPU: none
};

// Returns when all ranks are there.
GroupParts make_first_group(const GroupOptions& options);

}  // namespace tutti
