// Environment variables, read with errors that name the variable. Any thread, as long as nobody
// calls setenv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "variables.hpp"

namespace tutti {

// Nothing if the variable is not set or empty.
std::optional<std::string> environment(Variable name);
// The same, for names that are made while the program runs: of modules, launchers and options.
std::optional<std::string> environment_by_name(const char* name);

// A whole number within [lowest, highest]; nothing if not set; INVALID_ARGUMENT naming the variable
// if malformed.
std::optional<int64_t> environment_number(Variable name, int64_t lowest, int64_t highest);

// The number in `text`, all of it, within [lowest, highest]; `what` names it in the error.
int64_t parse_number(const std::string& text, const std::string& what, int64_t lowest,
                     int64_t highest);

}  // namespace tutti
