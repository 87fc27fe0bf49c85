// A call on memory of a device, as one call or several calls on memory of the CPU, with the copies
// before and after each. Long data are cut in columns, the same on all ranks, so that copies and
// calls overlap. Plain data; nothing moves here.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.hpp"
#include "call/flat.hpp"

namespace tutti::staged {

// Between memory of the device and a place in the memory of the CPU.
struct Copy {
    std::byte* device;
    std::byte* host;
    size_t bytes;
};

struct Stage {
    FlatCall call;          // on memory of the CPU
    std::vector<Copy> in;   // to the CPU, before it
    std::vector<Copy> out;  // to the device, after it
};

class Plan {
public:
    // `rank` of `ranks`. The memory of the call is not touched.
    Plan(const FlatCall& call, int rank, int ranks);

    // One at the least.
    [[nodiscard]] size_t stages() const { return stages_; }
    // Memory of the CPU that each of them needs.
    [[nodiscard]] size_t stage_bytes() const { return stage_bytes_; }
    // `host` has stage_bytes().
    [[nodiscard]] Stage stage(size_t index, std::byte* host) const;

    // Data of a call that is not cut: what all ranks do not know alike, or what is issued as one.
    static bool is_cut(const FlatCall& call);

private:
    struct Extent {
        std::byte* begin;
        std::byte* end;
        size_t offset;  // of its place in the memory of the CPU
    };
    class Builder;

    void find_extents(const FlatCall& call);
    void place_extents();
    [[nodiscard]] std::byte* place_of(const std::byte* device, std::byte* host) const;
    void map_whole(const FlatCall& call, std::byte* host, Stage& stage, FlatCall& mapped) const;

    const FlatCall& call_;
    const int rank_;
    size_t column_ = 0;  // bytes of each piece in a stage; 0: it is not cut
    size_t stages_ = 1;
    size_t stage_bytes_ = 0;
    std::vector<Extent> extents_;  // by address; of a call that is not cut
};

}  // namespace tutti::staged
