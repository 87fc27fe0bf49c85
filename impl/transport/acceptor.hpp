// The incoming calls of a rank: it listens, and hears the first bytes of each caller. A spare
// descriptor is kept and given up to hear who calls when no other is left: only then it is known
// whom the shortage concerns. Loop thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/pending_peers.hpp"
#include "net/stream.hpp"

namespace tutti {

class Acceptor {
public:
    struct Events {
        // The first bytes of a caller, or a few more. The stream ends with the call.
        std::function<void(const std::string& received, net::Stream& stream)> called;
        // There is no descriptor even to hear who calls.
        std::function<void(const Status& exhaustion)> exhausted;
    };
    // Listens on these descriptors, and takes them. The spare one is a copy of `any_descriptor`.
    // `bytes`: how many a caller sends first.
    Acceptor(net::Loop& loop, std::vector<int> listening, int any_descriptor, size_t bytes,
             Events events);

private:
    struct Incoming {
        std::unique_ptr<net::Stream> stream;
        std::string received;
    };

    void accept(int descriptor);
    void receive(int incoming, std::span<const std::byte> bytes);
    bool free_descriptor(const Status& exhaustion);
    void keep_spare() noexcept;

    net::Loop& loop_;
    const int any_descriptor_;
    const size_t bytes_;
    const Events events_;
    net::Descriptor spare_;
    int last_incoming_ = 0;
    std::map<int, Incoming> incoming_;
    net::PendingPeers<int> strangers_;  // all of them
    std::unique_ptr<net::Listener> listener_;
};

}  // namespace tutti
