#include "shared.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tutti::shm {

namespace {

constexpr int offset_bits = 42;
constexpr uint64_t most_offset = (uint64_t{1} << offset_bits) - 1;
constexpr uint64_t most_number = UINT64_MAX >> offset_bits;

algorithm::ConstBytes bytes_of(const Segment& segment) {
    return {static_cast<const std::byte*>(segment.data()), segment.size()};
}

}  // namespace

void Shared::add(std::vector<std::shared_ptr<Segment>> parts) {
    drop_given_up();
    blocks_.push_back({++last_, std::move(parts)});
}

void Shared::drop_given_up() {
    for (Block& block : blocks_) {
        for (auto& part : block.parts) {
            if (part && part->is_given_up()) part.reset();
        }
    }
    std::erase_if(blocks_, [](const Block& block) {
        return std::ranges::none_of(block.parts, [](const auto& part) { return part != nullptr; });
    });
}

Place Shared::place_of(algorithm::ConstBytes data) const {
    const std::less_equal<const std::byte*> before;
    for (const Block& block : blocks_) {
        const auto& mine = block.parts[static_cast<size_t>(rank_)];
        if (!mine || block.number > most_number) continue;
        const algorithm::ConstBytes all = bytes_of(*mine);
        if (!before(all.data(), data.data()) ||
            !before(data.data() + data.size(), all.data() + all.size()) || mine->is_given_up()) {
            continue;
        }
        const auto offset = static_cast<uint64_t>(data.data() - all.data());
        return offset > most_offset ? 0 : block.number << offset_bits | offset;
    }
    return 0;
}

algorithm::ConstBytes Shared::find(int rank, Place place) const {
    const uint64_t number = place >> offset_bits;
    const auto block = std::ranges::lower_bound(blocks_, number, {}, &Block::number);
    if (block == blocks_.end() || block->number != number) return {};
    const auto& part = block->parts[static_cast<size_t>(rank)];
    const uint64_t offset = place & most_offset;
    if (!part || offset > part->size()) return {};
    return bytes_of(*part).subspan(static_cast<size_t>(offset));
}

}  // namespace tutti::shm
