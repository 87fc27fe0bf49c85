// Where the ranks of the default group meet: an init method ("env://", "tcp://host:port",
// "file:///path") becomes a store, a rank and a world size. Runs on the caller's thread; reads the
// environment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/store.hpp"

namespace tutti {

struct Meeting {
    std::shared_ptr<Store> store;  // under torch's prefix of the default group
    int rank = 0;
    int world_size = 1;
};

// `rank` and `world_size`: -1 takes them from the init method. `timeout_ms` bounds the connecting
// and becomes the store's own; -1 is never. INVALID_ARGUMENT names the argument, the variable or
// the part of the URL that is missing or malformed.
Meeting meet(const std::string& init_method, int rank, int world_size, int64_t timeout_ms);

}  // namespace tutti
