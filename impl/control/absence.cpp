#include "absence.hpp"

#include <cstdlib>

namespace tutti::control {

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

}  // namespace tutti::control
