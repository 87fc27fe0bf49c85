// Does every algorithm give what one rank alone would have worked out, the same bits everywhere?
// N ranks as threads; sizes around every limit at which a message or a segment is cut differently.
#include "algorithm/algorithm.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>

#include "elements.hpp"
#include "patterns.hpp"
#include "run_call.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using Algorithm = decltype(&algorithm::ring_all_reduce);

struct Named {
    const char* name;
    Algorithm how;
};
constexpr Named all_reduces[] = {{"ring", algorithm::ring_all_reduce},
                                 {"ordered", algorithm::ordered_all_reduce},
                                 {"doubling", algorithm::recursive_doubling_all_reduce}};

void reduce(Algorithm how, Channel& channel, uint64_t number, const AllReduce& call) {
    Exchange exchange(channel, fingerprint(call), number, ample());
    how(exchange, call.output.bytes(), {call.output.dtype, call.op});
}

template <typename Number>
std::vector<Number> input_of(int rank, size_t count) {
    std::vector<Number> data(count);
    const size_t made = std::min(count, period);
    for (size_t index = 0; index < made; ++index) {
        data[index] = static_cast<Number>(value(rank, index));
    }
    repeat(data, made);
    return data;
}

template <typename Number>
std::vector<Number> sum_of(int size, size_t count) {
    std::vector<Number> sum(count);
    const size_t made = std::min(count, period);
    for (int rank = 0; rank < size; ++rank) {
        for (size_t index = 0; index < made; ++index) {
            sum[index] = static_cast<Number>(sum[index] + static_cast<Number>(value(rank, index)));
        }
    }
    repeat(sum, made);
    return sum;
}

// With both algorithms; the one for short data is not asked for long ones.
constexpr size_t max_doubling = 1 << 20;
template <typename Number>
void expect_sums(ChannelWorld& world, tutti_dtype dtype, size_t count) {
    const auto expected = sum_of<Number>(world.size(), count);
    for (const Named& one : all_reduces) {
        const bool is_doubling = one.how == algorithm::recursive_doubling_all_reduce;
        if (is_doubling && count * sizeof(Number) > max_doubling) continue;
        world.together([&](Channel& channel, uint64_t number) {
            auto data = input_of<Number>(channel.rank(), count);
            const View view{data.data(), static_cast<int64_t>(count), dtype};
            reduce(one.how, channel, number, {view, view, TUTTI_SUM});
            require(data == expected,
                    cat(one.name, " of ", count, " over ", channel.size(), " ranks"));
        });
    }
}

void all_reduce_of_any_size_gives_the_sum(void**) {
    for (const int size : {2, 3, 4, 5, 7}) {
        ChannelWorld world(size);
        const auto ranks = static_cast<size_t>(size);
        const size_t part = segment / sizeof(int32_t);
        const std::vector<size_t> counts{
            0,    1,        ranks - 1, ranks,         ranks + 1,           1015,
            1016, 1017,     eager / 4, eager / 4 + 1, ranks * (eager / 4), ranks * (eager / 4) + 1,
            8193, part - 1, part,      part + 1,      ranks * part - 1,    ranks * part + 1};
        for (const size_t count : counts) expect_sums<int32_t>(world, TUTTI_INT32, count);
    }
}

void all_reduce_of_odd_bytes_gives_the_sum(void**) {
    for (const int size : {2, 3, 5}) {
        ChannelWorld world(size);
        for (const size_t limit : {eager - 8, eager, segment * static_cast<size_t>(size)}) {
            for (const size_t count : {limit - 1, limit, limit + 1}) {
                expect_sums<int8_t>(world, TUTTI_INT8, count);
            }
        }
    }
}

void all_reduce_of_many_segments_gives_the_sum(void**) {
    for (const int size : {2, 3, 4, 7}) {
        ChannelWorld world(size);
        const size_t count = (5 << 20) / sizeof(double) * static_cast<size_t>(size) / 2 + 3;
        expect_sums<double>(world, TUTTI_FLOAT64, count);
    }
}

// The ring would round such sums at every stop, so it is never chosen for them.
bool is_rounded_once(tutti_dtype dtype, tutti_reduce_op op, int ranks) {
    return algorithm::Reduction{dtype, op}.must_combine_at_once(ranks);
}

void every_dtype_and_op_gives_the_reference(void**) {
    constexpr size_t count = 6007;
    for (const int size : {3, 4}) {
        ChannelWorld world(size);
        for (const Named& one : all_reduces) {
            for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; ++dtype) {
                for (tutti_reduce_op op = 0; op <= TUTTI_BXOR; ++op) {
                    if (why_not_reducible(dtype, op)) continue;
                    const bool is_ring = one.how == algorithm::ring_all_reduce;
                    if (is_ring && is_rounded_once(dtype, op, size)) continue;
                    const Buffer expected = reference(size, count, dtype, op);
                    world.together([&](Channel& channel, uint64_t number) {
                        Buffer data = elements(channel.rank(), count, dtype, op);
                        const View view{data.data(), count, dtype};
                        reduce(one.how, channel, number, {view, view, op});
                        require(same(data, expected),
                                cat(one.name, ", ", dtype_name(dtype), ", ", reduce_op_name(op)));
                    });
                }
            }
        }
    }
}

// No order of adding these gives the same bits; but all ranks must agree on one.
void sums_that_depend_on_the_order_are_the_same_bits_on_all_ranks(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const Named& one : all_reduces) {
            for (const size_t count : {size_t{7}, size_t{1000}, size_t{300'000}}) {
                std::vector<std::vector<float>> results(static_cast<size_t>(size));
                world.together([&](Channel& channel, uint64_t number) {
                    auto& data = results[static_cast<size_t>(channel.rank())];
                    for (size_t index = 0; index < count; ++index) {
                        const auto seed = static_cast<float>(index * 31 + 1);
                        data.push_back(std::sin(seed * static_cast<float>(channel.rank() + 1)) *
                                       (index % 3 == 0 ? 1e20F : 1.0F));
                    }
                    const View view{data.data(), static_cast<int64_t>(count), TUTTI_FLOAT32};
                    reduce(one.how, channel, number, {view, view, TUTTI_SUM});
                });
                for (const auto& result : results) {
                    if (std::memcmp(result.data(), results[0].data(), count * sizeof(float)) != 0) {
                        fail_msg("%s of %zu over %d ranks", one.name, count, size);
                    }
                }
            }
        }
    }
}

void the_chosen_algorithm_reads_input_and_writes_output(void**) {
    for (int size = 1; size <= 4; ++size) {
        ChannelWorld world(size);
        for (const size_t count :
             {size_t{0}, size_t{1}, size_t{8191}, size_t{8192}, size_t{8193}, size_t{100'003}}) {
            const auto expected = sum_of<int32_t>(size, count);
            world.together([&](Channel& channel, uint64_t number) {
                const auto input = input_of<int32_t>(channel.rank(), count);
                const auto before = input;
                std::vector<int32_t> output(count, 99);
                const auto elements = static_cast<int64_t>(count);
                const AllReduce call{{input.data(), elements, TUTTI_INT32},
                                     {output.data(), elements, TUTTI_INT32},
                                     TUTTI_SUM};
                run_call(channel, call, number, ample());
                require(output == expected, cat("output of ", count));
                require(input == before, "the input was written to");
            });
        }
    }
}

// The result of a reduction for an element does not depend on how many ranks there are.
void a_bool_is_0_or_1_after_a_reduction_of_one_rank_too(void**) {
    for (const int size : {1, 2}) {
        ChannelWorld world(size);
        world.together([](Channel& channel, uint64_t number) {
            unsigned char data[] = {0, 1, 2, 255};
            const View view{data, 4, TUTTI_BOOL};
            run_call(channel, AllReduce{view, view, TUTTI_SUM}, number, ample());
            require(
                data[0] == 0 && data[1] == 1 && data[2] == 1 && data[3] == 1,
                cat("2 became ", static_cast<int>(data[2]), " over ", channel.size(), " ranks"));
        });
    }
}

void broadcast_from_every_root_gives_every_rank_the_data(void**) {
    for (int size = 1; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (int root = 0; root < size; ++root) {
            for (const size_t count : {size_t{0}, size_t{1}, eager - 1, eager, eager + 1,
                                       segment - 1, segment, segment + 1, 5 * segment + 3}) {
                if (count > 2 * segment && root != size / 2) continue;  // once is enough
                const auto expected = input_of<int8_t>(root, count);
                world.together([&](Channel& channel, uint64_t number) {
                    auto data = input_of<int8_t>(channel.rank(), count);
                    const View view{data.data(), static_cast<int64_t>(count), TUTTI_INT8};
                    run_call(channel, Broadcast{view, root}, number, ample());
                    require(data == expected, cat(count, " bytes from ", root, " of ", size));
                });
            }
        }
    }
}

void nobody_leaves_a_barrier_before_all_have_come(void**) {
    for (int size = 1; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        constexpr int rounds = 50;
        std::atomic<int> came{0};
        on_ranks(size, [&](int rank) {
            for (int round = 1; round <= rounds; ++round) {
                if (rank == round % size) std::this_thread::yield();
                ++came;
                run_call(world[rank], Barrier{}, static_cast<uint64_t>(round), ample());
                require(came >= size * round, cat("round ", round, " of ", size, " ranks"));
            }
        });
        assert_int_equal(came, size * rounds);
    }
}

// The next collective starts while others are in the last one still.
void collectives_follow_each_other_without_mixing(void**) {
    constexpr int size = 5;
    ChannelWorld world(size);
    on_ranks(size, [&](int rank) {
        uint64_t number = 0;
        for (int round = 0; round < 60; ++round) {
            int32_t root_says = rank == round % size ? round : -1;
            run_call(world[rank], Broadcast{{&root_says, 1, TUTTI_INT32}, round % size}, ++number,
                     ample());
            require(root_says == round, "broadcast");
            std::vector<int32_t> data(static_cast<size_t>(1 + round * 700), rank + round);
            const View view{data.data(), static_cast<int64_t>(data.size()), TUTTI_INT32};
            run_call(world[rank], AllReduce{view, view, TUTTI_MAX}, ++number, ample());
            require(data.front() == size - 1 + round && data.back() == size - 1 + round,
                    "all_reduce");
        }
    });
}

// Rank 1 tells a number that it cannot have; nobody takes memory for it.
void more_addends_than_a_rank_can_have_are_refused(void**) {
    ChannelWorld world(2);
    world.together([&](Channel& channel, uint64_t number) {
        const FlatCall call =
            lower(AllReduceAddends{{}, {nullptr, 0, TUTTI_FLOAT64}, TUTTI_SUM}, channel.rank(), 2);
        Exchange exchange(channel, call.fingerprint, number, ample());
        if (channel.rank() == 0) {
            std::string refused;
            try {
                algorithm::run(exchange, call);
            } catch (const Error& error) {
                refused = error.status().message;
            }
            require(refused == "rank 1 shows 2049 addends", refused);
            return;
        }
        std::vector<uint64_t> told{0, AllReduceAddends::max_inputs + 1};
        const Bytes row = std::as_writable_bytes(std::span(told));
        algorithm::bruck_all_gather(exchange, algorithm::even_parts(row, sizeof(uint64_t), 2));
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(all_reduce_of_any_size_gives_the_sum),
        TUTTI_TEST(all_reduce_of_odd_bytes_gives_the_sum),
        TUTTI_TEST(all_reduce_of_many_segments_gives_the_sum),
        TUTTI_TEST(every_dtype_and_op_gives_the_reference),
        TUTTI_TEST(sums_that_depend_on_the_order_are_the_same_bits_on_all_ranks),
        TUTTI_TEST(the_chosen_algorithm_reads_input_and_writes_output),
        TUTTI_TEST(a_bool_is_0_or_1_after_a_reduction_of_one_rank_too),
        TUTTI_TEST(broadcast_from_every_root_gives_every_rank_the_data),
        TUTTI_TEST(nobody_leaves_a_barrier_before_all_have_come),
        TUTTI_TEST(collectives_follow_each_other_without_mixing),
        TUTTI_TEST(more_addends_than_a_rank_can_have_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
