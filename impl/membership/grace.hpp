// A time in which something is to come before silence becomes a verdict. Timers run before sockets
// are read: after a halt of this process the time is over and what came in it still waits to be
// read. So the end counts only when the loop has looked at all sockets since. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "net/loop.hpp"

namespace tutti::membership {

class Grace {
public:
    Grace(net::Loop& loop, std::function<void()> over)
        : over_(std::move(over)), timer_(loop, [this] { look_or_end(); }) {}

    // A running one starts anew.
    void start(int64_t ms) {
        looks_left_ = looks;
        timer_.start(ms, 0);
    }
    void stop() { timer_.stop(); }

private:
    // At a new connection, at its hello, at what follows that.
    static constexpr int looks = 3;

    void look_or_end() {
        if (looks_left_ == 0) return over_();
        --looks_left_;
        timer_.start(1, 0);
    }

    const std::function<void()> over_;
    int looks_left_ = looks;
    net::Timer timer_;
};

}  // namespace tutti::membership
