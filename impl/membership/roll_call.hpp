// Asks after ranks that a new coordinator awaits: one that refuses connections at its port is gone,
// and need not be awaited; one that coordinates itself says whether the others go on without this
// rank. Works on a thread of its own, tutti-rejoin. Loop thread only, but for join().
#pragma once

#include <cstdint>
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
    // `reply_ms`: the time that one rank has to answer.
    RollCall(net::Loop& loop, int64_t reply_ms) : loop_(loop), reply_ms_(reply_ms) {}

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
    // False: it is still busy with the ranks before, or there can be no thread, and does nothing.
    // `inquiry`: the frame.
    bool start(std::vector<Awaited> awaited, const std::string& inquiry, Answers answers);
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    // Nothing is under way any more; it may have posted. Any thread.
    void join() { errand_.join(); }

private:
    void ask(const std::vector<Awaited>& awaited, const std::string& inquiry,
             const Answers& answers) noexcept;

    net::Loop& loop_;
    const int64_t reply_ms_;
    bool is_asking_ = false;
    Errand errand_;
};

}  // namespace tutti::membership
