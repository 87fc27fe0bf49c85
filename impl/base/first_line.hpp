// The first line of a small file, such as those in /proc. Any thread.
#pragma once

#include <string>

namespace tutti {

// Empty if there is no such file or it cannot be read. Throws OUT_OF_MEMORY, naming the limit, if
// this process has no descriptor for it: what it says must not look as if it were not there.
std::string first_line(const std::string& path);

}  // namespace tutti
