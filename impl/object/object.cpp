#include "object.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "limits.hpp"

namespace tutti {

const char* kind_name(tutti_object_kind kind) {
    switch (kind) {
        case TUTTI_OBJECT_NIL:
            return "nil";
        case TUTTI_OBJECT_BOOL:
            return "a bool";
        case TUTTI_OBJECT_INT64:
        case TUTTI_OBJECT_UINT64:
            return "an integer";
        case TUTTI_OBJECT_FLOAT64:
            return "a float64";
        case TUTTI_OBJECT_STRING:
            return "a string";
        case TUTTI_OBJECT_BYTES:
            return "bytes";
        case TUTTI_OBJECT_LIST:
            return "a list";
        case TUTTI_OBJECT_MAP:
            return "a map";
        case TUTTI_OBJECT_TIMESTAMP:
            return "a timestamp";
        case TUTTI_OBJECT_ARRAY:
            return "an array";
        default:
            return "of no known kind";
    }
}

size_t Object::check_node(int64_t node, const char* argument) const {
    if (node >= 0 && static_cast<uint64_t>(node) < nodes_.size()) return static_cast<size_t>(node);
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat(argument, " is ", node, ", and the object has nodes 0 to ", nodes_.size() - 1));
}

size_t Object::check_node(int64_t node, const char* argument, tutti_object_kind kind) const {
    const size_t found = check_node(node, argument);
    if (nodes_[found].kind() == kind) return found;
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat(argument, " is ", node, ", which is ", kind_name(nodes_[found].kind()),
                    ", not ", kind_name(kind)));
}

const std::vector<uint32_t>& Object::index_of(size_t node) const {
    const auto found = std::ranges::lower_bound(indexes_, node, {}, &Index::node);
    TUTTI_ASSERT(found != indexes_.end() && found->node == node);
    return found->places;
}

std::optional<size_t> Object::find(size_t map, const Key& key) const {
    if (nodes_[map].size() > object_limits::unindexed) {
        const std::vector<uint32_t>& table = index_of(map);
        const size_t mask = table.size() - 1;
        for (size_t place = hash(key) & mask; table[place] != 0; place = (place + 1) & mask) {
            const size_t node = map + table[place];
            if (Key(nodes_[node]) == key) return node + 1;
        }
        return std::nullopt;
    }
    for (size_t node = map + 1; node < end(map); node = end(node + 1)) {
        if (Key(nodes_[node]) == key) return node + 1;
    }
    return std::nullopt;
}

size_t Object::at(size_t list, uint64_t index) const {
    const Node& head = nodes_[list];
    if (head.extent() == head.size() + 1) return list + 1 + index;  // scalars only
    if (head.size() > object_limits::unindexed) return list + index_of(list)[index];
    size_t node = list + 1;
    for (; index > 0; --index) node = end(node);
    return node;
}

}  // namespace tutti
