// At which addresses a store server listens. Any thread; reads the environment.
#pragma once

#include <string>
#include <vector>

#include "net/socket.hpp"

namespace tutti {

struct BoundServer {
    std::vector<net::ListenSocket> sockets;  // at least one, all on one port
    std::string host;                        // by which this very process reaches it
};

// Whether the host is a loopback address, or called so, on every machine: 127.0.0.1, localhost.
bool means_this_host(const std::string& host);

// The address that was given. All addresses, with a warning, where the name is one that other hosts
// resolve differently (a loopback address that is not called localhost) or has no address of this
// machine (NAT); all addresses too where `host` is empty. TUTTI_STORE_BIND, an address or name,
// overrides: exactly that. Throws NETWORK naming host and port.
BoundServer bind_store_server(const std::string& host, int port);

// At a duplicate of the caller's socket, which is bound to `port` unless that is 0. Throws
// INVALID_ARGUMENT for another, NETWORK.
BoundServer adopt_store_server(int fd, const std::string& host, int port);

}  // namespace tutti
