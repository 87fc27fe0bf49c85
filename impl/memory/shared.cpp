#include "shared.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::shm {

namespace {

constexpr int offset_bits = 42;
constexpr uint64_t max_offset = (uint64_t{1} << offset_bits) - 1;
constexpr uint64_t max_number = UINT64_MAX >> offset_bits;

ConstBytes bytes_of(const Segment& segment) {
    return {static_cast<const std::byte*>(segment.data()), segment.size()};
}

}  // namespace

void Shared::add(std::vector<std::shared_ptr<Segment>> parts) {
    drop_given_up();
    own_numbers_[bytes_of(*parts[static_cast<size_t>(rank_)]).data()] = ++last_;
    blocks_.push_back({last_, std::move(parts)});
}

void Shared::drop_given_up() {
    for (Block& block : blocks_) {
        for (auto& part : block.parts) {
            if (!part || !part->is_given_up()) continue;
            if (&part - block.parts.data() == rank_) own_numbers_.erase(bytes_of(*part).data());
            part.reset();
        }
    }
    std::erase_if(blocks_, [](const Block& block) {
        return std::ranges::none_of(block.parts, [](const auto& part) { return part != nullptr; });
    });
}

const Segment* Shared::part(int rank, uint64_t number) const {
    const auto block = std::ranges::lower_bound(blocks_, number, {}, &Block::number);
    if (block == blocks_.end() || block->number != number) return nullptr;
    return block->parts[static_cast<size_t>(rank)].get();
}

Place Shared::place_of(ConstBytes data) const {
    const auto after = own_numbers_.upper_bound(data.data());
    if (after == own_numbers_.begin()) return 0;
    const auto [begin, number] = *std::prev(after);
    const Segment* const mine = part(rank_, number);
    const auto offset = static_cast<uint64_t>(data.data() - begin);
    const bool is_there = offset <= mine->size() && data.size() <= mine->size() - offset;
    if (!is_there || mine->is_given_up() || number > max_number || offset > max_offset) return 0;
    return number << offset_bits | offset;
}

ConstBytes Shared::find(int rank, Place place) const {
    const Segment* const there = part(rank, place >> offset_bits);
    const uint64_t offset = place & max_offset;
    if (there == nullptr || offset > there->size()) return {};
    return bytes_of(*there).subspan(static_cast<size_t>(offset));
}

}  // namespace tutti::shm
