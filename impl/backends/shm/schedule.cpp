#include "schedule.hpp"

#include <algorithm>
#include <functional>

namespace tutti::shm {

namespace {

// To others; its own piece a rank need not show.
std::vector<size_t> given_by(const SizeMatrix& sizes, size_t from) {
    std::vector<size_t> given;
    given.reserve(sizes.ranks());
    for (size_t to = 0; to < sizes.ranks(); ++to) {
        if (to != from) given.push_back(static_cast<size_t>(sizes.sent(from, to)));
    }
    return given;
}

}  // namespace

Schedule::Schedule(const SizeMatrix& sizes) : sizes_(sizes), lengths_(sizes.ranks() - 1) {
    size_t longest = 0;
    for (size_t from = 0; from < sizes.ranks(); ++from) {
        for (size_t to = 0; to < sizes.ranks(); ++to) {
            if (to != from) longest = std::max(longest, static_cast<size_t>(sizes.sent(from, to)));
        }
    }
    is_one_step_ = longest <= share_of(chunk_bytes, static_cast<int>(lengths_.size()));
    if (is_one_step_) {
        std::ranges::fill(lengths_, longest);
        return;
    }
    for (size_t from = 0; from < sizes.ranks(); ++from) {
        std::vector<size_t> given = given_by(sizes, from);
        std::ranges::sort(given, std::greater());
        std::ranges::transform(given, lengths_, lengths_.begin(),
                               [](size_t one, size_t other) { return std::max(one, other); });
    }
}

Window Schedule::at(size_t begin) const {
    const auto shorter = std::ranges::lower_bound(lengths_, begin, std::greater());
    const auto pieces = static_cast<size_t>(shorter - lengths_.begin());
    if (pieces == 0) return {begin, 0, 0};
    const size_t most = share_of(chunk_bytes, static_cast<int>(pieces));
    return {begin, std::min(most, lengths_.front() - begin), pieces};
}

size_t Schedule::steps() const {
    size_t steps = 0;
    for (Window window = first(); window.length > 0; window = next(window)) ++steps;
    return steps;
}

size_t Schedule::place(size_t from, size_t to) const {
    if (is_one_step_) return to - (to > from ? 1 : 0);
    const uint64_t own = sizes_.sent(from, to);
    size_t longer = 0;
    for (size_t other = 0; other < sizes_.ranks(); ++other) {
        if (other == from || other == to) continue;
        const uint64_t length = sizes_.sent(from, other);
        if (length > own || (length == own && other < to)) ++longer;
    }
    return longer;
}

}  // namespace tutti::shm
