// Short data every rank combines by itself; two ranks show each other pieces of long ones, and each
// combines its own with the other's; else ranks share the combining, and so do those that read each
// other's memory.
#include "collectives.hpp"
#include "reduce_remote.hpp"
#include "reduce_scattered.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

using algorithm::Reduction;

void by_everyone(Team& team, ConstBytes input, Bytes output, const Reduction& reduction) {
    const uint64_t step = team.take(1);
    const size_t bytes = input.size();
    show(team, step, input, reduction);
    team.await_all(step);
    combine_shown(team, reduction, output, input,
                  [&](int rank) { return team.posted(rank, step, bytes); });
    team.finish(step, bytes);
}

void by_two(Team& team, ConstBytes input, Bytes output, const Reduction& reduction) {
    const size_t length = chunk_for(input.size(), 2);
    const auto stage = [&](uint64_t step, size_t index) {
        show(team, step, piece_of(input, index, length), reduction);
    };
    // In place the lines are in a cache already.
    const Stores stores =
        input.data() == output.data() ? Stores::Ordinary : stores_for(output.size(), team.size());
    const auto read = [&](uint64_t step, size_t index) {
        const Bytes piece = piece_of(output, index, length);
        team.await(1 - team.rank(), step);
        combine_shown(
            team, reduction, piece, piece_of(input, index, length),
            [&](int rank) { return team.posted(rank, step, piece.size()); }, stores);
        team.finish(step, piece.size());
    };
    pipeline(team, pieces_of(input.size(), length), stage, read);
}

// From where the inputs are. False: they are not to be read there.
bool all_reduce_directly(Team& team, ConstBytes input, Bytes output, const Reduction& reduction) {
    DirectRead direct(team, OperationKind::AllReduce, input.size());
    direct.show(input, output);
    if (direct.find_all() == DirectRead::Reach::None) return false;
    if (!direct.sees() || direct.is_in_place() || input.size() > everyone_combines(team.size())) {
        fetched(direct, input, output, reduction);
    } else {
        reduce_remote(direct, reduction, output, input, 0, {},
                      stores_for(output.size(), team.size()));
        direct.finish_together();
    }
    return true;
}

void all_reduce_by_slots(Team& team, ConstBytes input, Bytes output, const Reduction& reduction) {
    const bool everyone =
        team.algorithm(OperationKind::AllReduce, input.size()) == Algorithm::Everyone;
    team.log_algorithm(OperationKind::AllReduce, input.size(), everyone ? "everyone" : "staged");
    if (everyone) {
        by_everyone(team, input, output, reduction);
    } else if (team.size() == 2 && !shares_combining(input.size(), 2)) {
        by_two(team, input, output, reduction);
    } else {
        scattered(team, input, output, reduction);
    }
}

}  // namespace

void all_reduce(Team& team, ConstBytes input, Bytes output, const Reduction& reduction) {
    const bool looks = DirectRead::is_for(team, OperationKind::AllReduce, input.size(), reduction);
    if (!looks || !all_reduce_directly(team, input, output, reduction)) {
        all_reduce_by_slots(team, input, output, reduction);
    }
}

}  // namespace tutti::shm
