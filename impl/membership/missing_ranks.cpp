#include "missing_ranks.hpp"

#include <cstdlib>
#include <sstream>

namespace tutti::membership {

std::string list_of_ranks(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += cat(text.empty() ? "" : ", ", rank);
    return text;
}

std::vector<int> ranks_of_text(const std::string& list) {
    std::istringstream text(list);
    std::vector<int> ranks;
    for (int rank = 0; text >> rank; text.ignore(1)) ranks.push_back(rank);
    return ranks;
}

std::string text_of_wait(const std::string& ranks, const std::string& not_done) {
    const bool several = ranks.find_first_of(",-") != std::string::npos;
    return cat("timed out waiting for rank", several ? "s " : " ", ranks,
               several ? ", which have not " : ", which has not ", not_done);
}

Error missing_ranks_error(const std::string& ranks, const std::string& refused) {
    return {TUTTI_ERR_TIMEOUT,
            cat(text_of_wait(ranks, "joined"), refused.empty() ? "" : cat("; refused: ", refused)),
            static_cast<int>(std::strtol(ranks.c_str(), nullptr, 10))};
}

Status left_error(int rank) {
    return {TUTTI_ERR_PEER_LOST, rank, 0, cat("rank ", rank, " left the group")};
}

Status all_others_left_error() {
    return {TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"};
}

Status death_error(int rank, const Status& why) {
    return {TUTTI_ERR_PEER_LOST, rank, why.system_errno,
            cat("rank ", rank, " died (", why.message, ")")};
}

Status is_cut_off(int rank, const Status& why) {
    return {TUTTI_ERR_PEER_LOST, rank, why.system_errno,
            cat("rank ", rank, " is cut off, as its host is (", why.message, ")")};
}

Status silence_error(int rank, int64_t timeout_ms) {
    return {TUTTI_ERR_PEER_LOST, rank, 0,
            cat("rank ", rank, " has not answered for ", timeout_ms, " ms (stopped or cut off)")};
}

Status slept_error() {
    return {TUTTI_ERR_PEER_LOST, -1, 0,
            "this process did not run for a while, and finds none that did"};
}

Status ruled_out_error(int rank, const Status& loss) {
    return {TUTTI_ERR_ABORTED, rank, 0,
            cat("the other ranks go on without this one: ", loss.message)};
}

}  // namespace tutti::membership
