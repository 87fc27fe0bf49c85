#include "reduce_scattered.hpp"

#include "tuning.hpp"

namespace tutti::shm {

namespace {

// In each step a rank shows its piece and, behind it, its share of the sum of the piece before, so
// that ranks wait for each other once for a piece.
class Scattered {
public:
    Scattered(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction)
        : team_(team),
          input_(input),
          output_(output),
          reduction_(reduction),
          length_(chunk_for(input.size(), team.size())),
          stores_(stores_for(output.size(), team.size())),
          pieces_(pieces_of(input.size(), length_)),
          first_(team.take(pieces_ + 1)) {}

    void run() {
        for (size_t index = 0; index <= pieces_; ++index) {
            const uint64_t step = first_ + index;
            if (index > 0) team_.await_all(step - 1);
            const Team::Slot mine = team_.stage_slot(step);
            if (index < pieces_) {
                stage(piece_of(input_, index, length_), mine.data);
            }
            if (index > 0) combine(index - 1, mine.result);
            team_.post(step);
            if (index > 1) collect(index - 2);
            if (index > 0) team_.finish_slot(step - 1);
        }
        if (!output_.empty()) {
            team_.await_all(first_ + pieces_);
            collect(pieces_ - 1);
        }
        team_.finish_slot(first_ + pieces_);
    }

private:
    // Copies the piece without this rank's own share, which is read from the input, unless the
    // reduction changes its inputs.
    void stage(ConstBytes piece, Bytes slot) const {
        if (reduction_.changes_input()) return reduction_.begin(slot.first(piece.size()), piece);
        const Share own = share_of_piece(piece.size(), team_.rank(), team_.size());
        const size_t end = own.begin + own.bytes;
        copy_in(slot.first(own.begin), piece.first(own.begin));
        copy_in(slot.subspan(end, piece.size() - end), piece.subspan(end));
    }

    // This rank's share of the piece, all of which is in the slots of that step.
    void combine(size_t index, Bytes result) const {
        const size_t bytes = piece_of(input_, index, length_).size();
        const Share mine = share_of_piece(bytes, team_.rank(), team_.size());
        combine_shown(
            team_, reduction_, result.first(mine.bytes),
            piece_of(input_, index, length_).subspan(mine.begin, mine.bytes),
            [&](int rank) {
                const Bytes data = team_.posted_slot(rank, first_ + index).data;
                return data.subspan(mine.begin, mine.bytes);
            },
            staging_stores(mine.bytes));
    }

    // All shares of the piece, which were posted in the step after.
    void collect(size_t index) const {
        if (output_.empty()) return;
        const Bytes piece = piece_of(output_, index, length_);
        for (int rank = 0; rank < team_.size(); ++rank) {
            const Share part = share_of_piece(piece.size(), rank, team_.size());
            copy_out(piece.subspan(part.begin, part.bytes),
                     team_.posted_slot(rank, first_ + index + 1).result.first(part.bytes), stores_);
        }
    }

    Team& team_;
    const ConstBytes input_;
    const Bytes output_;
    const algorithm::Reduction& reduction_;
    const size_t length_;
    const Stores stores_;
    const size_t pieces_;
    const uint64_t first_;
};

}  // namespace

void scattered(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction) {
    Scattered(team, input, output, reduction).run();
}

}  // namespace tutti::shm
