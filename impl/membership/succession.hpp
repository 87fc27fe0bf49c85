// The choice of the coordinator that a rank follows, and the steps once that one has gone: decided
// from the rank's knowledge, without connections, time or threads. The lowest rank that is left
// coordinates, so all ranks find the same one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::membership {

class Succession {
public:
    Succession(int rank, int size) : rank_(rank), size_(size) {}

    // The rank's knowledge when something happens; the vectors have one entry for each rank.
    struct Known {
        bool all_have_joined = false;
        bool is_acknowledged = false;  // this rank's goodbye
        std::vector<bool> is_gone;     // has left or is lost
        std::vector<std::string> hosts;
    };
    enum class Action : uint8_t {
        Nothing,
        Fail,        // nobody follows before all have joined
        Coordinate,  // this rank does, and calls itself
        Call,        // coordinator() does: this rank calls it
        GoOnAlone    // there is nobody else
    };
    struct Decision {
        Action action = Action::Nothing;
        std::vector<int> lost;  // by what happened; to be told first
    };

    // The first one; nobody: no rank, on that host.
    void met(int coordinator, std::string host);
    // The connection to the coordinator has ended: its rank, if it is one, has left or died. One
    // that was called and has said nothing yet is called again: if its process is gone, it refuses.
    Decision ended(const Known& known);
    // It does not answer, or does not run.
    Decision fell_silent(const Known& known);
    // The one that was called cannot be reached, by what the system said. If it refuses, its
    // process is gone. If nothing answers, and a coordinator before it on that host fell silent,
    // the host is cut off: to try its ranks one after the other would take as many times as long.
    Decision missed(const Known& known, int system_errno);
    // The one that was called has accepted.
    void reached();
    // It has said something.
    void heard() { calls_ = 0; }
    // No other rank will be followed.
    void go_on_alone() { state_ = State::Alone; }
    // This rank needs no coordinator any more, should it lose this one.
    void end() { is_ended_ = true; }

    [[nodiscard]] int coordinator() const { return coordinator_; }
    [[nodiscard]] bool is_calling(int coordinator) const {
        return state_ == State::Calling && coordinator_ == coordinator;
    }
    // The one that was called has said nothing so far.
    [[nodiscard]] bool is_unheard() const { return calls_ > 0; }
    [[nodiscard]] bool is_alone() const { return state_ == State::Alone; }

private:
    enum class State : uint8_t { Following, Calling, Alone };

    [[nodiscard]] std::string host_of(int rank, const Known& known) const;
    [[nodiscard]] bool follows_on(const Known& known) const;
    Decision go_on_without(const Known& known);
    Action follow_next(const Known& known);

    const int rank_;
    const int size_;
    State state_ = State::Following;
    bool is_ended_ = false;
    int coordinator_ = 0;      // nobody: a process that is no rank
    int calls_ = 0;            // to it, since it was heard
    std::string first_host_;   // of the first coordinator
    std::string silent_host_;  // of a coordinator that did not answer
};

}  // namespace tutti::membership
