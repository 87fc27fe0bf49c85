// A store of PyTorch's as a store of tutti's, so that a group meets where torch's ranks meet.
#pragma once

#include <tutti/store.h>

#include "compat.hpp"

namespace tutti_torch {

// An owned store of tutti's. It keeps `store` until its last use, and may be used by any thread.
tutti_store* wrap_store(const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace tutti_torch
