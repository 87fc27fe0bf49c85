// The coordinator that a rank runs, or would run: rank 0 from the start, the lowest that is left
// when the one before has gone. It may outlive the rank. Loop thread only, but for the making of
// doors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coordinator.hpp"
#include "invitation.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "reachable_addresses.hpp"
#include "store/store.hpp"

namespace tutti::membership {

class OwnCoordinator {
public:
    OwnCoordinator(std::shared_ptr<net::Loop> loop, const Heartbeat& heartbeat, int rank, int size)
        : loop_(std::move(loop)), heartbeat_(heartbeat), rank_(rank), size_(size) {}

    // Rank 0 coordinates from now on, for those who can reach the store. Not on the loop's thread.
    Invitation open(const ReachableAddresses& addresses, const Store& store);
    // Where it would do so later, and at which port. Before the first connection comes.
    void listen(const ReachableAddresses& addresses);
    [[nodiscard]] int port() const { return listen_sockets_.front().port(); }
    // In place of the one before.
    void follow(const Token& token, const Coordinator::State& state);

    [[nodiscard]] Coordinator* get() const { return coordinator_.get(); }
    // At once, as if the process had died.
    void abandon() { coordinator_.reset(); }
    // This rank has left: what it coordinates stays until the others have.
    void leave();

private:
    void start(const Token& token);

    const std::shared_ptr<net::Loop> loop_;
    const Heartbeat heartbeat_;
    const int rank_;
    const int size_;
    std::vector<net::ListenSocket> listen_sockets_;
    std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace tutti::membership
