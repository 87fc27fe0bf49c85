// Where all ranks of a group of processes connect to: waits until they have come, tells everyone
// where the others are, notices who dies or falls silent, and hands what they say to the arbiter.
// Where it runs is not its business: it has listening descriptors and a secret. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arbiter.hpp"
#include "heartbeat.hpp"
#include "net/loop.hpp"
#include "net/strangers.hpp"
#include "net/stream.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Coordinator {
public:
    // Takes the listening descriptors.
    Coordinator(net::Loop& loop, std::vector<int> listening, int own_rank, int size,
                const Token& token, const Heartbeat& heartbeat);
    // What a coordinator before this one knew. A member that does not come in time is lost.
    struct Inheritance {
        std::vector<Seat> seats;
        std::set<int> left;
        std::map<int, Status> losses;
        Status verdict;
        uint32_t first_number = 0;  // of new groups
    };
    void inherit(const Inheritance& inheritance);
    // Tells the members first.
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // What that rank says, as if it came over its connection.
    void hear(int rank, const std::string& bytes);
    // That rank leaves all groups; the others know it when this returns, as far as they can.
    void depart(int rank);
    // Nobody comes any more; who waits for the next group goes to look for it.
    void close_door();
    // Whether ranks are there still that have not left. `all_left` is called when none is.
    [[nodiscard]] bool has_members() const { return arbiter_.members() > 0; }
    // Whether members of the coordinator before are still to come.
    [[nodiscard]] bool awaits_members() const {
        return has_inherited_ && !arbiter_.awaited().empty();
    }
    void when_all_left(std::function<void()> all_left) { all_left_ = std::move(all_left); }

private:
    using Clock = Pulse::Clock;
    struct Guest {  // a connection; a member once it has said hello
        int id = 0;
        int rank = -1;
        bool known = false;  // it has knocked with the right token
        bool waits = false;  // for the next group: this one is over for it
        Clock::time_point heard;
        FrameReader frames;
        std::unique_ptr<net::Stream> stream;
    };

    void accept(int descriptor);
    bool make_room(const Status& exhaustion);
    bool handle(Guest& guest, const Frame& frame);
    bool belongs(Guest& guest, const Token& token, int rank, int size);
    bool answer(Guest& guest, const Knock& knock);
    bool greet(Guest& guest, const Frame& frame);
    void refuse(Guest& guest, const std::string& who, const std::string& reason);
    void refuse_double(Guest& guest, int rank);
    void lose(int id, const Status& why);
    void suspect(const Status& suspicion);
    void explain(int rank);
    void believe_suspicion();
    void mourn(const Status& loss);
    void tick();
    void examine(Guest& guest);
    void send(int rank, const std::string& frame);
    void tell_all(const std::string& frame);
    void note_departures();
    void miss_absent();
    Guest* find(int id);
    Guest* member(int rank);
    [[nodiscard]] std::string missing() const;
    [[nodiscard]] std::string refused() const;

    net::Loop& loop_;
    const int own_rank_;
    const int size_;
    const Token token_;
    const Heartbeat heartbeat_;
    int last_id_ = 0;
    std::map<int, std::unique_ptr<Guest>> guests_;  // by id
    net::Strangers<int> strangers_;                 // of them, who have not said hello
    std::vector<std::optional<Seat>> seats_;        // by rank, of those who have come
    std::vector<std::string> refused_;              // the last few, the latest at the end
    std::vector<Guest*> members_;                   // by rank; null: not connected
    std::vector<Status> suspicions_;                // not explained yet, the oldest first
    std::vector<int> leaving_;                      // they hear farewell when the others know it
    std::function<void()> all_left_;
    Arbiter arbiter_;
    Pulse pulse_;
    net::Timer ticks_;
    net::Timer explanation_;  // a suspicion has so long to explain itself
    net::Timer departures_;   // until then they gather
    net::Timer reunion_;      // until then members of the coordinator before may come
    bool has_inherited_ = false;
    std::optional<net::Listener> listener_;
};

}  // namespace tutti::membership
