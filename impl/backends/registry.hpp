// Backends by name, and the choice when none is named. Any thread.
#pragma once

#include <memory>
#include <string>

#include "backend/backend_place.hpp"

namespace tutti {

// Adds one to those that are built in, until the end of the process. INVALID_ARGUMENT if the name,
// in lower case, is taken. It is opened for a group of one rank as well.
void register_backend(const std::string& name, OpenBackend open, DescribeBackend can);

// Why no group can be made with it; OK if one can. A library of that name is loaded.
Status why_not_available(const std::string& name);

// The lower-case name of the backend that `name` stands for, with its settings, "a?b=c"; "" stays:
// the ranks choose together. Where none is known, a library of that name is loaded. UNSUPPORTED,
// listing the backends, for an unknown name; INVALID_ARGUMENT for a setting that the backend does
// not have. Below, `name` is as this returned it.
std::string resolve_backend(const std::string& name);

// Without the settings, as a static string.
const char* static_backend_name(const std::string& name);

// The capabilities of a backend here; of "", of every one that may be chosen. Ranks
// compare it before they open one.
Capabilities capabilities_of(const std::string& name);

// What follows the name: "a=b&c=d".
std::string settings_of(const std::string& name);

// Whether ranks of a group of a backend, by such a name, may be of other libraries.
bool has_foreign_peers(const std::string& name);

// Whether a backend, by such a name, joins threads of one process; else processes.
bool joins_threads(const std::string& name);

// "" chooses: shm if all ranks see each other's memory, hierarchy if some do, else gloo. All ranks
// call this. Local errors are thrown only here.
std::unique_ptr<Backend> make_backend(const std::string& name, BackendPlace place);

}  // namespace tutti
