// The addresses of this machine's network interfaces. Any thread.
#pragma once

#include <string>
#include <vector>

namespace tutti::net {

// Numeric addresses of all interfaces that are up; loopback last.
std::vector<std::string> addresses_of_this_host();

// Those of the interfaces in a comma list, in its order. INVALID_ARGUMENT naming `variable` for one
// that has none.
std::vector<std::string> addresses_of_interfaces(const std::string& names,
                                                 const std::string& variable);

}  // namespace tutti::net
