#include "reduction.hpp"

#include <algorithm>
#include <vector>

namespace tutti::algorithm {

namespace {

constexpr size_t piece_bytes = size_t{64} * 1024;

}  // namespace

void Reduction::combine_and_finish(Bytes out, std::span<const void* const> inputs,
                                   Stores stores) const {
    if (!needs_end(dtype, op)) return combine_all(out, inputs, stores);
    const auto ranks = static_cast<int>(inputs.size());
    if (out.size() <= piece_bytes) {
        combine_all(out, inputs, Stores::Ordinary);
        return finish(out, ranks);
    }
    std::vector<const void*> pieces(inputs.begin(), inputs.end());
    for (size_t begin = 0; begin < out.size(); begin += piece_bytes) {
        const Bytes piece = out.subspan(begin, std::min(piece_bytes, out.size() - begin));
        combine_all(piece, pieces, Stores::Ordinary);
        finish(piece, ranks);
        for (const void*& one : pieces) one = static_cast<const std::byte*>(one) + piece_bytes;
    }
}

}  // namespace tutti::algorithm
