// The rendezvous of the default group's ranks: an init method ("env://", "tcp://host:port",
// "file:///path") becomes a store, a rank and a world size. Runs on the caller's thread; reads the
// environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "store/store.hpp"
#include "tutti/types.h"

namespace tutti {

struct Rendezvous {
    std::shared_ptr<Store> store;  // under torch's prefix of the default group
    int rank = 0;
    int world_size = 1;
    int64_t timeout_ms = 0;  // of making the group, and its default; -1: never
    // Another store at the same place, where the first one's server has gone before all were there:
    // it was that of an earlier run. Empty where a server that goes has gone for good.
    std::function<std::shared_ptr<Store>(const Deadline&)> meet_again = {};
};

// The store behind a handle that a way to meet from outside has made, which is given back.
using AdoptStore = std::function<std::shared_ptr<Store>(tutti_store*)>;

// Rank and world size may be arguments (-1: not given), in the URL, or, with env://, in the
// environment, in this order; the timeout an argument (0: not given) or in the URL, else it is the
// default. An argument and the URL must agree. The timeout bounds the connecting and becomes the
// store's own. INVALID_ARGUMENT names the argument, the variable or the part of the URL that is
// missing, malformed or in conflict.
// Other schemes than ours are those from outside (schemes.hpp).
Rendezvous rendezvous(const std::string& init_method, int rank, int world_size, int64_t timeout_ms,
                      const AdoptStore& adopt);

// Throws INVALID_ARGUMENT naming the malformed variable of tutti, or of torch: before any rank
// connects, so that none waits for one that cannot.
void check_environment();

}  // namespace tutti
