// The schedule of an uneven all_to_all: the parts of the pieces that ranks post in each step. Plain
// data, the same on all ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pieces.hpp"
#include "size_matrix.hpp"

namespace tutti::shm {

// The same part of every piece that is long enough.
struct Window {
    size_t begin;
    size_t length;  // at most
    size_t pieces;  // of one rank, at most

    [[nodiscard]] size_t room() const { return pieces * length; }
    template <typename Byte>
    [[nodiscard]] std::span<Byte> of(std::span<Byte> piece) const {
        const size_t at = std::min(begin, piece.size());
        return piece.subspan(at, std::min(length, piece.size() - at));
    }
};

class Schedule {
public:
    explicit Schedule(const SizeMatrix& sizes);

    [[nodiscard]] size_t steps() const;
    [[nodiscard]] Window first() const { return at(0); }
    [[nodiscard]] Window next(const Window& window) const {
        return at(window.begin + window.length);
    }
    // Where `from` shows the piece that it gives `to`, in lengths of the window.
    [[nodiscard]] size_t place(size_t from, size_t to) const;

private:
    [[nodiscard]] Window at(size_t begin) const;

    const SizeMatrix& sizes_;
    // How long at most the n-th longest piece of any rank is. A rank's long pieces stand before its
    // short ones, so those of a window are together, unless all pieces go in one step.
    std::vector<size_t> lengths_;
    bool is_one_step_ = false;
};

}  // namespace tutti::shm
