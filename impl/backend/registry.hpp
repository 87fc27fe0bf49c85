// Backends by name, and the choice when none is named. Any thread.
#pragma once

#include <memory>
#include <string>

#include "backend.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"

namespace tutti {

// Called on every rank of a group, which outlives the backend.
using OpenBackend = std::unique_ptr<Backend> (*)(Membership& membership, const Deadline& deadline);

// What it can do when it is opened.
using DescribeBackend = Capabilities (*)();

// Adds one to those that are built in, until the end of the process. `name` is a literal of lower
// case that no other one has; it is opened for a group of one rank as well.
void register_backend(const char* name, OpenBackend open, DescribeBackend can);

bool is_backend_available(const std::string& name);

// The lower-case name of the backend that `name` stands for; "" stays: the ranks choose together.
// Settings may follow it, "name?setting=value". UNSUPPORTED, listing the backends, for an unknown
// name; INVALID_ARGUMENT for a setting that the backend does not have.
std::string resolve_backend(const std::string& name);

// The name of an existing backend, as a static string.
const char* static_backend_name(const std::string& name);

// What a backend of such a name can do here; of "", what every one can that may be chosen. Ranks
// compare it before they open one.
Capabilities capabilities_of(const std::string& name);

// Whether a backend, by such a name, joins threads of one process; else processes.
bool joins_threads(const std::string& name);

// `name` as resolve_backend() returned it; "" becomes shm if all ranks see each other's memory,
// hierarchy if some do, else gloo. All ranks call this. Local errors are thrown only here.
std::unique_ptr<Backend> make_backend(const std::string& name, Membership& membership,
                                      const Deadline& deadline);

}  // namespace tutti
