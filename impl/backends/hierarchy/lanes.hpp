// Lists of pieces, by rank, split among several ranks of each host for the network: local rank p
// takes those of its host's ranks p, p + lanes, p + 2 * lanes, ... Any thread; touches only its
// arguments.
#pragma once

#include "base/block.hpp"
#include "call_context.hpp"

namespace tutti::hierarchy {

// The pieces of that host in that lane, in the order of their ranks.
template <typename Byte>
std::vector<std::span<Byte>> column(const Hosts& hosts, int host, int lane, int lanes,
                                    std::span<const std::span<Byte>> pieces) {
    std::vector<std::span<Byte>> result;
    const Ranks& ranks = hosts.on(host);
    for (auto local_rank = static_cast<size_t>(lane); local_rank < ranks.size();
         local_rank += static_cast<size_t>(lanes)) {
        result.push_back(pieces[static_cast<size_t>(ranks[local_rank])]);
    }
    return result;
}

// One piece for each lane, the index-th of each column, and nothing for the other ranks of this
// host.
template <typename Byte>
std::vector<std::span<Byte>> row(const Hosts& hosts, int host, size_t index, int lanes,
                                 std::span<const std::span<Byte>> pieces) {
    std::vector<std::span<Byte>> result(hosts.here().size());
    const Ranks& ranks = hosts.on(host);
    const size_t begin = index * static_cast<size_t>(lanes);
    const size_t end = std::min(begin + static_cast<size_t>(lanes), ranks.size());
    for (size_t local_rank = begin; local_rank < end; ++local_rank) {
        result[local_rank - begin] = pieces[static_cast<size_t>(ranks[local_rank])];
    }
    return result;
}

inline size_t rows(const Hosts& hosts, int host, int lanes) {
    const auto length = static_cast<size_t>(lanes);
    return (hosts.on(host).size() + length - 1) / length;
}

// The pieces of that host, in rank order. If all pieces are contiguous, on all ranks, the pieces of
// consecutive ranks are one.
template <typename Byte>
std::vector<std::span<Byte>> runs(const Hosts& hosts, int host, bool is_whole,
                                  std::span<const std::span<Byte>> pieces) {
    std::vector<std::span<Byte>> result;
    int before = -1;
    for (const int rank : hosts.on(host)) {
        const auto piece = pieces[static_cast<size_t>(rank)];
        if (is_whole && !result.empty() && rank == before + 1) {
            result.back() = {result.back().data(), result.back().size() + piece.size()};
        } else {
            result.push_back(piece);
        }
        before = rank;
    }
    return result;
}

// Several pieces as one: in place if they are contiguous, else in memory of its own.
class Joined {
public:
    explicit Joined(std::vector<Bytes> pieces) : pieces_(std::move(pieces)) {
        const std::span<const Bytes> parts(pieces_);
        const size_t bytes = algorithm::total_size(parts);
        if (algorithm::follow_each_other(parts)) {
            all_ = {pieces_.front().data(), bytes};
        } else {
            room_.grow(bytes);
            all_ = {room_.data(), bytes};
        }
    }

    [[nodiscard]] Bytes all() const { return all_; }
    // From and to the pieces.
    void pack() const {
        each([](Bytes ours, Bytes piece) { copy(ours, piece); });
    }
    void unpack() const {
        each([](Bytes ours, Bytes piece) { copy(piece, ours); });
    }

private:
    template <typename Act>
    void each(Act act) const {
        size_t at = 0;
        for (const Bytes piece : pieces_) {
            act(all_.subspan(at, piece.size()), piece);
            at += piece.size();
        }
    }

    std::vector<Bytes> pieces_;
    Block room_;
    Bytes all_;
};

}  // namespace tutti::hierarchy
