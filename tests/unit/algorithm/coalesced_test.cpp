// Do calls that are issued as one give what each of them would have given alone, and do ranks that
// gathered different ones learn it? N ranks as threads.
#include "algorithm/algorithm.hpp"
#include "elements.hpp"
#include "run_call.hpp"
#include "support/collective.hpp"
#include "unit/transport/ranks.hpp"
#include "unit/transport/watched_channel.hpp"

namespace {

using namespace tutti;
using namespace tutti::algorithm;
using namespace tutti::test;

constexpr tutti_dtype dtype = TUTTI_INT32;
constexpr size_t element = sizeof(int32_t);

// A call with its memory and what it must give.
struct Item {
    Item(size_t input_bytes, size_t output_bytes) : input(input_bytes), output(output_bytes) {}
    Buffer input;
    Buffer output;
    Buffer expected;
    [[nodiscard]] ConstView in() const {
        return {input.data(), static_cast<int64_t>(input.size() / element), dtype};
    }
    View out() { return {output.data(), static_cast<int64_t>(output.size() / element), dtype}; }
};
using Items = std::vector<std::unique_ptr<Item>>;

Collective all_reduce(Items& items, int rank, int size, size_t count) {
    Item& item = *items.emplace_back(std::make_unique<Item>(count * element, count * element));
    item.input = elements(rank, count, dtype, TUTTI_SUM);
    item.expected = reference(size, count, dtype, TUTTI_SUM);
    return AllReduce{item.in(), item.out(), TUTTI_SUM};
}

Collective all_gather(Items& items, int rank, int size, size_t count) {
    const auto ranks = static_cast<size_t>(size);
    Item& item =
        *items.emplace_back(std::make_unique<Item>(count * element, ranks * count * element));
    item.input = marked(rank, static_cast<int>(count), count * element);
    for (int from = 0; from < size; ++from) {
        const Buffer part = marked(from, static_cast<int>(count), count * element);
        item.expected.insert(item.expected.end(), part.begin(), part.end());
    }
    return AllGatherIntoTensor{item.in(), item.out()};
}

Collective reduce_scatter(Items& items, int rank, int size, size_t count) {
    const auto ranks = static_cast<size_t>(size);
    Item& item =
        *items.emplace_back(std::make_unique<Item>(ranks * count * element, count * element));
    item.input = elements(rank, ranks * count, dtype, TUTTI_MAX);
    const Buffer whole = reference(size, ranks * count, dtype, TUTTI_MAX);
    const auto own =
        ConstBytes(whole).subspan(static_cast<size_t>(rank) * count * element, count * element);
    item.expected.assign(own.begin(), own.end());
    return ReduceScatterTensor{item.in(), item.out(), TUTTI_MAX};
}

// The same on lists of pieces, of which each has one element more than the one before.
int64_t uneven(size_t count, int rank) {
    return static_cast<int64_t>(count) + rank;
}

Views pieces_of(const View& whole, int size, size_t count) {
    Views pieces;
    int64_t begin = 0;
    for (int rank = 0; rank < size; ++rank) {
        pieces.push_back(whole.part(begin, uneven(count, rank)));
        begin += uneven(count, rank);
    }
    return pieces;
}

size_t bytes_of_all(int size, size_t count) {
    size_t bytes = 0;
    for (int rank = 0; rank < size; ++rank) {
        bytes += static_cast<size_t>(uneven(count, rank)) * element;
    }
    return bytes;
}

Collective all_gather_list(Items& items, int rank, int size, size_t count) {
    const auto own = static_cast<size_t>(uneven(count, rank)) * element;
    Item& item = *items.emplace_back(std::make_unique<Item>(own, bytes_of_all(size, count)));
    item.input = marked(rank, static_cast<int>(count), own);
    for (int from = 0; from < size; ++from) {
        const Buffer part = marked(from, static_cast<int>(count),
                                   static_cast<size_t>(uneven(count, from)) * element);
        item.expected.insert(item.expected.end(), part.begin(), part.end());
    }
    return AllGather{item.in(), pieces_of(item.out(), size, count)};
}

Collective reduce_scatter_list(Items& items, int rank, int size, size_t count) {
    const size_t bytes = bytes_of_all(size, count);
    const auto own = static_cast<size_t>(uneven(count, rank)) * element;
    Item& item = *items.emplace_back(std::make_unique<Item>(bytes, own));
    item.input = elements(rank, bytes / element, dtype, TUTTI_MAX);
    const Buffer whole = reference(size, bytes / element, dtype, TUTTI_MAX);
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(bytes_of_all(rank, count));
    item.expected.assign(begin, begin + static_cast<std::ptrdiff_t>(own));
    const View input{item.input.data(), static_cast<int64_t>(bytes / element), dtype};
    const Views pieces = pieces_of(input, size, count);
    return ReduceScatter{{pieces.begin(), pieces.end()}, item.out(), TUTTI_MAX};
}

using Make = Collective (*)(Items&, int rank, int size, size_t count);
struct Wish {
    Make make;
    size_t count;
};

void issue(ChannelWorld& world, const std::vector<Wish>& wishes) {
    world.together([&](Channel& channel, uint64_t number) {
        Items items;
        Coalesced all;
        for (const Wish& wish : wishes) {
            all.calls.push_back(lower(wish.make(items, channel.rank(), world.size(), wish.count),
                                      channel.rank(), world.size()));
        }
        run_call(channel, all, number, ample());
        for (size_t index = 0; index < items.size(); ++index) {
            require(same(items[index]->output, items[index]->expected),
                    cat("call ", index, " of ", items.size(), ": ",
                        describe(all.calls[index].fingerprint, number)));
        }
    });
}

void calls_issued_as_one_give_what_each_gives_alone(void**) {
    constexpr size_t longest = 64 * 1024 / element;  // that shares its messages
    for (int size = 1; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const Make make :
             {all_reduce, all_gather, reduce_scatter, all_gather_list, reduce_scatter_list}) {
            issue(world, {{make, 5}});
            issue(world, {{make, 5}, {make, 0}, {make, 77}, {make, 1}});
            issue(world, {{make, 0}, {make, 0}});
            issue(world, {{make, longest}, {make, longest + 1}, {make, 3}, {make, longest - 1}});
            if (size > 3) continue;
            issue(world, std::vector<Wish>(40, {make, longest / 3}));  // more than one megabyte
        }
        issue(world, {{all_reduce, 5},
                      {all_reduce, 6},
                      {all_gather, 3},
                      {reduce_scatter, 8},
                      {reduce_scatter, 2},
                      {all_gather_list, 3},
                      {all_gather_list, 9},
                      {all_gather, 9},
                      {reduce_scatter_list, 4},
                      {reduce_scatter_list, 1},
                      {all_reduce, 100'000},
                      {all_reduce, 1}});
    }
}

void calls_of_any_kind_can_be_issued_as_one(void**) {
    for (int size = 1; size <= 5; ++size) {
        ChannelWorld world(size);
        for (int round = 0; round < 10; ++round) {
            world.together([&](Channel& channel, uint64_t number) {
                const int rank = channel.rank();
                const auto ranks = static_cast<size_t>(size);
                int32_t told = rank == 0 ? 7 : 0;
                std::vector<int32_t> given(ranks, rank);
                std::vector<int32_t> taken(ranks, -1);
                const View input{given.data(), size, TUTTI_INT32};
                const View output{taken.data(), size, TUTTI_INT32};
                Coalesced all;
                const auto add = [&](Collective call) {
                    all.calls.push_back(lower(std::move(call), rank, size));
                };
                add(Broadcast{{&told, 1, TUTTI_INT32}, 0});
                add(AllToAllSingle{input, output, std::vector<int64_t>(ranks, 1),
                                   std::vector<int64_t>(ranks, 1)});
                add(Barrier{});
                run_call(channel, all, number, ample());
                require(told == 7, "the broadcast");
                for (int from = 0; from < size; ++from) {
                    require(taken[static_cast<size_t>(from)] == from, "the all_to_all_single");
                }
            });
        }
    }
}

void ranks_that_gathered_different_calls_learn_it(void**) {
    struct Case {
        std::vector<Wish> one;
        std::vector<Wish> other;
    };
    const std::vector<Case> cases{
        {{{all_reduce, 5}, {all_reduce, 6}}, {{all_reduce, 5}, {all_reduce, 7}}},
        {{{all_reduce, 5}, {all_reduce, 6}}, {{all_reduce, 5}}},
        {{{all_reduce, 5}, {all_gather, 6}}, {{all_gather, 6}, {all_reduce, 5}}},
        {{{all_reduce, 6}, {all_reduce, 5}}, {{all_reduce, 5}, {all_reduce, 6}}}};
    for (const Case& one : cases) {
        ChannelWorld world(2);
        on_ranks(2, [&](int rank) {
            Items items;
            Coalesced all;
            for (const Wish& wish : rank == 0 ? one.one : one.other) {
                all.calls.push_back(lower(wish.make(items, rank, 2, wish.count), rank, 2));
            }
            try {
                run_call(world[rank], all, 1, ample());
                require(false, "it went unnoticed");
            } catch (const Error& error) {
                require(error.status().code == TUTTI_ERR_MISMATCH, error.what());
                require(std::string(error.what()).find("layout") != std::string::npos,
                        error.what());
                world[rank].membership().report(error.status());
            }
        });
    }
}

// Ranks that are in different steps of one operation are not in different operations: rank 0 waits
// in the second step, rank 1 in the first one.
void a_rank_that_waits_in_another_step_is_no_mismatch(void**) {
    ChannelWorld world(3);
    Count stalls;
    on_ranks(3, [&](int rank) {
        std::vector<int32_t> values{rank, rank};
        Coalesced all;
        all.calls.push_back(lower(Broadcast{{&values[0], 1, TUTTI_INT32}, 0}, rank, 3));
        all.calls.push_back(lower(Broadcast{{&values[1], 1, TUTTI_INT32}, 2}, rank, 3));
        WatchedChannel channel(world[rank], stalls);
        if (rank == 2) stalls.wait_until_at_least(2);
        run_call(channel, all, 1, ample());
        require(values[0] == 0 && values[1] == 2, "the broadcasts");
    });
}

// However long the first takes, the others have what is left.
void all_steps_of_one_operation_have_one_deadline(void**) {
    ChannelWorld world(2);
    on_ranks(2, [&](int rank) {
        Items items;
        Coalesced all;
        for (const Make make : {all_reduce, all_gather, reduce_scatter}) {
            all.calls.push_back(lower(make(items, rank, 2, 5), rank, 2));
        }
        const FlatCall whole = lower(Collective(std::move(all)), rank, 2);
        const auto deadline = Deadline::after_ms_of_waiting(60'000);
        std::vector<Deadline> of_steps;
        run_coalesced(
            whole, no_past_calls,
            [&](const FlatCall& one, const Fingerprint& print, const Exchange::Step& step) {
                Exchange exchange(world[rank], print, 1, deadline, step);
                algorithm::run(exchange, one);
                of_steps.push_back(exchange.deadline());
            });
        require(of_steps.size() == 3, "the steps");
        for (const Deadline& one : of_steps) require(one.when() == deadline.when(), "its end");
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(calls_issued_as_one_give_what_each_gives_alone),
        TUTTI_TEST(calls_of_any_kind_can_be_issued_as_one),
        TUTTI_TEST(ranks_that_gathered_different_calls_learn_it),
        TUTTI_TEST(a_rank_that_waits_in_another_step_is_no_mismatch),
        TUTTI_TEST(all_steps_of_one_operation_have_one_deadline),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
