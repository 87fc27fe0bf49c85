// A list of plain data that grows; a few items need no allocation. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

template <typename Item>
class Few {
public:
    Few() {}  // not = default: calls are made often, and all of it would be cleared twice
    Few(Item only) : few_{only}, count_(1) {}

    void reserve(size_t count) {
        if (count > few_.size()) many_.reserve(count);
    }
    void add(Item item) {
        if (count_ < few_.size()) {
            few_[count_] = item;
        } else {
            if (many_.empty()) many_.assign(few_.begin(), few_.end());
            many_.push_back(item);
        }
        ++count_;
    }

    [[nodiscard]] size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] const Item* begin() const { return many_.empty() ? few_.data() : many_.data(); }
    [[nodiscard]] const Item* end() const { return begin() + count_; }
    const Item& operator[](size_t index) const { return begin()[index]; }
    operator std::span<const Item>() const { return {begin(), count_}; }
    // Nothing if there are none.
    [[nodiscard]] Item first() const { return empty() ? Item{} : *begin(); }

private:
    std::array<Item, 4> few_;
    std::vector<Item> many_;  // all of them, if they are more
    size_t count_ = 0;
};

}  // namespace tutti
