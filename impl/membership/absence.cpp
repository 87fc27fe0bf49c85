#include "absence.hpp"

#include <cstdlib>

namespace tutti::membership {

std::string list_of_ranks(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += cat(text.empty() ? "" : ", ", rank);
    return text;
}

Error have_not_come(const std::string& ranks, const std::string& refused) {
    const bool several = ranks.find(',') != std::string::npos;
    return {TUTTI_ERR_TIMEOUT,
            cat("timed out waiting for rank", several ? "s " : " ", ranks,
                several ? ", which have not come" : ", which has not come",
                refused.empty() ? "" : cat("; refused: ", refused)),
            static_cast<int>(std::strtol(ranks.c_str(), nullptr, 10))};
}

Status has_left(int rank) {
    return {TUTTI_ERR_PEER_LOST, rank, 0, cat("rank ", rank, " left the group")};
}

Status all_others_have_left() {
    return {TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"};
}

Status has_died(int rank, const Status& why) {
    return {TUTTI_ERR_PEER_LOST, rank, why.system_errno,
            cat("rank ", rank, " died (", why.message, ")")};
}

Status is_silent(int rank, int64_t limit_ms) {
    return {TUTTI_ERR_PEER_LOST, rank, 0,
            cat("rank ", rank, " has not answered for ", limit_ms, " ms (stopped or cut off)")};
}

}  // namespace tutti::membership
