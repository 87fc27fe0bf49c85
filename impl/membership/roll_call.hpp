// Asks after ranks that a new coordinator awaits: a rank that refuses connections at its port is
// gone, and need not be awaited. Works on a thread of its own, tutti-rejoin. Loop thread only, but
// for join().
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "net/address.hpp"
#include "net/loop.hpp"

namespace tutti::membership {

class RollCall {
public:
    explicit RollCall(net::Loop& loop) : loop_(loop) {}

    struct Awaited {
        int rank = 0;
        std::vector<net::Address> addresses;
    };
    // On the loop's thread, for each that refuses.
    using Refused = std::function<void(int rank, const Status& why)>;
    // Does nothing while it is still busy with the ranks before.
    void start(std::vector<Awaited> awaited, Refused refused);
    // Nothing is under way any more; it may have posted. Any thread.
    void join();

private:
    void ask(const std::vector<Awaited>& awaited, const Refused& refused) noexcept;

    net::Loop& loop_;
    bool is_asking_ = false;
    Mutex mutex_;
    std::thread thread_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::membership
