// The memory that ranks of a team share: whether data lie in it, and where another rank's do. A
// plain value: the team has one on the thread of its calls, its messages one under their lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "segment.hpp"

namespace tutti::shm {

// A shared block and an offset in it; 0: in none. Ranks send it to each other.
using Place = uint64_t;

class Shared {
public:
    explicit Shared(int rank) : rank_(rank) {}

    // Whether any was ever shared: the same on all ranks, at the same call.
    [[nodiscard]] bool has_any() const { return last_ > 0; }
    // One block, of which every rank has a part, by rank. All ranks add the same ones.
    void add(std::vector<std::shared_ptr<Segment>> parts);

    // Where all of these data, this rank's, are.
    [[nodiscard]] Place place_of(ConstBytes data) const;
    // From that place of the rank's part to the end of the part; empty if there is no such place.
    [[nodiscard]] ConstBytes find(int rank, Place place) const;

private:
    struct Block {
        uint64_t number;
        std::vector<std::shared_ptr<Segment>> parts;  // by rank; null: freed
    };
    void drop_given_up();
    // The rank's part of that number; null if there is none.
    [[nodiscard]] const Segment* part(int rank, uint64_t number) const;

    int rank_;
    std::vector<Block> blocks_;                         // by number
    std::map<const std::byte*, uint64_t> own_numbers_;  // by where this rank's parts begin
    uint64_t last_ = 0;                                 // number
};

}  // namespace tutti::shm
