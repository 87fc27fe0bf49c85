// Every rank sends to rank 0, which answers when all have come. A send is done when rank 0 receives,
// so who has sent knows that rank 0 is there and will say, within its own timeout, who is missing.
#include <chrono>
#include <string>

#include "algorithm.hpp"
#include "base/error.hpp"

namespace tutti::algorithm {

namespace {

using std::chrono::milliseconds;

// As long again as the whole call may take, twice: until rank 0's timeout has passed, and what it
// says has come.
Deadline verdict_of_rank_0(const Deadline& deadline, Deadline::Clock::time_point start) {
    if (deadline.is_never()) return deadline;
    return Deadline::at(Deadline::Clock::now() + 2 * (deadline.when() - start));
}

[[noreturn]] void fail(const std::vector<int>& missing, milliseconds patience) {
    std::string ranks;
    for (const int rank : missing) ranks += cat(ranks.empty() ? "" : ", ", rank);
    throw Error(TUTTI_ERR_TIMEOUT,
                cat(missing.size() > 1 ? "ranks " : "rank ", ranks,
                    " failed to pass the monitored barrier in ", patience.count(), " ms"),
                missing.front());
}

void watch(Exchange& exchange, bool wait_all_ranks, milliseconds patience) {
    std::vector<Exchange::Ticket> arriving;
    for (int rank = 1; rank < exchange.size(); ++rank) {
        arriving.push_back(exchange.receive(rank, {}));
    }
    std::vector<int> missing;
    for (int rank = 1; rank < exchange.size(); ++rank) {
        try {
            exchange.wait(arriving[static_cast<size_t>(rank - 1)]);
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            missing.push_back(rank);
            if (!wait_all_ranks) break;
        }
    }
    if (!missing.empty()) fail(missing, patience);
    for (int rank = 1; rank < exchange.size(); ++rank) exchange.send(rank, {});
    exchange.wait_all();
}

}  // namespace

void monitored_barrier(Exchange& exchange, bool wait_all_ranks) {
    const auto start = Deadline::Clock::now();
    const Deadline& deadline = exchange.deadline();
    if (exchange.rank() == 0) {
        const auto patience = deadline.is_never()
                                  ? milliseconds(0)
                                  : std::chrono::round<milliseconds>(deadline.when() - start);
        return watch(exchange, wait_all_ranks, patience);
    }
    const auto answer = exchange.receive(0, {});
    exchange.wait(exchange.send(0, {}));
    exchange.wait(answer, verdict_of_rank_0(deadline, start));
}

}  // namespace tutti::algorithm
