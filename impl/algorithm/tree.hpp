// A binomial tree over the ranks of a group. Counted from the root, the parent of a rank is the
// rank without its lowest set bit, so every subtree is a row of neighbours. Plain data.
#pragma once

#include <optional>
#include <vector>

namespace tutti::algorithm {

struct Tree {
    struct Child {
        int rank;
        int distance;  // from this rank, counted from the root: where its subtree begins in ours
        int ranks;     // in its subtree
    };
    int relative;  // this rank, counted from the root
    std::optional<int> parent;
    std::vector<Child> children;  // the one with the largest subtree first
    int ranks;                    // in the subtree, this one included
};

Tree tree_at(int rank, int size, int root);

}  // namespace tutti::algorithm
