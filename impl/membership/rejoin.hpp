// Connects a rank to the next coordinator without holding up its loop: on a thread of its own,
// tutti-rejoin. Loop thread only, but for join().
#pragma once

#include <functional>
#include <vector>

#include "base/status.hpp"
#include "errand.hpp"
#include "net/address.hpp"
#include "net/loop.hpp"

namespace tutti::membership {

class Rejoin {
public:
    explicit Rejoin(net::Loop& loop) : loop_(loop) {}

    // On the loop's thread: the descriptor of the connection, which the callee takes, or -1 and why
    // there is none.
    using Reached = std::function<void(int descriptor, const Status& why_not)>;
    // In place of one before, for which it waits: that ends soon.
    void start(std::vector<net::Address> addresses, Reached reached);
    // Nothing is under way any more; it may have posted. Any thread.
    void join() { errand_.join(); }

private:
    void connect(const std::vector<net::Address>& addresses, const Reached& reached) noexcept;

    net::Loop& loop_;
    Errand errand_;
};

}  // namespace tutti::membership
