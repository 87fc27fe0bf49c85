// Rank 0 waits for a message of every other rank and knows who has not come; who has sent knows
// that rank 0 is there, and waits for what it says. The thread that runs the collective.
#pragma once

#include <span>

#include "exchange.hpp"

namespace tutti::algorithm {

// On rank 0: `arriving` are receives from the ranks 1, 2, ... Throws TIMEOUT when the exchange's
// deadline has passed, naming all that are missing or the first of them: "rank 3 `omitted` in 500
// ms".
void call_the_roll(Exchange& exchange, std::span<const Exchange::Ticket> arriving, bool name_all,
                   const char* omitted);

// When another rank, whose message rank 0 has just taken, stops waiting for what rank 0 says: as
// long again as the whole call may take, twice, until rank 0's timeout has passed and its verdict
// has come. `start` is when the call began here.
Deadline verdict_of_rank_0(const Deadline& deadline, Deadline::Clock::time_point start);

}  // namespace tutti::algorithm
