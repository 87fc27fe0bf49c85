// The collectives of a group that are under way, in the order of the ranks' posts. With the
// library's lock.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "departures.hpp"
#include "endings.hpp"
#include "operation.hpp"

namespace tutti::mpi {

class OperationQueue {
public:
    OperationQueue(const Ranks& ranks, Endings& endings, const Departures& departures)
        : ranks_(ranks), endings_(endings), departures_(departures) {}

    [[nodiscard]] bool empty() const { return operations_.empty(); }
    // Begins it, if nothing before it holds it up.
    void add(const tutti_backend_call* call);
    void progress();
    // Ranks have left: what they take no part in fails.
    void fail_without_departed();
    // Ends all calls but those whose memory is in use.
    using InUse = std::function<bool(InFlight&)>;
    void end_all(const Failure& why, const InUse& is_in_use);
    void abandon_all();

private:
    void begin_ready();
    // Whether the operation, which is the first, is over.
    [[nodiscard]] bool advance(Operation& first);
    void fail(Entry& entry, const Failure& failure);

    const Ranks& ranks_;
    Endings& endings_;
    const Departures& departures_;
    std::deque<Operation> operations_;
    size_t begun_ = 0;  // of them, the first ones
};

}  // namespace tutti::mpi
