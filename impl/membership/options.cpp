#include "options.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace tutti::membership {

namespace {

std::string last_word(const std::string& line) {
    return line.substr(line.rfind(' ') + 1);
}

}  // namespace

void compare_options(const std::vector<std::string>& of_ranks) {
    if (of_ranks.empty()) return;
    const auto other = std::ranges::find_if(
        of_ranks, [&](const std::string& one) { return one != of_ranks.front(); });
    if (other == of_ranks.end()) return;
    const auto rank = static_cast<int>(other - of_ranks.begin());
    std::istringstream ours(of_ranks.front());
    std::istringstream theirs(*other);
    for (std::string one, their; std::getline(ours, one) && std::getline(theirs, their);) {
        if (one == their) continue;
        throw Error(TUTTI_ERR_MISMATCH,
                    cat(their, " on rank ", rank, " and ", last_word(one), " on rank 0"), rank);
    }
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", rank, " has another version of the library than rank 0"), rank);
}

}  // namespace tutti::membership
