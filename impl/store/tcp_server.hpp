// The server of a TCP store: a responder and its clients' connections on a loop thread of its own.
// Its methods: any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "net/socket.hpp"
#include "store.hpp"

namespace tutti {

class TcpServer final : public StoreServer {
public:
    // Listens from the start at sockets that share one port.
    TcpServer(std::vector<net::ListenSocket> sockets, const StoreLimits& limits);
    ~TcpServer() override;

    [[nodiscard]] int port() const override { return port_; }
    // Whether it listens at loopback addresses alone.
    [[nodiscard]] bool only_this_host() const { return only_this_host_; }
    // From now on tells all who come that it is full; clients that are there have to come again.
    void turn_all_away();
    // Why clients were turned away, if that was for want of descriptors.
    [[nodiscard]] Status lack() const;
    // Waits until `wanted` clients have said that they are there; how many have, fewer if the
    // deadline passed. Throws OUT_OF_MEMORY if no more can come, for this process has no descriptor
    // for them.
    int64_t wait_for_joined(int64_t wanted, const Deadline& deadline);

private:
    class Service;
    int port_;
    bool only_this_host_;
    std::unique_ptr<Service> service_;
};

// Throws INVALID_ARGUMENT for limits that are 0 or beyond what a server can be told to take.
void check_limits(const StoreLimits& limits);

}  // namespace tutti
