// Rank 0's side of the control plane: waits until all ranks have come, tells everyone where the
// others are, notices who dies or falls silent, and decides, once, why nobody can go on. Loop
// thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heartbeat.hpp"
#include "net/loop.hpp"
#include "net/stream.hpp"
#include "protocol.hpp"

namespace tutti::control {

class Coordinator {
public:
    // Takes the listening descriptors.
    Coordinator(net::Loop& loop, std::vector<int> listening, int size, const Token& token,
                const Heartbeat& heartbeat);
    // Tells the members first.
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // Nobody can go on, and why. The first cause wins.
    void decide(const Status& verdict);

private:
    using Clock = Pulse::Clock;
    struct Guest {  // a connection; a member once it has said hello
        int id = 0;
        int rank = -1;
        bool known = false;  // it has knocked with the right token
        bool waits = false;  // for the next group: this one is over for it
        bool left = false;
        bool lost = false;  // all have been told
        Clock::time_point heard;
        FrameReader frames;
        std::unique_ptr<net::Stream> stream;
    };

    void accept(int descriptor);
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
    void tell_all(const std::string& frame);
    Guest* find(int id);
    Guest* member(int rank);
    [[nodiscard]] std::string missing() const;
    [[nodiscard]] std::string refused() const;

    net::Loop& loop_;
    const int size_;
    const Token token_;
    const Heartbeat heartbeat_;
    int last_id_ = 0;
    std::vector<std::unique_ptr<Guest>> guests_;
    std::vector<std::optional<Seat>> seats_;  // by rank, of those who have come
    std::vector<std::string> refused_;        // the last few, the latest at the end
    std::optional<Status> verdict_;
    std::vector<Status> suspicions_;  // not explained yet, the oldest first
    Stalls stalls_;
    Pulse pulse_;
    net::Timer ticks_;
    net::Timer patience_;  // for a suspicion to explain itself
    net::Listener listener_;
};

}  // namespace tutti::control
