#include "overlap_check.hpp"

#include <algorithm>
#include <iterator>

namespace tutti {

namespace {

uintptr_t begin_of(ConstBytes memory) {
    return reinterpret_cast<uintptr_t>(memory.data());
}
uintptr_t end_of(ConstBytes memory) {
    return begin_of(memory) + memory.size();
}

}  // namespace

bool OverlapCheck::hits(const Ranges& ranges, ConstBytes memory) {
    if (memory.empty()) return false;
    const auto after = ranges.lower_bound(end_of(memory));  // begins where the view is over
    return after != ranges.begin() && std::prev(after)->second > begin_of(memory);
}

void OverlapCheck::add(Ranges& ranges, ConstBytes memory) {
    if (memory.empty()) return;
    uintptr_t begin = begin_of(memory);
    uintptr_t end = end_of(memory);
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
