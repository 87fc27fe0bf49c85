// Ranks show each other how much each gives every other and expects of it, so that all see the same
// and agree whether it fits. Then they show their pieces, the same part of all of them in a step;
// in place, too: what a part is copied over was shown before. Where only a few pieces are long,
// these have all the room of a step to themselves, once the short ones have ended.
#include <algorithm>
#include <memory>
#include <vector>

#include "collectives.hpp"
#include "pieces.hpp"
#include "schedule.hpp"
#include "size_matrix.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

// Pieces of one tensor that takes its own place may have to lie elsewhere when they come than when
// they go.
bool moves(std::span<const ConstBytes> inputs, std::span<const Bytes> outputs) {
    return !std::ranges::equal(inputs, outputs, [](ConstBytes in, Bytes out) {
        return in.size() == out.size() && (in.empty() || in.data() == out.data());
    });
}

// The same pieces in memory of their own.
std::vector<ConstBytes> put_aside(std::span<const ConstBytes> pieces,
                                  std::unique_ptr<std::byte[]>& room) {
    const size_t bytes = algorithm::total_size(pieces);
    room = std::make_unique_for_overwrite<std::byte[]>(bytes);
    Bytes left{room.get(), bytes};
    std::vector<ConstBytes> aside;
    aside.reserve(pieces.size());
    for (const ConstBytes piece : pieces) {
        copy(left, piece);
        aside.emplace_back(left.first(piece.size()));
        left = left.subspan(piece.size());
    }
    return aside;
}

class UnevenAllToAll {
public:
    UnevenAllToAll(Team& team, const SizeMatrix& sizes, std::span<const ConstBytes> inputs,
                   std::span<const Bytes> outputs)
        : team_(team),
          inputs_(inputs),
          outputs_(outputs),
          own_(static_cast<size_t>(team.rank())),
          schedule_(sizes),
          stores_(stores_for(algorithm::total_size(outputs), team.size())) {
        for (size_t rank = 0; rank < inputs.size(); ++rank) {
            places_.push_back(schedule_.place(own_, rank));
            places_here_.push_back(schedule_.place(rank, own_));
        }
    }

    void run() {
        const size_t steps = schedule_.steps();
        Window staged = schedule_.first();
        Window taken = staged;
        const auto stage = [&](uint64_t step, size_t index) {
            if (index > 0) staged = schedule_.next(staged);
            show(step, staged);
        };
        const auto read = [&](uint64_t step, size_t index) {
            if (index > 0) taken = schedule_.next(taken);
            take(step, taken);
        };
        if (steps > 0) pipeline(team_, steps, stage, read);
        copy_data(outputs_[own_], inputs_[own_], stores_);
    }

private:
    void show(uint64_t step, const Window& window) {
        const Bytes mine = team_.stage(step, window.room());
        for (size_t rank = 0; rank < inputs_.size(); ++rank) {
            const ConstBytes piece = window.of(inputs_[rank]);
            if (rank == own_ || piece.empty()) continue;
            copy_in(mine.subspan(places_[rank] * window.length, piece.size()), piece);
        }
        team_.post(step);
    }

    void take(uint64_t step, const Window& window) {
        for (int turn = 1; turn < team_.size(); ++turn) {
            const int peer = algorithm::around(team_.rank(), turn, team_.size());
            const auto rank = static_cast<size_t>(peer);
            const Bytes piece = window.of(outputs_[rank]);
            if (piece.empty()) continue;
            const ConstBytes all = team_.await(peer, step, window.room());
            copy_out(piece, all.subspan(places_here_[rank] * window.length, piece.size()), stores_);
        }
        team_.finish(step, window.room());
    }

    Team& team_;
    const std::span<const ConstBytes> inputs_;
    const std::span<const Bytes> outputs_;
    const size_t own_;
    const Schedule schedule_;
    const Stores stores_;
    std::vector<size_t> places_;       // of this rank's pieces, where it shows them
    std::vector<size_t> places_here_;  // of those for this rank, where others show them
};

}  // namespace

void uneven_all_to_all(Team& team, std::span<const ConstBytes> inputs,
                       std::span<const Bytes> outputs, bool in_place, tutti_dtype dtype) {
    const SizeMatrix sizes = agree_on_sizes(team, inputs, outputs, dtype);
    team.log_algorithm(OperationKind::AllToAll, algorithm::total_size(inputs), "staged");
    std::unique_ptr<std::byte[]> room;
    std::vector<ConstBytes> aside;
    if (in_place && moves(inputs, outputs)) {
        aside = put_aside(inputs, room);
        inputs = aside;
    }
    UnevenAllToAll(team, sizes, inputs, outputs).run();
}

}  // namespace tutti::shm
