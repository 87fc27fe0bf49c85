// The server to which all ranks of a group of processes connect. It waits until they have come,
// tells everyone where the others are, notices who dies or falls silent, and hands their frames to
// the arbiter. It does not know where it runs, nor whether a rank runs there: it has listening
// descriptors and a secret. Loop thread only.
//
// It has more than 20 data members: a connection that ends, silence, suspicion, absence and sleep
// decide together whether a rank is lost, and each needs the connections. What can be without these
// is apart: Arbiter, Coverage, Pauses, HeartbeatClock, Grace and PendingPeers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arbiter.hpp"
#include "coverage.hpp"
#include "grace.hpp"
#include "heartbeat.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/pending_peers.hpp"
#include "net/stream.hpp"
#include "pauses.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Coordinator {
public:
    // Takes the listening descriptors. `own_rank` is the rank of this process, or nobody.
    Coordinator(net::Loop& loop, std::vector<int> listening, int own_rank, int size,
                const Token& token, const Heartbeat& heartbeat);
    // The knowledge of the previous coordinator. A member that does not reconnect in time is lost.
    struct State {
        std::vector<Endpoint> endpoints;
        std::set<int> left;
        std::map<int, Status> losses;
        Failure verdict;
        uint32_t first_group_id = 0;  // of new groups
        bool has_slept = false;       // this process, so the others may have gone on without it
        std::set<int> paused;         // by their own word
    };
    void restore(const State& state);
    // Notifies the members first, and those that have left that it is known.
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // Frames of that rank, as if from its connection.
    void receive(int rank, const std::string& bytes);
    // Rank `rank` leaves all groups. The others are told before this returns, as far as possible,
    // and those that have left before that it is known.
    void depart(int rank);
    // No connection is accepted any more; a rank that waits for the next group looks for its
    // invitation.
    void stop_accepting();
    // Whether any rank has not left. `all_left` is called when all have.
    [[nodiscard]] bool has_members() const { return arbiter_.members() > 0; }
    // Whether members of the previous coordinator may still reconnect.
    [[nodiscard]] bool awaits_members() const {
        return is_successor_ && !arbiter_.awaited().empty();
    }
    [[nodiscard]] std::vector<int> awaited() const {
        return is_successor_ ? arbiter_.awaited() : std::vector<int>{};
    }
    // The others follow another coordinator: the members that have slept as well are told.
    void resign(const Status& why) { broadcast(encode(Kind::RuledOut, why)); }
    // The process of a rank that is awaited has ended.
    void is_gone(int rank, const Status& why);
    // Called when members follow another coordinator, for this process did not run for a while.
    void when_ruled_out(std::function<void(const Status& why)> ruled_out) {
        ruled_out_ = std::move(ruled_out);
    }
    // Called once, when none is awaited any more.
    void when_all_have_come(std::function<void()> all_have_come) {
        all_have_come_ = std::move(all_have_come);
    }
    void when_all_left(std::function<void()> all_left) { all_left_ = std::move(all_left); }

private:
    using Clock = HeartbeatClock::Clock;
    struct Connection {  // of a member once it has sent Hello
        int id = 0;
        int rank = -1;
        bool authenticated = false;  // its handshake had the right token
        bool has_slept = false;      // its process, before it came
        bool waits = false;          // for the next group: this one is over for it
        bool asked = false;          // for itself, though another answers for it
        Clock::time_point accepted;
        Clock::time_point last_received;
        std::optional<uint64_t> ended_at{};  // the tick at which its process was said to have ended
        int asks_of = nobody;                // the rank that asks whether it is ruled out
        uint64_t doubts = 0;                 // that it was told of
        uint64_t answers = 0;                // to them
        FrameReader frames;
        std::unique_ptr<net::Stream> stream;
    };

    struct Suspicion {
        Status why;
        int of = 0;          // the rank that has it
        uint64_t doubt = 0;  // which of its rank's doubts it is; 0: that has not been told yet
    };

    void accept(int descriptor);
    bool make_room(const Status& exhaustion);
    bool make_room_to_tell();
    void keep_spare() noexcept;
    void tell_who_was_joining();
    bool handle(Connection& connection, const Frame& frame);
    bool authenticate(Connection& connection, const Token& token, int rank, int size);
    bool answer(Connection& connection, const Handshake& handshake);
    bool join(Connection& connection, const Frame& frame);
    bool answer_inquiry(Connection& connection, const Handshake& inquiry);
    void answer_inquiries(int rank);
    void refuse(Connection& connection, const std::string& who, const std::string& reason);
    void refuse_duplicate(Connection& connection, int rank);
    void drop(int id, const Status& why);
    void suspect(int of, const Status& suspicion);
    void doubt(Suspicion& suspicion);
    [[nodiscard]] bool is_answered(const Suspicion& suspicion);
    void clear_suspicions(int rank);
    void believe(int watcher, const Status& seen);
    void note_pause(int by, int rank, bool is_paused);
    void forget_pauses(int by);
    void confirm_suspicion();
    void declare_lost(const Status& loss);
    [[nodiscard]] bool have_all_slept(int but) const;
    void obey_those_that_were_awake();
    void note_sleep();
    void take_over(const Connection& connection, const Status& loss);
    void tick();
    void cover();
    bool ping(Connection& connection);
    void check_liveness(Connection& connection, bool is_to_be_heard);
    void send(int rank, const std::string& frame);
    void broadcast(const std::string& frame);
    void tell_departures();
    void flush_departures();
    void declare_absent_lost();
    void note_arrivals();
    Connection* find(int id);
    Connection* member(int rank);
    [[nodiscard]] std::string own_name() const;
    [[nodiscard]] std::string missing() const;
    [[nodiscard]] std::string refused() const;

    net::Loop& loop_;
    const int own_rank_;
    const int size_;
    const Token token_;
    const Heartbeat heartbeat_;
    int last_id_ = 0;
    uint64_t tick_count_ = 0;
    std::map<int, std::unique_ptr<Connection>> connections_;  // by id
    net::PendingPeers<int> strangers_;                        // of them, without a Hello so far
    std::vector<std::optional<Endpoint>> endpoints_;          // by rank; null: not there yet
    std::vector<std::string> refused_;                        // the last few, the latest at the end
    std::vector<Connection*> members_;                        // by rank; null: not connected
    std::vector<Suspicion> suspicions_;                       // unexplained, the oldest first
    std::vector<int> leaving_;                                // get ByeAck when the others know
    std::function<void()> all_left_;
    std::function<void()> all_have_come_;
    std::function<void(const Status&)> ruled_out_;
    Arbiter arbiter_;
    Coverage coverage_;
    Pauses pauses_;
    HeartbeatClock heartbeat_clock_;
    net::Timer ticks_;
    Grace suspicion_grace_;  // for an explanation of a suspicion
    net::Timer departures_;  // collects them for one frame
    Grace rejoin_grace_;     // for members of the previous coordinator
    bool is_successor_ = false;
    bool has_slept_ = false;      // and none has come that was awake
    bool has_missed_ = false;     // some rank that was awaited
    std::optional<Status> lack_;  // of descriptors, which has ended the group; for who comes now
    net::Descriptor spare_;       // given up for a caller that is to be told of it
    std::optional<net::Listener> listener_;
};

}  // namespace tutti::membership
