// Where a backend is opened, and the functions that open and describe it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "store/store.hpp"

namespace tutti {

// Where a backend is opened: on every rank of a group, which outlives the backend.
struct BackendPlace {
    Membership& membership;
    Deadline deadline;
    std::shared_ptr<Store> store{};  // of all groups of the world; null: none
    Device device{};                 // that it is to serve first
    bool is_bound = false;           // to that device, with all calls of this rank
    std::string group_name{};        // for people
    const char* name = nullptr;      // of the backend, static; set by the registry, as is
    std::string settings{};          // "a=b&c=d"
};
using OpenBackend = std::function<std::unique_ptr<Backend>(const BackendPlace& place)>;

// Its capabilities with such settings. INVALID_ARGUMENT for a setting that it does not have.
using DescribeBackend = std::function<Capabilities(const std::string& settings)>;

}  // namespace tutti
