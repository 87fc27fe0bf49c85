// Every rank sends to rank 0, which answers when all have come. A send is done when rank 0
// receives, so who has sent knows that rank 0 is there and will say, within its own timeout, who is
// missing.
#include "algorithm.hpp"
#include "roll_call.hpp"

namespace tutti::algorithm {

void monitored_barrier(Exchange& exchange, bool wait_all_ranks) {
    const auto start = Deadline::Clock::now();
    if (exchange.rank() == 0) {
        std::vector<Exchange::Ticket> arriving;
        for (int rank = 1; rank < exchange.size(); ++rank) {
            arriving.push_back(exchange.receive(rank, {}));
        }
        call_the_roll(exchange, arriving, wait_all_ranks, "failed to pass the monitored barrier");
        for (int rank = 1; rank < exchange.size(); ++rank) exchange.send(rank, {});
        return exchange.wait_all();
    }
    const auto answer = exchange.receive(0, {});
    exchange.wait(exchange.send(0, {}));
    exchange.wait(answer, verdict_of_rank_0(exchange.deadline(), start));
}

}  // namespace tutti::algorithm
