// A store that a process serves at a free port for others, which learn its place in some way of
// their own. The caller's thread; reads the environment.
#pragma once

#include <cstdint>
#include <memory>

#include "base/deadline.hpp"
#include "membership/invitation.hpp"
#include "store/store.hpp"

namespace tutti {

struct ServedStore {
    std::shared_ptr<Store> store;
    // Its addresses, and a token by which it proves that it is this store: the same address may
    // lead elsewhere from another host.
    membership::Invitation place;
};

ServedStore serve_store(const Deadline& deadline);

// The store of rank `place.rank` at that place. Throws NETWORK if none of its addresses leads to
// it. `refused_ms`: how long the network may refuse, though the store has been there before.
std::shared_ptr<Store> find_store(const membership::Invitation& place, int64_t refused_ms,
                                  const Deadline& deadline);

}  // namespace tutti
