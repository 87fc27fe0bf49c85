// The memory of one side of a call, in the order of the ranks: one piece, one for each rank, or
// none. A few pieces need no allocation. Plain data; the memory itself is the caller's.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

template <typename Byte>
class Pieces {
public:
    using Piece = std::span<Byte>;

    Pieces() {}  // not = default: calls are made often, and all of it would be cleared twice
    Pieces(Piece only) : few_{only}, count_(1) {}

    void reserve(size_t count) {
        if (count > few_.size()) many_.reserve(count);
    }
    void add(Piece piece) {
        if (count_ < few_.size()) {
            few_[count_] = piece;
        } else {
            if (many_.empty()) many_.assign(few_.begin(), few_.end());
            many_.push_back(piece);
        }
        ++count_;
    }

    [[nodiscard]] size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] const Piece* begin() const { return many_.empty() ? few_.data() : many_.data(); }
    [[nodiscard]] const Piece* end() const { return begin() + count_; }
    const Piece& operator[](size_t index) const { return begin()[index]; }
    operator std::span<const Piece>() const { return {begin(), count_}; }
    // Nothing if there are none.
    [[nodiscard]] Piece first() const { return empty() ? Piece{} : *begin(); }

private:
    std::array<Piece, 4> few_;
    std::vector<Piece> many_;  // all of them, if they are more
    size_t count_ = 0;
};

}  // namespace tutti
