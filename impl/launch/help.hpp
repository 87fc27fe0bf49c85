// The help of tuttirun. Any thread.
#pragma once

#include <string>

namespace tutti::launch {

std::string help_text();

}  // namespace tutti::launch
