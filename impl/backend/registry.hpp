// Backends by name, and the choice when none is named. Any thread.
#pragma once

#include <memory>
#include <string>

#include "backend.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"

namespace tutti {

// On every rank of a group, which lives longer.
using OpenBackend = std::unique_ptr<Backend> (*)(Membership& membership, const Deadline& deadline);

// Adds one to those that are built in, until the end of the process. `name` is a literal of lower
// case that no other one has; it is opened for a group of one rank as well.
void register_backend(const char* name, OpenBackend open);

bool is_backend_available(const std::string& name);

// The lower-case name of the backend that `name` stands for; "" stays: the ranks choose together.
// UNSUPPORTED, listing what there is, for a name that is not known.
std::string resolve_backend(const std::string& name);

// The name of a backend that there is, in memory that stays.
const char* static_backend_name(const std::string& name);

// Whether a backend, by such a name, joins threads of one process; else processes.
bool joins_threads(const std::string& name);

// `name` as resolve_backend() returned it; of "" comes shm if all ranks see each other's memory,
// hierarchy if some do, else gloo. All ranks call this; what one cannot do alone, it throws alone.
std::unique_ptr<Backend> make_backend(const std::string& name, Membership& membership,
                                      const Deadline& deadline);

}  // namespace tutti
