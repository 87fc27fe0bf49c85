// Coordinators of before, whose connection to this rank has ended. Only the connection may have
// broken: a coordinator that still exists goes on without this rank, and so do the others. Each is
// asked, one after the other, and until it has answered or its time is up this rank decides nothing
// alone. Loop thread only, but for join().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "net/address.hpp"
#include "net/loop.hpp"
#include "protocol.hpp"
#include "roll_call.hpp"

namespace tutti::membership {

class FormerCoordinators {
public:
    struct Hooks {
        std::function<std::vector<net::Address>(int rank)> addresses;  // none: it cannot be asked
        std::function<std::string()> inquiry;                          // the frame
        std::function<void(const Status& why)> is_ruled_out;           // this rank
        // The question is over, and the rank is lost; the Status is how the connection ended.
        std::function<void(int rank, const Status& how)> was_asked;
        std::function<void(const Proposal&)> decide;  // one that was held back
    };
    // `reply_ms`: the time that one has to answer.
    FormerCoordinators(net::Loop& loop, int64_t reply_ms, Hooks hooks)
        : hooks_(std::move(hooks)), roll_call_(loop, reply_ms) {}

    // That rank was the coordinator; `how` its connection ended. `is_loss`: if the rank does not
    // answer, it is lost; else that is known, or it has left, but its process may coordinate still.
    void ask(int rank, const Status& how, bool is_loss);
    // Whether it follows from the answer that the rank is lost.
    [[nodiscard]] bool awaits(int rank) const {
        const auto found = asked_.find(rank);
        return found != asked_.end() && found->second.is_loss;
    }
    // True: the decision waits for answers, and comes by the hook.
    bool hold_back(const Proposal& proposal);
    // No answer counts any more.
    void clear();
    // Nothing is under way any more; it may have posted. Any thread.
    void join() { roll_call_.join(); }

private:
    struct Asked {
        Status how;
        bool is_loss = false;
    };

    void ask_next();
    void was_asked(int rank);

    const Hooks hooks_;
    RollCall roll_call_;
    std::map<int, Asked> asked_;  // the first is being asked, the others are next
    std::vector<Proposal> held_back_;
};

}  // namespace tutti::membership
