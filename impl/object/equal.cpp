#include "equal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "reduce/reduce.hpp"

namespace tutti {

namespace {

bool same_bytes(const void* a, const void* b, size_t size) {
    return size == 0 || std::memcmp(a, b, size) == 0;
}

bool same_array(const Array& a, const Array& b, size_t count) {
    return a.dtype == b.dtype && a.dimensions == b.dimensions &&
           std::equal(a.shape, a.shape + a.dimensions, b.shape) &&
           same_bytes(a.data, b.data, count * element_size(a.dtype));
}

// Compares two nodes without their contents.
bool same_node(const Node& a, const Node& b) {
    if (a.kind() != b.kind() || a.size() != b.size()) return false;
    switch (a.kind()) {
        case TUTTI_OBJECT_LIST:
        case TUTTI_OBJECT_MAP:
            return true;
        case TUTTI_OBJECT_STRING:
        case TUTTI_OBJECT_BYTES:
            return same_bytes(a.memory(), b.memory(), a.size());
        case TUTTI_OBJECT_ARRAY:
            return same_array(a.array(), b.array(), a.size());
        default:
            return a.bits() == b.bits();
    }
}

class Comparison {
public:
    Comparison(const Object& a, const Object& b) : a_(a), b_(b) {}

    bool same(size_t node_a, size_t node_b) {
        if (!meet(node_a, node_b)) return false;
        while (!open_.empty()) {
            const auto [in_a, in_b] = open_.back();
            open_.pop_back();
            if (!(a_[in_a].kind() == TUTTI_OBJECT_LIST ? lists(in_a, in_b) : maps(in_a, in_b))) {
                return false;
            }
        }
        return true;
    }

private:
    // The contents of lists and maps are compared later.
    bool meet(size_t node_a, size_t node_b) {
        if (!same_node(a_[node_a], b_[node_b])) return false;
        if (a_[node_a].extent() > 1) open_.emplace_back(node_a, node_b);
        return true;
    }

    bool lists(size_t list_a, size_t list_b) {
        size_t node_b = list_b + 1;
        for (size_t node = list_a + 1; node < a_.end(list_a); node = a_.end(node)) {
            if (!meet(node, node_b)) return false;
            node_b = b_.end(node_b);
        }
        return true;
    }

    // As many pairs in both, so it is enough that each of one is in the other.
    bool maps(size_t map_a, size_t map_b) {
        size_t next_b = map_b + 1;
        for (size_t node = map_a + 1; node < a_.end(map_a); node = a_.end(node + 1)) {
            const Key key(a_[node]);
            // Mostly the order is the same too.
            const bool in_step = next_b < b_.end(map_b) && Key(b_[next_b]) == key;
            const auto found = in_step ? next_b + 1 : b_.find(map_b, key);
            if (!found || !meet(node + 1, *found)) return false;
            next_b = b_.end(*found);
        }
        return true;
    }

    const Object& a_;
    const Object& b_;
    std::vector<std::pair<size_t, size_t>> open_;
};

}  // namespace

bool equal(const Object& a, size_t node_a, const Object& b, size_t node_b) {
    return Comparison(a, b).same(node_a, node_b);
}

}  // namespace tutti
