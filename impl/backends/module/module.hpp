// Backends from outside, by the table of tutti/ext.h. Any thread.
#pragma once

#include "backend/backend_place.hpp"
#include "ext/tables.hpp"

namespace tutti::ext {

// How the registry opens and describes it.
struct LoadedBackend {
    OpenBackend open;
    DescribeBackend can;
};

// `table` as read_table() returned it.
LoadedBackend backend_of(const tutti_backend_table& table);
// The backend of the library of this name. Throws NoModule (base/module.hpp); UNSUPPORTED, saying
// why, for a library that is no use.
LoadedBackend load_backend(const std::string& name);

}  // namespace tutti::ext
