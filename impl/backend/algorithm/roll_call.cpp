#include "roll_call.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tutti::algorithm {

namespace {

[[noreturn]] void fail(const std::vector<int>& missing, const char* omitted, int64_t patience_ms) {
    std::string ranks;
    for (const int rank : missing) ranks += cat(ranks.empty() ? "" : ", ", rank);
    throw Error(TUTTI_ERR_TIMEOUT,
                cat(missing.size() > 1 ? "ranks " : "rank ", ranks, " ", omitted, " in ",
                    patience_ms, " ms"),
                missing.front());
}

}  // namespace

void call_the_roll(Exchange& exchange, std::span<const Exchange::Ticket> arriving, bool name_all,
                   const char* omitted) {
    std::vector<int> missing;
    for (size_t index = 0; index < arriving.size(); ++index) {
        try {
            exchange.wait(arriving[index]);
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            missing.push_back(static_cast<int>(index) + 1);
            if (!name_all) break;
        }
    }
    if (!missing.empty()) fail(missing, omitted, exchange.deadline().timeout_ms());
}

Deadline verdict_of_rank_0(const Deadline& deadline, Deadline::Clock::time_point start) {
    if (deadline.is_never()) return deadline;
    return Deadline::at(Deadline::Clock::now() + 2 * (deadline.when() - start));
}

}  // namespace tutti::algorithm
