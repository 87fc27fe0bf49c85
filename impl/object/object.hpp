// A typed value: nil, bool, integer, float64, string, bytes, list, map, timestamp, array. Its nodes
// lie one behind the other in the order in which they were built. Never changes once it is there,
// so any thread may read it; Builder makes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "arena.hpp"
#include "key.hpp"
#include "node.hpp"

namespace tutti {

class Object {
public:
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    [[nodiscard]] size_t size() const { return nodes_.size(); }
    // Lists and maps inside each other, at the deepest place.
    [[nodiscard]] size_t depth() const { return depth_; }
    [[nodiscard]] const Node& operator[](size_t node) const { return nodes_[node]; }
    // The node behind this one and all it contains.
    [[nodiscard]] size_t end(size_t node) const { return node + nodes_[node].extent(); }

    // Whether some of it lies in memory that is not its own.
    [[nodiscard]] bool borrows() const { return borrows_; }

    [[nodiscard]] tutti_object_item item(size_t node) const;

    // The node; throws INVALID_ARGUMENT, naming the argument, if there is none, or one of another
    // kind.
    [[nodiscard]] size_t check_node(int64_t node, const char* argument) const;
    [[nodiscard]] size_t check_node(int64_t node, const char* argument,
                                    tutti_object_kind kind) const;

    // The value of a key; nothing if there is no such key. `map` is a map.
    [[nodiscard]] std::optional<size_t> find(size_t map, const Key& key) const;
    // A value of a list. `index` is below its size.
    [[nodiscard]] size_t at(size_t list, uint64_t index) const;

private:
    friend class Builder;
    Object() = default;

    // The index of a large list: where its values are, counted from the list. The index of a large
    // map: a hash table of where its keys are, counted likewise; 0 is an empty place, and their
    // number a power of 2.
    struct Index {
        uint32_t node = 0;
        std::vector<uint32_t> places;
    };
    [[nodiscard]] const std::vector<uint32_t>& index_of(size_t node) const;

    std::vector<Node> nodes_;
    std::vector<Index> indexes_;  // by node
    Arena arena_;
    size_t depth_ = 0;
    bool borrows_ = false;
};

}  // namespace tutti
