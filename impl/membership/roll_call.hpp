// Asks after ranks that a new coordinator awaits: one that refuses connections at its port is gone,
// and need not be awaited; one that coordinates itself says whether the others go on without this
// rank. Works on a thread of its own, tutti-rejoin. Loop thread only, but for join().
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "errand.hpp"
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
    // On the loop's thread.
    struct Answers {
        std::function<void(int rank, const Status& why)> is_gone;
        std::function<void(const Status& why)> is_ruled_out;  // this rank
        std::function<void()> is_over = [] {};                // comes last
    };
    // Does nothing while it is still busy with the ranks before. `inquiry`: the frame.
    void start(std::vector<Awaited> awaited, const std::string& inquiry, Answers answers);
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    // Nothing is under way any more; it may have posted. Any thread.
    void join() { errand_.join(); }

private:
    void ask(const std::vector<Awaited>& awaited, const std::string& inquiry,
             const Answers& answers) noexcept;

    net::Loop& loop_;
    bool is_asking_ = false;
    Errand errand_;
};

}  // namespace tutti::membership
