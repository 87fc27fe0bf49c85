// Does an all_to_all of any sizes over shared memory give every rank its pieces, in place too, and
// do all ranks hear the same of two that disagree? N ranks as threads.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "backends/shm/bootstrap.hpp"
#include "backends/shm/collectives.hpp"
#include "call/lower.hpp"
#include "support/collective.hpp"
#include "unit/algorithm/patterns.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// Ranks that have met, and the calls they make by shared memory alone.
class Teams {
public:
    explicit Teams(int size) : world_(size), teams_(static_cast<size_t>(size)) {
        on_ranks(size, [&](int rank) {
            shm::TeamConfig config =
                std::move(shm::bootstrap(world_.membership(rank), ample()).here);
            teams_[static_cast<size_t>(rank)] =
                std::make_unique<shm::Team>(std::move(config), world_.membership(rank));
        });
    }
    [[nodiscard]] int size() const { return world_.size(); }

    // f(rank, run) on every rank, where run(call) runs it.
    void together(const std::function<void(int, const std::function<void(Collective)>&)>& f) {
        const uint64_t number = world_.next_sequence();
        on_ranks(size(), [&](int rank) {
            f(rank, [&](Collective call) {
                const FlatCall flat = lower(std::move(call), rank, size());
                shm::Team& team = *teams_[static_cast<size_t>(rank)];
                team.begin(flat.fingerprint, number, ample());
                shm::handler_for(flat)(team, flat);
            });
        });
    }

private:
    ChannelWorld world_;
    std::vector<std::unique_ptr<shm::Team>> teams_;
};

// Elements that one rank gives another.
using CountOf = std::function<int64_t(int from, int to)>;

std::vector<int64_t> counts(int ranks, const std::function<int64_t(int)>& count) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(count(rank));
    return all;
}

// The pieces one after the other, in memory with a little room behind them.
struct Row {
    Row(tutti_dtype dtype_, std::vector<int64_t> counts_)
        : dtype(dtype_),
          counts(std::move(counts_)),
          all(std::accumulate(counts.begin(), counts.end(), int64_t{0})),
          memory(static_cast<size_t>(all) * element_size(dtype) + 64, std::byte{0x5a}) {}

    [[nodiscard]] View whole() { return {memory.data(), all, dtype}; }
    [[nodiscard]] Views pieces() {
        Views views;
        int64_t begin = 0;
        for (const int64_t count : counts) {
            views.push_back(whole().part(begin, count));
            begin += count;
        }
        return views;
    }
    void fill(const std::function<std::pair<int, int>(int)>& from_and_to) {
        int rank = 0;
        for (const View& piece : pieces()) {
            const auto [from, to] = from_and_to(rank++);
            mark(piece.bytes().data(), static_cast<size_t>(from), static_cast<size_t>(to),
                 piece.size());
        }
    }

    tutti_dtype dtype;
    std::vector<int64_t> counts;
    int64_t all;
    Buffer memory;
};

void exchange(Teams& teams, tutti_dtype dtype, const CountOf& count) {
    for (const bool is_list : {false, true}) {
        teams.together([&](int rank, const auto& run) {
            const int size = teams.size();
            Row given(dtype, counts(size, [&](int to) { return count(rank, to); }));
            Row taken(dtype, counts(size, [&](int from) { return count(from, rank); }));
            Row expected = taken;
            given.fill([&](int to) { return std::pair{rank, to}; });
            expected.fill([&](int from) { return std::pair{from, rank}; });
            const Views inputs = given.pieces();
            const Buffer before = given.memory;
            if (is_list) {
                run(AllToAll{{inputs.begin(), inputs.end()}, taken.pieces()});
            } else {
                run(AllToAllSingle{given.whole(), taken.whole(), given.counts, taken.counts});
            }
            require(same(taken.memory, expected.memory), "what came");
            require(same(given.memory, before), "what went was written to");
        });
    }
}

void every_rank_gets_its_pieces(void**) {
    std::mt19937_64 random(1);
    const int64_t lengths[] = {0, 1, 4, 5, 999, 16 * 1024, 32 * 1024, 33'001, 200'003};
    for (int size = 2; size <= max_ranks; ++size) {
        Teams teams(size);
        for (int round = 0; round < 5; ++round) {
            const uint64_t seed = random();
            exchange(teams, TUTTI_INT32, [&](int from, int to) {
                std::mt19937_64 own(seed + static_cast<uint64_t>(from * size + to));
                return lengths[own() % std::size(lengths)];
            });
        }
        exchange(teams, TUTTI_INT32, [](int, int) { return 0; });
        exchange(teams, TUTTI_INT32, [](int from, int to) { return from == to ? 77 : 0; });
        exchange(teams, TUTTI_INT32, [](int from, int to) { return from == 0 && to == 1; });
        // Far more from one to one than there is room for among many.
        exchange(teams, TUTTI_UINT8,
                 [](int from, int to) { return from == 1 && to == 0 ? 5'000'003 : from + 2 * to; });
    }
}

void every_dtype_goes(void**) {
    Teams teams(3);
    for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; ++dtype) {
        exchange(teams, dtype, [](int from, int to) { return 10'007 * from + to; });
    }
}

void many_ranks_get_their_pieces(void**) {
    Teams teams(SANITIZED ? 8 : 33);
    exchange(teams, TUTTI_INT16, [](int from, int to) { return (from * 7 + to) % 50; });
    exchange(teams, TUTTI_INT16, [](int from, int to) { return (from * 7919 + to) % 20'000; });
}

// Pieces of lists stay where they are; those of a tensor may come to lie elsewhere.
void outputs_may_take_the_place_of_inputs(void**) {
    for (int size = 2; size <= std::min(max_ranks, 5); ++size) {
        Teams teams(size);
        for (const int64_t length : {int64_t{1}, int64_t{3000}, int64_t{150'000}}) {
            const auto symmetric = [&](int from, int to) { return length * (from + to); };
            teams.together([&](int rank, const auto& run) {
                Row row(TUTTI_INT32, counts(size, [&](int to) { return symmetric(rank, to); }));
                Row expected = row;
                row.fill([&](int to) { return std::pair{rank, to}; });
                expected.fill([&](int from) { return std::pair{from, rank}; });
                const Views pieces = row.pieces();
                run(AllToAll{{pieces.begin(), pieces.end()}, pieces});
                require(same(row.memory, expected.memory), "the list");
            });
            // Every rank gives the next one more, and gets as much as it gives.
            const auto turning = [&](int from, int to) {
                return length * (to == (from + 1) % size ? 3 : 1);
            };
            teams.together([&](int rank, const auto& run) {
                Row row(TUTTI_INT32, counts(size, [&](int to) { return turning(rank, to); }));
                Row expected(TUTTI_INT32,
                             counts(size, [&](int from) { return turning(from, rank); }));
                row.fill([&](int to) { return std::pair{rank, to}; });
                expected.fill([&](int from) { return std::pair{from, rank}; });
                run(AllToAllSingle{row.whole(), row.whole(), row.counts, expected.counts});
                require(same(row.memory, expected.memory), "the tensor");
            });
        }
    }
}

void all_ranks_hear_the_same_of_two_that_disagree(void**) {
    struct Case {
        int64_t given;
        int64_t expected;
    };
    for (const Case& one : {Case{10, 12}, Case{12, 10}, Case{0, 1}, Case{1, 0}, Case{10, 1'000'000},
                            Case{1'000'000, 0}}) {
        for (const int size : {2, 3, 4}) {
            Teams teams(size);
            const auto right = [](int from, int to) { return int64_t{from + 2 * to}; };
            const auto is_odd = [](int from, int to) { return from == 1 && to == 0; };
            teams.together([&](int rank, const auto& run) {
                Row given(TUTTI_INT32, counts(size, [&](int to) {
                              return is_odd(rank, to) ? one.given : right(rank, to);
                          }));
                Row taken(TUTTI_INT32, counts(size, [&](int from) {
                              return is_odd(from, rank) ? one.expected : right(from, rank);
                          }));
                const Buffer before = taken.memory;
                try {
                    run(AllToAllSingle{given.whole(), taken.whole(), given.counts, taken.counts});
                    require(false, "it went unnoticed");
                } catch (const Error& error) {
                    require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
                    require(error.what() == cat("rank 1 sends ", one.given,
                                                " elements where rank 0 expects ", one.expected),
                            error.what());
                    require(error.status().rank == (rank == 1 ? 0 : 1), "the rank");
                }
                require(same(taken.memory, before), "something moved");
            });
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_rank_gets_its_pieces),
        TUTTI_TEST(every_dtype_goes),
        TUTTI_TEST(many_ranks_get_their_pieces),
        TUTTI_TEST(outputs_may_take_the_place_of_inputs),
        TUTTI_TEST(all_ranks_hear_the_same_of_two_that_disagree),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
