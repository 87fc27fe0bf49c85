// A rank's place in a world in which nothing happens but what a test lets it hear.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "membership/world.hpp"

namespace tutti::test {

class QuietWorld : public World {
public:
    QuietWorld(int rank, int size) : World(rank, size) {}
    ~QuietWorld() override { end_resources(); }
    [[nodiscard]] std::string identity() const override { return "quiet"; }
    [[nodiscard]] bool same_host(int /*rank*/) const override { return true; }
    [[nodiscard]] Routes routes() const override { return {}; }
    void send(std::string /*frame*/) noexcept override {}
    void suspect(const Status& /*suspicion*/) noexcept override {}
    void leave() noexcept override {}

    // Hears that the rank has left its first group.
    void depart(int rank) {
        hear(membership::encode(membership::Kind::Left, 0, std::vector<int>{rank}));
    }
    void lose(int rank) {
        hear(membership::encode(membership::Kind::Lost,
                                Status{TUTTI_ERR_PEER_LOST, rank, 0, "it is silent"}));
    }

protected:
    // Frames, as if the arbiter had sent them.
    void hear(const std::string& frames) {
        const auto handle_one = [this](const membership::Frame& frame) {
            handle(frame);
            return true;
        };
        membership::FrameReader().feed(std::as_bytes(std::span(frames)), handle_one);
    }
};

}  // namespace tutti::test
