// The attempts of a rank to connect to the others: for each event the step that follows, decided
// without sockets, threads, a lock or a clock of its own. Plain data, one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace tutti {

class Attempts {
public:
    using Time = Deadline::Clock::time_point;
    using Milliseconds = std::chrono::milliseconds;
    // The time that a rank's addresses may take to answer, all attempts together.
    static constexpr Milliseconds total{30'000};
    // The time of the first attempt, after which that rank is asked to call; then twice that, and
    // so on.
    static constexpr Milliseconds first_timeout{200};
    static constexpr Milliseconds max_timeout{3200};
    // A rank is asked at least so often before this one takes refusals for final: its calls have
    // had more than a second by then.
    static constexpr int least_asked = 4;

    // To call a rank, at its addresses one after the other.
    struct Attempt {
        Time next;
        Time until;
        Milliseconds timeout;
        std::vector<std::string> strangers{};  // hosts at whose addresses another process answers

        static Attempt first(Time now) { return {now, now + total, first_timeout}; }
        // The attempt that follows if this one fails. Those of other ranks come first.
        [[nodiscard]] Attempt successor() const;
    };
    struct Call {
        int peer;
        Attempt attempt;
    };
    // The facts when something happens to a rank.
    struct Known {
        Time now;
        bool is_gone;  // that rank has left or is lost
    };
    enum class Action : uint8_t {
        Nothing,
        Call,        // an attempt has been added
        CallAndAsk,  // the same, and that rank is to be asked to call this one
        Fail,        // there will be no connection, because of what happened
        FailAsGone   // the same, because that rank is gone
    };

    // `ways` has the hosts of each rank. Ranks behind the same way are hidden alike.
    Attempts(int rank, int size, std::vector<std::vector<std::string>> ways);

    // This rank needs a connection to that one.
    Action need(int peer, const Known& known);
    // The peer asks to be called. Its address may not be known yet.
    Action asked(int peer, bool has_address, const Known& known);
    // The peer is gone. Data that it sent before may be on their way if it has answered, or may
    // have.
    Action lose(int peer);

    // An attempt failed, before that rank was reached or while its answer was awaited.
    struct Failure {
        bool is_of_network;  // else it lies in this process, or in the secrets
        bool is_refusal;     // of the other host's system
    };
    Action failed(int peer, Attempt next, const Failure& failure, const Known& known);
    // Another process has answered on that host; more addresses are left.
    Action missed(int peer, Attempt next, std::string host, const Known& known);
    // A process has taken the call, and is to prove that it is the peer. False: a connection has
    // come otherwise, or none is wanted.
    [[nodiscard]] bool reached(int peer);
    // It has proved it. False: as before.
    [[nodiscard]] bool proved(int peer);
    // The peer's own call replaces this one.
    Action replaced(int peer, const Known& known);

    // The peer calls. If both ranks call at once, the lower one refuses the other's call.
    enum class Reply : uint8_t { None, Accept, Refuse, Lack };
    // `can_keep`: this process has a descriptor for the connection.
    Reply called(int peer, bool can_keep, const Known& known);
    // The call was accepted, and broke.
    Action call_broke(int peer, const Known& known);

    // When the next attempt that is not under way begins; nothing: there is none.
    [[nodiscard]] std::optional<Time> next_time() const;
    // Returns that attempt, which is under way from here on.
    Call begin_next();
    // The attempt cannot be made.
    void cancel(int peer);
    // No attempt is made any more, and nothing follows from any event.
    void end();
    [[nodiscard]] bool has_ended() const { return has_ended_; }

    [[nodiscard]] bool has_begun(int peer) const { return state_of(peer) != State::None; }
    [[nodiscard]] bool is_connected(int peer) const { return state_of(peer) == State::Connected; }
    [[nodiscard]] bool awaits_answer(int peer) const {
        return state_of(peer) == State::AwaitingAnswer;
    }

private:
    enum class State : uint8_t {
        None,
        Calling,
        AwaitingAnswer,  // it has taken the call, and has not proved yet who it is
        AwaitingCall,    // its own call replaces this one
        Connected
    };
    struct Peer {
        State state = State::None;
        // How often it has asked to be called, since this rank began to call: its calls fail, too.
        int asked = 0;
    };
    struct Entry {
        Attempt attempt;
        bool is_under_way = false;
    };

    [[nodiscard]] State state_of(int peer) const { return peers_[static_cast<size_t>(peer)].state; }
    [[nodiscard]] const std::vector<std::string>& way_to(int peer) const {
        return ways_[static_cast<size_t>(peer)];
    }
    void enter(int peer, State state);
    [[nodiscard]] bool advance(int peer, State from, State to);
    Action begin(int peer, Attempt attempt, const Known& known);
    Action add(int peer, Attempt attempt, const Known& known);
    [[nodiscard]] std::map<int, Entry>::const_iterator find_next() const;

    const int rank_;
    const std::vector<std::vector<std::string>> ways_;  // by rank
    std::vector<Peer> peers_;                           // by rank
    std::map<int, Entry> attempts_;                     // by rank; of those that are being called
    // Ways on which a call did not come through: who is behind one is asked to call at once, which
    // it would be anyway, later. This rank calls only if that does not help.
    std::set<std::vector<std::string>> hidden_;
    bool has_ended_ = false;
};

}  // namespace tutti
