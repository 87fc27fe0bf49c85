#include "tree.hpp"

#include <algorithm>

#include "parts.hpp"

namespace tutti::algorithm {

Tree tree_at(int rank, int size, int root) {
    const int relative = around(rank, -root, size);
    int reach = 1;
    while (reach < size && (relative & reach) == 0) reach *= 2;
    Tree tree{relative, std::nullopt, {}, std::min(reach, size - relative)};
    if (relative != 0) tree.parent = around(relative - reach, root, size);
    for (int distance = reach / 2; distance > 0; distance /= 2) {
        const int child = relative + distance;
        if (child >= size) continue;
        tree.children.push_back(
            {around(child, root, size), distance, std::min(distance, size - child)});
    }
    return tree;
}

}  // namespace tutti::algorithm
