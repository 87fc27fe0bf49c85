// The messages of a group. MPI gives them up as they come (MPI_Improbe), and they are matched with
// receives here, so that a receive can end without MPI. A message's tag at MPI is its tag and its
// dtype. With the library's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <utility>
#include <vector>

#include "departures.hpp"
#include "endings.hpp"
#include "operation_queue.hpp"
#include "ranks.hpp"

namespace tutti::mpi {

class Messages {
public:
    // `comm` has messages alone. A goodbye ends what `collectives` has without the rank that left.
    Messages(const Settings& settings, MPI_Comm comm, Endings& endings, Departures& departures,
             OperationQueue& collectives)
        : settings_(settings),
          comm_(comm),
          endings_(endings),
          departures_(departures),
          collectives_(collectives) {}

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] bool empty() const { return waiting_.empty() && moving_.empty(); }
    // These throw Failure.
    void send(const tutti_backend_call* call);
    void receive(const tutti_backend_call* call);
    void progress();
    // As in tutti_backend_table.
    int32_t cancel(const tutti_backend_call* call);
    // Ends all calls but those whose memory is in use.
    void end_all(const Failure& why, const OperationQueue::InUse& is_in_use);
    void abandon_all();

    // The last message of this rank: all others learn the number of its last collective.
    // It goes to `flight`, also if a send throws.
    void say_goodbye(InFlight& flight, const Ranks& ranks, uint64_t last_sequence);
    [[nodiscard]] bool has_said_goodbye() const { return has_said_goodbye_; }
    // Whether MPI is done with all sends.
    [[nodiscard]] bool have_gone();
    // Those that came for nobody.
    [[nodiscard]] std::vector<Arrived> take_arrived() { return std::exchange(arrived_, {}); }

private:
    struct Message {
        const tutti_backend_call* call;
        InFlight flight{};
        bool is_direct = false;
        int source = -1;
    };

    // Whether a message has come.
    bool probe();
    void match(Message& message, const Arrived& arrived);
    void take_goodbye(const Arrived& arrived);

    const Settings settings_;
    const MPI_Comm comm_;
    Endings& endings_;
    Departures& departures_;
    OperationQueue& collectives_;
    std::list<Message> waiting_;  // receives
    std::list<Message> moving_;   // sends, and receives that are matched
    std::vector<Arrived> arrived_;
    bool has_said_goodbye_ = false;
};

}  // namespace tutti::mpi
