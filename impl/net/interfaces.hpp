// The addresses of this machine's network interfaces, as numeric text; a link-local IPv6 address
// with its interface, "fe80::1%eth0". Any thread.
#pragma once

#include <string>
#include <vector>

namespace tutti::net {

// The addresses of all interfaces that are up: loopback last, link-local ones only where an
// interface has nothing else.
std::vector<std::string> addresses_of_this_host();

// The addresses of the interface that has this address, which comes first; it alone if none has it.
std::vector<std::string> addresses_beside(const std::string& address);

// The addresses of the interfaces in a comma list, in its order. INVALID_ARGUMENT naming `variable`
// for an empty name, or one that no interface here has that is up and has an address.
std::vector<std::string> addresses_of_interfaces(const std::string& names,
                                                 const std::string& variable);

// Interfaces on which link-local addresses are in use.
std::vector<std::string> link_local_interfaces();

// Something that two processes have in common if the same addresses are theirs, and hardly ever
// else: a host, or what a container makes of it.
std::string host_identity();

}  // namespace tutti::net
