// The servers of this process that several masters may share: torch's multi_tenant. Any thread.
#pragma once

#include <functional>
#include <memory>

#include "tcp_server.hpp"

namespace tutti {

// The server at the port that somebody else shares; if there is none, or the port is 0, the one
// that `make` makes, shared from now on while somebody keeps it.
std::shared_ptr<TcpServer> share_server(int port,
                                        const std::function<std::shared_ptr<TcpServer>()>& make);

}  // namespace tutti
