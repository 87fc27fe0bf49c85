// The capabilities that a table describes, in the engine's words. Any thread.
#pragma once

#include <string>

#include "backend/capabilities.hpp"
#include "ext/tables.hpp"

namespace tutti::ext {

// With these settings. Throws INVALID_ARGUMENT for a setting that it does not have, UNSUPPORTED for
// what no backend can say of itself.
Capabilities describe(const tutti_backend_table& table, const std::string& settings);

}  // namespace tutti::ext
