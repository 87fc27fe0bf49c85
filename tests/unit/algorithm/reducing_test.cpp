// Do reduce and reduce_scatter, by every algorithm, give what one rank alone would have worked out,
// where it belongs and nowhere else? N ranks as threads.
#include "algorithm/algorithm.hpp"
#include "elements.hpp"
#include "run_call.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::algorithm;
using namespace tutti::test;

template <typename Algorithm>
struct Named {
    const char* name;
    Algorithm* how;
};

constexpr Named<decltype(tree_reduce)> reduces[] = {
    {"tree", tree_reduce}, {"ring", ring_reduce}, {"ordered", ordered_reduce}};
constexpr Named<decltype(ring_reduce_scatter)> reduce_scatters[] = {
    {"halving", recursive_halving_reduce_scatter},
    {"ordered", ordered_reduce_scatter},
    {"ring", ring_reduce_scatter}};

// The tree and the rings combine in steps, so they are never chosen for what must be combined at
// once.
bool serves(const std::string& name, const Reduction& what, int ranks) {
    return (name != "tree" && name != "ring") || !what.must_combine_at_once(ranks);
}

Exchange exchange_for(Channel& channel, uint64_t number) {
    return {channel, fingerprint(Barrier{}), number, ample()};
}

void reduce_to_root(ChannelWorld& world, const Named<decltype(tree_reduce)>& one, int root,
                    size_t count, const Reduction& what, bool in_place) {
    const Buffer expected = reference(world.size(), count, what.dtype, what.op.number());
    world.together([&](Channel& channel, uint64_t number) {
        Buffer input = elements(channel.rank(), count, what.dtype, what.op.number());
        const Buffer before = input;
        Buffer output(input.size(), std::byte{0x5a});
        const Buffer untouched = output;
        Exchange exchange = exchange_for(channel, number);
        const bool is_root = channel.rank() == root;
        one.how(exchange, input, in_place ? input : output, root, what);
        const std::string text =
            cat(one.name, " of ", count, " ", dtype_name(what.dtype), " ",
                describe_op(what.op.fingerprint()), " to ", root, " of ", world.size());
        require(!is_root || same(in_place ? input : output, expected), text);
        require((is_root && in_place) || same(input, before), cat(text, ": an input changed"));
        require((is_root && !in_place) || same(output, untouched),
                cat(text, ": an output changed"));
    });
}

void reduce_gives_the_root_the_sum_and_changes_nobody_else(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const auto& one : reduces) {
            for (int root = SANITIZED ? size - 1 : 0; root < size; ++root) {
                for (const size_t count : {size_t{0}, size_t{1}, size_t{8}, size_t{1017}}) {
                    reduce_to_root(world, one, root, count, {TUTTI_INT32, TUTTI_SUM}, root % 2 > 0);
                }
            }
            for (const size_t count : {size_t{33'001}, 3 * segment / 4 + 7}) {
                for (const bool in_place : {false, true}) {
                    reduce_to_root(world, one, size / 2, count, {TUTTI_FLOAT64, TUTTI_AVG},
                                   in_place);
                }
            }
        }
    }
}

// Threads do not meet differently for another dtype.
constexpr int dtype_step = THREAD_SANITIZED ? 4 : 1;

void reduce_of_every_dtype_and_op_gives_the_reference(void**) {
    for (const int size : {3, 4}) {
        if (SANITIZED && size != 3) continue;
        ChannelWorld world(size);
        for (const auto& one : reduces) {
            for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; dtype += dtype_step) {
                for (tutti_reduce_op op = 0; op <= TUTTI_BXOR; ++op) {
                    if (why_not_reducible(dtype, op)) continue;
                    if (!serves(one.name, {dtype, op}, size)) continue;
                    reduce_to_root(world, one, 1, 607, {dtype, op}, false);
                }
            }
        }
    }
}

// Parts of one row of elements, one after the other.
std::vector<ConstBytes> cut(const Buffer& row, const Sizes& sizes) {
    std::vector<ConstBytes> parts;
    size_t begin = 0;
    for (const size_t bytes : sizes) {
        parts.push_back(ConstBytes(row).subspan(begin, bytes));
        begin += bytes;
    }
    return parts;
}

void reduce_and_scatter(ChannelWorld& world, const Named<decltype(ring_reduce_scatter)>& one,
                        const Sizes& sizes, const Reduction& what, bool in_place) {
    const size_t bytes = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
    const size_t count = bytes / what.element();
    const Buffer expected = reference(world.size(), count, what.dtype, what.op.number());
    world.together([&](Channel& channel, uint64_t number) {
        const auto own = static_cast<size_t>(channel.rank());
        Buffer row = elements(channel.rank(), count, what.dtype, what.op.number());
        const Buffer before = row;
        const auto inputs = cut(row, sizes);
        const auto begin = static_cast<size_t>(inputs[own].data() - row.data());
        Buffer apart(sizes[own]);
        const Bytes output = in_place ? Bytes(row).subspan(begin, sizes[own]) : Bytes(apart);
        Exchange exchange = exchange_for(channel, number);
        one.how(exchange, inputs, output, what);
        const std::string name = cat(one.name, " of ", text(sizes), " ", dtype_name(what.dtype),
                                     " ", describe_op(what.op.fingerprint()));
        require(same(output, ConstBytes(expected).subspan(begin, sizes[own])), name);
        if (in_place)
            std::ranges::copy(ConstBytes(before).subspan(begin, sizes[own]), output.begin());
        require(same(row, before), cat(name, ": an input changed"));
    });
}

void reduce_scatter_gives_every_rank_its_part_of_the_sum(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const Sizes& sizes : size_lists(size, sizeof(int32_t))) {
            for (const auto& one : reduce_scatters) {
                for (const bool in_place : {false, true}) {
                    reduce_and_scatter(world, one, sizes, {TUTTI_INT32, TUTTI_SUM}, in_place);
                }
            }
        }
    }
}

void reduce_scatter_of_every_dtype_and_op_gives_the_reference(void**) {
    for (const int size : {3, 4}) {
        if (SANITIZED && size != 3) continue;
        ChannelWorld world(size);
        for (const auto& one : reduce_scatters) {
            for (tutti_dtype dtype = 0; dtype <= TUTTI_BOOL; dtype += dtype_step) {
                for (tutti_reduce_op op = 0; op <= TUTTI_BXOR; ++op) {
                    if (why_not_reducible(dtype, op)) continue;
                    if (!serves(one.name, {dtype, op}, size)) continue;
                    Sizes sizes(static_cast<size_t>(size), 16 * 19);
                    sizes[1] = 0;
                    reduce_and_scatter(world, one, sizes, {dtype, op}, false);
                }
            }
        }
    }
}

// More segments than are ever under way at once, so that memory is used again.
void long_parts_are_reduced_segment_by_segment(void**) {
    for (const int size : {2, 3, 5}) {
        if (SANITIZED && size != 3) continue;
        ChannelWorld world(size);
        Sizes sizes(static_cast<size_t>(size), 11 * segment + 8);
        sizes[0] = 2 * segment;
        for (const auto& one : reduce_scatters) {
            reduce_and_scatter(world, one, sizes, {TUTTI_FLOAT64, TUTTI_SUM}, false);
        }
    }
}

void the_chosen_algorithms_read_inputs_and_write_outputs(void**) {
    for (int size = 1; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const size_t count : {size_t{0}, size_t{1}, size_t{2000}, size_t{70'000}}) {
            const size_t whole = count * static_cast<size_t>(size);
            const Buffer all = reference(size, whole, TUTTI_FLOAT32, TUTTI_AVG);
            world.together([&](Channel& channel, uint64_t number) {
                const int rank = channel.rank();
                const Buffer row = elements(rank, whole, TUTTI_FLOAT32, TUTTI_AVG);
                const auto elements_each = static_cast<int64_t>(count);
                const ConstView input{row.data(), elements_each * size, TUTTI_FLOAT32};
                Buffer part(count * 4);
                const View output{part.data(), elements_each, TUTTI_FLOAT32};
                const auto expected =
                    ConstBytes(all).subspan(static_cast<size_t>(rank) * part.size(), part.size());
                uint64_t step = number * 100;
                run_call(channel, ReduceScatterTensor{input, output, TUTTI_AVG}, ++step, ample());
                require(same(part, expected), cat("tensor of ", count));
                std::ranges::fill(part, std::byte{1});
                ConstViews inputs;
                for (int to = 0; to < size; ++to) {
                    inputs.push_back(input.part(to * elements_each, elements_each));
                }
                run_call(channel, ReduceScatter{inputs, output, TUTTI_AVG}, ++step, ample());
                require(same(part, expected), cat("list of ", count));
                Buffer result(row.size());
                const View sum{result.data(), input.count, TUTTI_FLOAT32};
                run_call(channel, Reduce{input, sum, TUTTI_AVG, size - 1}, ++step, ample());
                require(result == (rank == size - 1 ? all : Buffer(row.size())),
                        cat("reduce of ", count));
            });
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(reduce_gives_the_root_the_sum_and_changes_nobody_else),
        TUTTI_TEST(reduce_of_every_dtype_and_op_gives_the_reference),
        TUTTI_TEST(reduce_scatter_gives_every_rank_its_part_of_the_sum),
        TUTTI_TEST(reduce_scatter_of_every_dtype_and_op_gives_the_reference),
        TUTTI_TEST(long_parts_are_reduced_segment_by_segment),
        TUTTI_TEST(the_chosen_algorithms_read_inputs_and_write_outputs),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
