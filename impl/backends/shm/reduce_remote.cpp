#include "reduce_remote.hpp"

#include "pieces.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

// Ranks show their shares in their slots; or, where all can see the results of all, in these, each
// in the place that it has in every result.
class Fetched {
public:
    Fetched(DirectRead& direct, ConstBytes input, Bytes output,
            const algorithm::Reduction& reduction)
        : team_(direct.team()),
          direct_(direct),
          input_(input),
          output_(output),
          reduction_(reduction),
          in_outputs_(direct.sees_results()),
          length_(in_outputs_ ? seen_piece_for(input.size(), team_.size()) : slot_piece()),
          stores_(input.data() == output.data() ? Stores::Ordinary
                                                : stores_for(output.size(), team_.size())) {}

    void run() {
        // A rank that has posted a piece has finished reading it, so the others may change theirs.
        pipeline(
            team_, pieces_of(input_.size(), length_),
            [this](uint64_t step, size_t index) { combine(step, index); },
            [this](uint64_t step, size_t index) {
                team_.await_all(step);
                if (!output_.empty()) collect(step, index);
                team_.finish(step, in_outputs_ ? 0 : chunk_bytes);
            });
        if (in_outputs_) direct_.finish_together();
    }

private:
    // A share must fit the part of a slot that is for results, and, if it is copied, the workplace.
    [[nodiscard]] size_t slot_piece() const {
        const size_t most = direct_.sees() ? result_bytes : share_of(chunk_bytes, team_.size());
        return std::min(result_bytes, most) * static_cast<size_t>(team_.size());
    }

    [[nodiscard]] Share share(size_t index, int rank) const {
        Share share = share_of_piece(piece_of(input_, index, length_).size(), rank, team_.size());
        share.begin += index * length_;
        return share;
    }

    void combine(uint64_t step, size_t index) {
        const Share mine = share(index, team_.rank());
        Team::Slot slot{};
        if (in_outputs_) {
            (void)team_.stage(step, 0);
            slot.result = output_.subspan(mine.begin, mine.bytes);
        } else {
            slot = team_.stage_slot(step);
        }
        reduce_remote(direct_, reduction_, slot.result.first(mine.bytes),
                      input_.subspan(mine.begin, mine.bytes), mine.begin, slot.data,
                      staging_stores(mine.bytes));
        team_.post(step);
    }

    void collect(uint64_t step, size_t index) const {
        for (int rank = 0; rank < team_.size(); ++rank) {
            if (in_outputs_ && rank == team_.rank()) continue;
            const Share theirs = share(index, rank);
            const ConstBytes from = in_outputs_
                                        ? direct_.see_result(rank, theirs.begin, theirs.bytes)
                                        : team_.posted_slot(rank, step).result.first(theirs.bytes);
            copy_out(output_.subspan(theirs.begin, theirs.bytes), from, stores_);
        }
    }

    Team& team_;
    DirectRead& direct_;
    const ConstBytes input_;
    const Bytes output_;
    const algorithm::Reduction& reduction_;
    const bool in_outputs_;
    const size_t length_;
    const Stores stores_;
};

}  // namespace

void reduce_remote(const DirectRead& direct, const algorithm::Reduction& reduction, Bytes out,
                   ConstBytes mine, size_t offset, Bytes workplace, Stores stores) {
    const Team& team = direct.team();
    const size_t length = share_of(workplace.size(), team.size());
    const auto input = [&](int rank) -> ConstBytes {
        if (rank == team.rank()) return mine;
        if (direct.sees()) return direct.see(rank, offset, mine.size());
        const Bytes copy = workplace.subspan(static_cast<size_t>(rank) * length, mine.size());
        direct.read(rank, offset, copy);
        return copy;
    };
    combine_all(reduction, out, team.size(), input, stores);
}

void fetched(DirectRead& direct, ConstBytes input, Bytes output,
             const algorithm::Reduction& reduction) {
    Fetched(direct, input, output, reduction).run();
}

}  // namespace tutti::shm
