// The servers of masters, which several in this process may share: torch's multi_tenant. Any
// thread.
#pragma once

#include <memory>

#include "net/address.hpp"
#include "store.hpp"
#include "tcp_server.hpp"

namespace tutti {

// The server that a master asks for, and in `endpoint` where to reach it. With multi_tenant, the
// one at the port that another handle shares; if there is none, or the port is 0, a new one, shared
// from now on while somebody keeps it.
std::shared_ptr<TcpServer> serve_store(const TcpStoreOptions& options, net::Endpoint& endpoint);

}  // namespace tutti
