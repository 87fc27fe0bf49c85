#include "ranks.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "membership/missing_ranks.hpp"

namespace tutti {

std::vector<int> all_ranks(int size) {
    std::vector<int> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

std::string ranks_text(std::span<const int> ranks) {
    std::string text;
    for (size_t at = 0; at < ranks.size();) {
        size_t last = at;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += cat(text.empty() ? "" : ", ", ranks[at]);
        if (last > at) text += cat(last > at + 1 ? "-" : ", ", ranks[last]);
        at = last + 1;
    }
    return text;
}

Status awaited_in_vain(std::span<const int> ranks, const std::string& not_done) {
    return {TUTTI_ERR_TIMEOUT, ranks.empty() ? -1 : ranks.front(), 0,
            membership::text_of_wait(ranks_text(ranks), not_done)};
}

std::vector<int> checked_ranks(std::span<const int> ranks, int size, size_t first,
                               const char* name) {
    std::vector<int> places(static_cast<size_t>(size), -1);
    for (size_t at = 0; at < ranks.size(); ++at) {
        const int rank = ranks[at];
        if (rank < 0 || rank >= size) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(name, "[", first + at, "] is ", rank,
                                                        "; the group has ranks 0 to ", size - 1));
        }
        int& place = places[static_cast<size_t>(rank)];
        if (place >= 0) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(name, "[", first + at, "] is ", rank,
                                                        ", which is ", name, "[", place, "] too"));
        }
        place = static_cast<int>(first + at);
    }
    std::vector<int> sorted(ranks.begin(), ranks.end());
    std::ranges::sort(sorted);
    return sorted;
}

}  // namespace tutti
