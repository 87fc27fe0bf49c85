// The list of shared servers, the one thing that stores of a process have in common: masters who
// know nothing of each other can only meet at their port. It keeps no server alive. Any thread.
#include "shared_servers.hpp"

#include <map>
#include <utility>

#include "base/mutex.hpp"
#include "bind_rules.hpp"

namespace tutti {
namespace {

struct SharedServers {
    Mutex mutex;
    std::map<int, std::weak_ptr<TcpServer>> by_port TUTTI_GUARDED_BY(mutex);
};

// Never destroyed: stores may end after static objects.
SharedServers& shared_servers() {
    static auto* const servers = new SharedServers;
    return *servers;
}

template <typename Make>
std::shared_ptr<TcpServer> share_server(int port, Make&& make) {
    SharedServers& servers = shared_servers();
    // Held while the server is made, or two masters would both bind the port.
    const Lock lock(servers.mutex);
    std::erase_if(servers.by_port, [](const auto& entry) { return entry.second.expired(); });
    const auto found = servers.by_port.find(port);
    if (found != servers.by_port.end())
        if (auto server = found->second.lock()) return server;
    auto server = make();
    servers.by_port[server->port()] = server;
    return server;
}

}  // namespace

std::shared_ptr<TcpServer> serve_store(const TcpStoreOptions& options, net::Endpoint& endpoint) {
    const auto make = [&] {
        BoundServer bound = options.listen_fd
                                ? adopt_store_server(*options.listen_fd, options.host, options.port)
                                : bind_store_server(options.host, options.port);
        endpoint.host = bound.host;
        return std::make_shared<TcpServer>(std::move(bound.sockets), options.limits);
    };
    auto server = options.multi_tenant ? share_server(options.port, make) : make();
    endpoint.port = server->port();
    return server;
}

}  // namespace tutti
