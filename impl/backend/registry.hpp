// Backends by name, and the choice when none is named. Any thread.
#pragma once

#include <memory>
#include <string>

#include "backend.hpp"
#include "base/deadline.hpp"
#include "store/store.hpp"

namespace tutti {

bool is_backend_available(const std::string& name);

// The lower-case name of the backend that `name` stands for; "" stays: the ranks choose together.
// UNSUPPORTED, listing what there is, for a name that is not known.
std::string resolve_backend(const std::string& name);

// The name of a backend that there is, in memory that stays.
const char* static_backend_name(const std::string& name);

// Meets the other ranks at the store and connects to them. `name` as resolve_backend() returned it;
// of "" comes shm if all ranks see each other's memory, hierarchy if some do, else gloo.
std::unique_ptr<Backend> make_backend(const std::string& name, const std::shared_ptr<Store>& store,
                                      int rank, int size, const Deadline& deadline);

}  // namespace tutti
