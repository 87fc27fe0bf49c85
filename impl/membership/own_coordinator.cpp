#include "own_coordinator.hpp"

#include <utility>

#include "address.hpp"
#include "base/thread.hpp"

namespace tutti::membership {

namespace {

constexpr int backlog = 4096;

void keep_serving(std::shared_ptr<net::Loop> loop, std::unique_ptr<Coordinator> coordinator) {
    struct Rest {
        std::shared_ptr<net::Loop> loop;
        std::unique_ptr<Coordinator> coordinator;
    };
    auto rest = std::make_shared<Rest>(Rest{std::move(loop), std::move(coordinator)});
    Coordinator& there = *rest->coordinator;
    there.when_all_left([rest = std::move(rest)]() mutable {
        rest->coordinator.reset();
        // A loop is not ended on its own thread.
        start_thread("tutti-ending", [loop = std::move(rest->loop)]() mutable {
            loop.reset();
        }).detach();
    });
}

}  // namespace

Invitation OwnCoordinator::open(const ReachableAddresses& addresses, const Store& store) {
    const auto own = addresses.of_rank_0(store);
    Invitation invitation;
    invitation.token = random_token();
    invitation.host = addresses.host();
    invitation.addresses = without_interfaces(own);
    listen_sockets_ = net::ListenSocket::bind_each(listening_at(own), backlog);
    invitation.port = port();
    loop_->run([&] { start(invitation.token); });
    return invitation;
}

void OwnCoordinator::listen(const ReachableAddresses& addresses) {
    listen_sockets_ = net::ListenSocket::bind_each(listening_at(addresses.own()), backlog);
}

void OwnCoordinator::follow(const Token& token, const Coordinator::State& state) {
    start(token);
    coordinator_->restore(state);
}

void OwnCoordinator::leave() {
    if (!coordinator_) return;
    coordinator_->when_ruled_out(nullptr);
    coordinator_->stop_accepting();
    coordinator_->depart(rank_);
    if (coordinator_->has_members()) return keep_serving(loop_, std::move(coordinator_));
    coordinator_.reset();
}

void OwnCoordinator::start(const Token& token) {
    std::vector<int> descriptors;
    for (auto& socket : listen_sockets_) descriptors.push_back(socket.release());
    listen_sockets_.clear();
    coordinator_ = std::make_unique<Coordinator>(*loop_, std::move(descriptors), rank_, size_,
                                                 token, heartbeat_);
}

}  // namespace tutti::membership
