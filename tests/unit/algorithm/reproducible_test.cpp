// Do the reductions of a reproducible group give the exact sum, rounded once, whatever the number
// of ranks, the sizes and the numbers? N ranks as threads, over both channels; TUTTI_TEST_SEED
// repeats a run.
#include "algorithm/algorithm.hpp"
#include "run_call.hpp"
#include "support/sanitizers.h"
#include "unit/reduce/exact_reference.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr tutti_dtype dtypes[] = {TUTTI_FLOAT16, TUTTI_BFLOAT16,  TUTTI_FLOAT32,
                                  TUTTI_FLOAT64, TUTTI_COMPLEX64, TUTTI_COMPLEX128};
constexpr int max_ranks = 8;

ReduceOp reproducible(ReduceOp op) {
    op.make_reproducible();
    return op;
}

// The inputs of every rank, in memory, and the expected result.
struct Numbers {
    Numbers(Kind kind, tutti_dtype dtype_, int ranks, size_t count_)
        : dtype(dtype_), count(static_cast<int64_t>(count_)) {
        const auto inputs = inputs_of(kind, dtype, static_cast<size_t>(ranks), count_);
        for (const Elements& input : inputs) memories.emplace_back(dtype, input, random_below(64));
        // The kernels, which have tests of their own, take a thousandth of the time.
        expected = count_ <= 10'000 ? exact_sums_of(dtype, inputs) : sum_of_the_kernels();
        what = cat(name_of(kind), " ", dtype_name(dtype), " × ", count_, " of ", ranks);
    }
    [[nodiscard]] ConstView input(int rank) {
        return {memories[static_cast<size_t>(rank)].data(), count, dtype};
    }
    // Some elements of the result.
    void expect(Memory& got, int64_t begin, int64_t length, const char* call) const {
        const auto parts = static_cast<size_t>(parts_of(dtype));
        const auto first = expected.begin() + static_cast<std::ptrdiff_t>(begin) * parts_of(dtype);
        const Elements wanted(first, first + static_cast<std::ptrdiff_t>(length) * parts_of(dtype));
        require(got.elements().size() == static_cast<size_t>(length) * parts &&
                    got.elements() == wanted,
                cat(call, " of ", what));
        require(got.guards_stand(), cat(call, " of ", what, " wrote beside its output"));
    }
    [[nodiscard]] Memory room(int64_t length) const {
        return {dtype, Elements(static_cast<size_t>(length) * static_cast<size_t>(parts_of(dtype))),
                8};
    }

    Elements sum_of_the_kernels() {
        Memory sum = room(count);
        sum_exactly(sum.data(), places_of(memories), static_cast<size_t>(count), dtype);
        return sum.elements();
    }

    tutti_dtype dtype;
    int64_t count;
    std::vector<Memory> memories;
    Elements expected;
    std::string what;
};

void every_reduction_is_exact(ChannelWorld& world, Numbers& numbers) {
    const ReduceOp op = reproducible(TUTTI_SUM);
    const int size = world.size();
    const int64_t each = numbers.count / size;
    world.together([&](Channel& channel, uint64_t number) {
        const int rank = channel.rank();
        const ConstView input = numbers.input(rank);
        uint64_t step = number * 100;
        Memory all = numbers.room(numbers.count);
        const View whole{all.data(), numbers.count, numbers.dtype};
        run_call(channel, AllReduce{input, whole, op}, ++step, ample());
        numbers.expect(all, 0, numbers.count, "all_reduce");

        Memory at_root = numbers.room(numbers.count);
        const int root = static_cast<int>(number) % size;
        run_call(channel, Reduce{input, {at_root.data(), numbers.count, numbers.dtype}, op, root},
                 ++step, ample());
        if (rank == root) numbers.expect(at_root, 0, numbers.count, "reduce");

        Memory part = numbers.room(each);
        run_call(
            channel,
            ReduceScatterTensor{input.part(0, each * size), {part.data(), each, numbers.dtype}, op},
            ++step, ample());
        numbers.expect(part, rank * each, each, "reduce_scatter_tensor");

        // The first rank gets nothing, the last one what the others leave.
        ConstViews inputs;
        for (int to = 0; to < size; ++to) {
            const int64_t begin = to == 0 ? 0 : (to - 1) * (each / 2);
            const int64_t length = to == 0 ? 0 : each / 2;
            inputs.push_back(input.part(begin, to + 1 == size ? numbers.count - begin : length));
        }
        const ConstView mine = inputs[static_cast<size_t>(rank)];
        Memory uneven = numbers.room(mine.count);
        run_call(channel, ReduceScatter{inputs, {uneven.data(), mine.count, numbers.dtype}, op},
                 ++step, ample());
        const int64_t begin = rank == 0 ? 0 : (rank - 1) * (each / 2);
        numbers.expect(uneven, begin, mine.count, "reduce_scatter");
    });
}

void sums_of_every_kind_of_numbers_are_exact(void**) {
    for (int size = 1; size <= max_ranks; ++size) {
        if (SANITIZED && size > 3) continue;
        ChannelWorld world(size);
        for (const tutti_dtype dtype : dtypes) {
            for (const Kind kind : all_kinds) {
                Numbers numbers(kind, dtype, size, 40 + random_below(200));
                every_reduction_is_exact(world, numbers);
            }
        }
    }
}

// Around the limits between short and long, and of pieces that follow each other.
void sums_of_every_length_are_exact(void**) {
    for (const int size : {2, 3, 5}) {
        if (SANITIZED && size != 3) continue;
        ChannelWorld world(size);
        for (const size_t count : {0, 1, 2, 5, 1300, 5461, 5462, 8192, 70'001}) {
            Numbers numbers(Kind::Wide, TUTTI_FLOAT32, size, count);
            every_reduction_is_exact(world, numbers);
        }
    }
    ChannelWorld world(3);
    Numbers numbers(Kind::Normal, TUTTI_FLOAT16, 3, SANITIZED ? 900'000 : 3'000'000);
    every_reduction_is_exact(world, numbers);
}

void an_average_is_the_exact_sum_divided_once(void**) {
    for (const int size : {1, 3, 4}) {
        ChannelWorld world(size);
        for (const tutti_dtype dtype : dtypes) {
            Numbers numbers(Kind::Wide, dtype, size, 300);
            Memory sum(dtype, numbers.expected, 0);
            divide_by(sum.data(), 300, dtype, size);
            numbers.expected = sum.elements();
            world.together([&](Channel& channel, uint64_t number) {
                Memory all = numbers.room(numbers.count);
                run_call(channel,
                         AllReduce{numbers.input(channel.rank()),
                                   {all.data(), numbers.count, dtype},
                                   reproducible(TUTTI_AVG)},
                         number, ample());
                numbers.expect(all, 0, numbers.count, "AVG");
            });
        }
    }
}

// The sum of what PREMUL_SUM makes of each input.
void products_are_rounded_and_then_their_sum_is(void**) {
    constexpr int size = 4;
    ChannelWorld world(size);
    std::vector<Elements> products;
    std::vector<tutti_reduce_op> made;
    Numbers numbers(Kind::Normal, TUTTI_FLOAT32, size, 7000);
    for (int rank = 0; rank < size; ++rank) {
        const double factor = 0.1 * (rank + 1);
        made.push_back(ReduceOp::make(Factor(&factor, TUTTI_FLOAT64)));
        Memory product = numbers.room(numbers.count);
        begin_reduction(product.data(), numbers.input(rank).data, 7000, TUTTI_FLOAT32, made.back());
        products.push_back(product.elements());
    }
    numbers.expected = exact_sums_of(TUTTI_FLOAT32, products);
    world.together([&](Channel& channel, uint64_t number) {
        Memory all = numbers.room(numbers.count);
        run_call(channel,
                 AllReduce{numbers.input(channel.rank()),
                           {all.data(), numbers.count, TUTTI_FLOAT32},
                           reproducible(made[static_cast<size_t>(channel.rank())])},
                 number, ample());
        numbers.expect(all, 0, numbers.count, "PREMUL_SUM");
    });
    for (const tutti_reduce_op one : made) ReduceOp::release(one);
}

void products_are_multiplied_in_the_order_of_the_ranks(void**) {
    constexpr int size = 5;
    ChannelWorld world(size);
    for (const size_t count : {size_t{50}, size_t{40'000}}) {
        Numbers numbers(Kind::Normal, TUTTI_FLOAT32, size, count);
        Memory product(TUTTI_FLOAT32, numbers.memories[0].elements(), 0);
        for (size_t rank = 1; rank < size; ++rank) {
            reduce_into(product.data(), numbers.memories[rank].data(), count, TUTTI_FLOAT32,
                        TUTTI_PRODUCT);
        }
        numbers.expected = product.elements();
        world.together([&](Channel& channel, uint64_t number) {
            Memory all = numbers.room(numbers.count);
            run_call(channel,
                     AllReduce{numbers.input(channel.rank()),
                               {all.data(), numbers.count, TUTTI_FLOAT32},
                               reproducible(TUTTI_PRODUCT)},
                     number, ample());
            numbers.expect(all, 0, numbers.count, "PRODUCT");
        });
    }
}

void short_calls_that_are_gathered_are_exact(void**) {
    constexpr int size = 3;
    ChannelWorld world(size);
    std::vector<Numbers> numbers;
    for (const Kind kind : all_kinds) numbers.emplace_back(kind, TUTTI_FLOAT64, size, 100);
    world.together([&](Channel& channel, uint64_t number) {
        Coalesced gathered;
        std::vector<Memory> results;
        results.reserve(numbers.size());
        for (Numbers& one : numbers) {
            results.push_back(one.room(one.count));
            const View result{results.back().data(), one.count, one.dtype};
            gathered.calls.push_back(
                lower(AllReduce{one.input(channel.rank()), result, reproducible(TUTTI_SUM)},
                      channel.rank(), size));
        }
        run_call(channel, gathered, number, ample());
        for (size_t i = 0; i < numbers.size(); ++i) {
            numbers[i].expect(results[i], 0, numbers[i].count, "coalesced all_reduce");
        }
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(sums_of_every_kind_of_numbers_are_exact),
        TUTTI_TEST(sums_of_every_length_are_exact),
        TUTTI_TEST(an_average_is_the_exact_sum_divided_once),
        TUTTI_TEST(products_are_rounded_and_then_their_sum_is),
        TUTTI_TEST(products_are_multiplied_in_the_order_of_the_ranks),
        TUTTI_TEST(short_calls_that_are_gathered_are_exact),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
