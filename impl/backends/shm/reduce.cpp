// Every rank shows its data; the destination combines them, or all share the combining.
#include "collectives.hpp"
#include "reduce_remote.hpp"
#include "reduce_scattered.hpp"
#include "tuning.hpp"

namespace tutti::shm {

namespace {

// From where the inputs are. False: they are not to be read there.
bool reduce_directly(Team& team, ConstBytes input, Bytes output,
                     const algorithm::Reduction& reduction) {
    DirectRead direct(team, OperationKind::Reduce, input.size());
    direct.show(input);
    if (direct.find_all() == DirectRead::Reach::None) return false;
    if (!direct.sees() || input.size() > one_combines) {
        fetched(direct, input, output, reduction);
        return true;
    }
    if (!output.empty()) {
        reduce_remote(direct, reduction, output, input, 0, {},
                      stores_for(output.size(), team.size()));
    }
    direct.finish_together();
    return true;
}

void reduce_by_slots(Team& team, ConstBytes input, Bytes output, bool is_destination,
                     const algorithm::Reduction& reduction) {
    team.log_algorithm(OperationKind::Reduce, input.size(), "staged");
    if (!reduction.is_partial && shares_combining(input.size(), team.size())) {
        scattered(team, input, output, reduction);
    } else {
        const size_t length = one_way_chunk_for(input.size(), team.size());
        const auto stage = [&](uint64_t step, size_t index) {
            show(team, step, piece_of(input, index, length), reduction);
        };
        const auto read = [&](uint64_t step, size_t index) {
            const size_t bytes = piece_of(input, index, length).size();
            if (is_destination) {
                team.await_all(step);
                combine_shown(
                    team, reduction, piece_of(output, index, reduction.combined_size(length)),
                    piece_of(input, index, length),
                    [&](int rank) { return team.posted(rank, step, bytes); },
                    stores_for(output.size(), team.size()));
            }
            team.finish(step, bytes);
        };
        pipeline(team, pieces_of(input.size(), length), stage, read);
    }
}

}  // namespace

void reduce(Team& team, ConstBytes input, Bytes output, int destination,
            const algorithm::Reduction& reduction) {
    const bool is_destination = team.rank() == destination;
    if (!is_destination) output = {};
    const bool looks = !reduction.is_partial &&
                       DirectRead::is_for(team, OperationKind::Reduce, input.size(), reduction);
    if (!looks || !reduce_directly(team, input, output, reduction)) {
        reduce_by_slots(team, input, output, is_destination, reduction);
    }
}

}  // namespace tutti::shm
