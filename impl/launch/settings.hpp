// The text of --settings: a row for each option, and for each setting of the library in the
// environment, which the ranks inherit. Any thread.
#pragma once

#include <string>

#include "options.hpp"

namespace tutti::launch {

std::string settings_text(const Options& options);

}  // namespace tutti::launch
