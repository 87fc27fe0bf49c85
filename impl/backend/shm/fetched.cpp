#include "fetched.hpp"

#include "pieces.hpp"
#include "table.hpp"

namespace tutti::shm {

namespace {

class Fetched {
public:
    Fetched(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction)
        : team_(team),
          direct_(team),
          input_(input),
          output_(output),
          reduction_(reduction),
          most_(std::min(result_bytes, share_of(chunk_bytes, team.size()))),
          length_(most_ * static_cast<size_t>(team.size())),
          stores_(input.data() == output.data() ? Stores::Ordinary
                                                : stores_for(output.size(), team.size())) {}

    void run() {
        direct_.show(input_.data());
        for (int peer = 0; peer < team_.size(); ++peer) direct_.find(peer);
        // Who has posted a piece has read all it wants of it, so then the others may change theirs.
        pipeline(
            team_, pieces_of(input_.size(), length_),
            [this](uint64_t step, size_t index) { combine(step, index); },
            [this](uint64_t step, size_t index) {
                team_.await_all(step);
                if (!output_.empty()) collect(step, index);
                team_.finish_slot(step);
            });
    }

private:
    void combine(uint64_t step, size_t index) {
        const Team::Slot slot = team_.stage_slot(step);
        const ConstBytes piece = piece_of(input_, index, length_);
        const Share share = share_of_piece(piece.size(), team_.rank(), team_.size());
        combine_fetched(direct_, reduction_, slot.result.first(share.bytes),
                        piece.subspan(share.begin, share.bytes), index * length_ + share.begin,
                        slot.data, staging_stores(share.bytes));
        team_.post(step);
    }

    void collect(uint64_t step, size_t index) const {
        const Bytes piece = piece_of(output_, index, length_);
        for (int rank = 0; rank < team_.size(); ++rank) {
            const Share share = share_of_piece(piece.size(), rank, team_.size());
            copy_out(piece.subspan(share.begin, share.bytes),
                     team_.posted_slot(rank, step).result.first(share.bytes), stores_);
        }
    }

    Team& team_;
    Direct direct_;
    const ConstBytes input_;
    const Bytes output_;
    const algorithm::Reduction& reduction_;
    const size_t most_;  // of a share
    const size_t length_;
    const Stores stores_;
};

}  // namespace

void combine_fetched(const Direct& direct, const algorithm::Reduction& reduction, Bytes out,
                     ConstBytes mine, size_t offset, Bytes workplace, Stores stores) {
    const Team& team = direct.team();
    const size_t length = share_of(workplace.size(), team.size());
    const auto place = [&](int rank) {
        return workplace.subspan(static_cast<size_t>(rank) * length, out.size());
    };
    for (int rank = 0; rank < team.size(); ++rank) {
        if (rank != team.rank()) direct.read(rank, offset, place(rank));
    }
    const auto input = [&](int rank) -> ConstBytes {
        return rank == team.rank() ? mine : place(rank);
    };
    combine_all(reduction, out, team.size(), input, stores);
}

void fetched(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction) {
    Fetched(team, input, output, reduction).run();
}

}  // namespace tutti::shm
