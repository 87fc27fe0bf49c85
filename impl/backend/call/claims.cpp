#include "claims.hpp"

#include <algorithm>
#include <iterator>

namespace tutti {

namespace {

uintptr_t begin_of(const ConstView& view) {
    return reinterpret_cast<uintptr_t>(view.data);
}
uintptr_t end_of(const ConstView& view) {
    return begin_of(view) + view.size();
}

}  // namespace

bool Claims::hits(const Ranges& ranges, const ConstView& view) {
    if (view.size() == 0) return false;
    const auto after = ranges.lower_bound(end_of(view));  // begins where the view is over
    return after != ranges.begin() && std::prev(after)->second > begin_of(view);
}

void Claims::add(Ranges& ranges, const ConstView& view) {
    if (view.size() == 0) return;
    uintptr_t begin = begin_of(view);
    uintptr_t end = end_of(view);
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin) --next;
    while (next != ranges.end() && next->first <= end) {
        begin = std::min(begin, next->first);
        end = std::max(end, next->second);
        next = ranges.erase(next);
    }
    ranges.emplace(begin, end);
}

}  // namespace tutti
