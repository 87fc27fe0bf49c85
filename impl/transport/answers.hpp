// The answers to calls that somebody has taken, who has not proved yet that it is the rank that was
// called. One that is stopped answers by its system alone, and may do so for long. Loop thread
// only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "attempts.hpp"
#include "base/deadline.hpp"
#include "base/status.hpp"
#include "membership/protocol.hpp"
#include "membership/world.hpp"
#include "net/loop.hpp"
#include "net/stream.hpp"

namespace tutti {

class Answers {
public:
    // A call that somebody has taken.
    struct Taken {
        std::string host;
        bool is_last;  // there is no other address
        Deadline until;
        Attempts::Attempt next;  // if it is not that rank
    };
    struct Events {
        // Whether the answer of that rank is still awaited.
        std::function<bool(int peer)> is_awaited;
        // The stream ends with the call. If it throws, the answer is lost.
        std::function<void(int peer, const Taken& taken, const membership::Token& answer,
                           net::Stream& stream)>
            answered;
        std::function<void(int peer, Taken taken, Status why)> lost;
    };
    Answers(net::Loop& loop, const World& world, Events events);

    // The descriptor is the connection's.
    void await(int peer, Taken taken, int descriptor) noexcept;

private:
    struct Entry {
        Taken taken;
        std::unique_ptr<net::Stream> stream{};
        std::string received{};
    };

    void receive(int peer, std::span<const std::byte> bytes) noexcept;
    void look() noexcept;
    void lose(int peer, const Status& why) noexcept;

    net::Loop& loop_;
    const World& world_;
    const Events events_;
    std::map<int, Entry> entries_;  // by rank
    net::Timer looks_;              // after those who do not answer
};

}  // namespace tutti
