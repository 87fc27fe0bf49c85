// The server of a TCP store: a table on a loop thread of its own. Its methods: any thread.
#pragma once

#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "net/socket.hpp"
#include "store.hpp"

namespace tutti {

class TcpServer final : public StoreServer {
public:
    // Listens from the start at sockets that share one port.
    explicit TcpServer(std::vector<net::ListenSocket> sockets);
    ~TcpServer() override;

    [[nodiscard]] int port() const override { return port_; }
    // Waits until `wanted` clients have said that they are there; how many have, fewer if the
    // deadline passed.
    int64_t wait_for_joined(int64_t wanted, const Deadline& deadline);

private:
    class Service;
    int port_;
    std::unique_ptr<Service> service_;
};

}  // namespace tutti
