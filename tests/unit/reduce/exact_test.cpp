// Exact sums, the kernels' of every instruction set and those that travel, against an integer of
// thousands of bits. One thread. TUTTI_TEST_SEED repeats a run.
#include <bit>
#include <limits>
#include <numeric>

#include "base/environment.hpp"
#include "exact_reference.hpp"
#include "reduce/exact_sums.hpp"

namespace tutti::test {
namespace {

constexpr tutti_dtype dtypes[] = {TUTTI_FLOAT16, TUTTI_BFLOAT16,  TUTTI_FLOAT32,
                                  TUTTI_FLOAT64, TUTTI_COMPLEX64, TUTTI_COMPLEX128};

std::vector<Memory> in_memory(tutti_dtype dtype, const std::vector<Elements>& inputs) {
    std::vector<Memory> memories;
    memories.reserve(inputs.size());
    for (const Elements& input : inputs) memories.emplace_back(dtype, input, random_below(64));
    return memories;
}

// At every level, elsewhere and in place of an input, with both kinds of stores, and shuffled.
void check_sums(tutti_dtype dtype, std::vector<Elements> inputs, const char* what) {
    const Elements expected = exact_sums_of(dtype, inputs);
    const size_t count = expected.size() / static_cast<size_t>(parts_of(dtype));
    for (const CpuLevel level : levels()) {
        const ManyKernel kernel = kernels_of(level).sum_exactly[dtype];
        auto memories = in_memory(dtype, inputs);
        auto places = places_of(memories);
        Memory out(dtype, Elements(expected.size()), random_below(64));
        kernel(out.data(), places.data(), places.size(), count, random_below(2) == 0);
        expect_elements(out, expected, dtype, what, level);
        std::shuffle(places.begin(), places.end(), random_bits());
        const size_t in_place = random_below(places.size());
        kernel(memories[in_place].data(), places.data(), places.size(), count, false);
        expect_elements(memories[in_place], expected, dtype, what, level);
        std::shuffle(inputs.begin(), inputs.end(), random_bits());
    }
}

void every_kind_of_numbers_is_summed_exactly(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (const Kind kind : all_kinds) {
            for (size_t number = 1; number <= 12; ++number) {
                check_sums(dtype, inputs_of(kind, dtype, number, 150), name_of(kind));
            }
        }
    }
}

void many_inputs_are_summed_exactly(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (const Kind kind : all_kinds) {
            for (const size_t number : {31, 64, 200, 1024}) {
                check_sums(dtype, inputs_of(kind, dtype, number, 20), name_of(kind));
            }
        }
    }
}

void every_count_is_summed_exactly(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (size_t count = 0; count <= 140; ++count) {
            const Kind kind = all_kinds[random_below(std::size(all_kinds))];
            check_sums(dtype, inputs_of(kind, dtype, 3 + random_below(3), count), name_of(kind));
        }
    }
}

void every_triple_of_special_values_is_summed_exactly(void**) {
    for (const tutti_dtype dtype : {TUTTI_FLOAT16, TUTTI_BFLOAT16, TUTTI_FLOAT32, TUTTI_FLOAT64}) {
        const Elements special = special_values(static_cast<tutti_dtype>(dtype));
        std::vector<Elements> inputs(3);
        for (const uint64_t a : special) {
            for (const uint64_t b : special) {
                for (const uint64_t c : special) {
                    inputs[0].push_back(a);
                    inputs[1].push_back(b);
                    inputs[2].push_back(c);
                }
            }
        }
        check_sums(static_cast<tutti_dtype>(dtype), inputs, "special values");
    }
}

// The fallback of the kernels, for every element.
void the_slow_way_is_exact(void**) {
    for (const tutti_dtype dtype : dtypes) {
        if (parts_of(dtype) > 1) continue;
        for (const Kind kind : all_kinds) {
            for (const size_t number : {1, 2, 3, 10, 100}) {
                const auto inputs = inputs_of(kind, dtype, number, 50);
                const Elements expected = exact_sums_of(dtype, inputs);
                auto memories = in_memory(dtype, inputs);
                const auto places = places_of(memories);
                for (size_t i = 0; i < expected.size(); ++i) {
                    const uint64_t sum =
                        sum_numbers_exactly(dtype, places.data(), number, i * element_size(dtype));
                    if (sum == expected[i]) continue;
                    fail_msg("%s of %zu %s: %#llx, not %#llx", dtype_name(dtype), number,
                             name_of(kind), static_cast<unsigned long long>(sum),
                             static_cast<unsigned long long>(expected[i]));
                }
            }
        }
    }
}

void the_call_sums_exactly(void**) {
    const CpuLevel level = choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
    for (tutti_dtype dtype = 0; dtype < dtype_count; ++dtype) {
        const bool is_floating = element_of(dtype).kind == Element::Floating;
        assert_int_equal(has_exact_sums(dtype), is_floating);
        if (!is_floating) continue;
        for (size_t number = 1; number <= 4; ++number) {
            for (const Stores stores : {Stores::Ordinary, Stores::Streaming}) {
                const auto inputs = inputs_of(Kind::Ties, dtype, number, 77);
                auto memories = in_memory(dtype, inputs);
                Memory out(dtype, Elements(inputs[0].size()), 8);
                sum_exactly(out.data(), places_of(memories), 77, dtype, stores);
                expect_elements(out, exact_sums_of(dtype, inputs), dtype, "sum_exactly", level);
            }
        }
    }
    assert_false(has_exact_sums(dtype_count));
}

// Up to where the kernels go, and beyond; and more elements than one piece has.
void more_inputs_than_the_kernels_take_are_summed_exactly(void**) {
    const CpuLevel level = choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
    ReduceOp op = TUTTI_SUM;
    op.make_reproducible();
    for (const tutti_dtype dtype : dtypes) {
        for (const size_t number : {max_exact_inputs, max_exact_inputs + 1, size_t{20000}}) {
            const auto inputs = inputs_of(Kind::Ties, dtype, number, 3);
            auto memories = in_memory(dtype, inputs);
            Memory out(dtype, Elements(inputs[0].size()), 8);
            reduce_many(out.data(), places_of(memories), 3, dtype, op);
            expect_elements(out, exact_sums_of(dtype, inputs), dtype, "very many", level);
        }
    }
    const std::vector<Elements> few = inputs_of(Kind::Ties, TUTTI_FLOAT32, 2, 5000);
    auto memories = in_memory(TUTTI_FLOAT32, few);
    std::vector<const void*> places;
    std::vector<Elements> inputs;
    for (size_t i = 0; i <= max_exact_inputs; ++i) {
        places.push_back(memories[i % 2].data());
        inputs.push_back(few[i % 2]);
    }
    Memory out(TUTTI_FLOAT32, Elements(5000), 8);
    reduce_many(out.data(), places, 5000, TUTTI_FLOAT32, op);
    for (Elements& input : inputs) input.erase(input.begin(), input.begin() + 4090);
    for (Elements& input : inputs) input.resize(10);
    const Elements expected = exact_sums_of(TUTTI_FLOAT32, inputs);
    const Elements got = out.elements();
    for (size_t i = 0; i < 10; ++i) assert_int_equal(got[4090 + i], expected[i]);
}

Elements summed_one_by_one(tutti_dtype dtype, const std::vector<Elements>& inputs, size_t count) {
    ExactSums sums(count, dtype);
    for (const Elements& input : inputs) sums.add(Memory(dtype, input, random_below(64)).data());
    Memory out(dtype, Elements(inputs[0].size()), random_below(64));
    sums.round(out.data());
    assert_true(out.guards_stand());
    return out.elements();
}

void inputs_that_come_one_by_one_are_summed_exactly(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (const Kind kind : all_kinds) {
            for (const size_t number : {1, 2, 3, 5, 8, 30, 300}) {
                const size_t count = number < 30 ? 60 : 10;
                const auto inputs = inputs_of(kind, dtype, number, count);
                const Elements expected = exact_sums_of(dtype, inputs);
                const Elements got = summed_one_by_one(dtype, inputs, count);
                for (size_t i = 0; i < expected.size(); ++i) {
                    if (got[i] == expected[i]) continue;
                    fail_msg("%s of %zu %s one by one: %#llx, not %#llx", dtype_name(dtype), number,
                             name_of(kind), static_cast<unsigned long long>(got[i]),
                             static_cast<unsigned long long>(expected[i]));
                }
            }
        }
    }
}

// A sum of the largest number may be finite, and what its error is calculated from not.
void errors_that_overflow_lose_nothing(void**) {
    constexpr double largest = std::numeric_limits<double>::max();
    std::vector<double> numbers = {largest, -largest};
    for (int halves = 1; halves < 10; ++halves) {
        numbers.push_back(halves * 0x1p970);
        numbers.push_back(-halves * 0x1p970);
    }
    std::vector<Elements> inputs(3);
    for (const double a : numbers) {
        for (const double b : numbers) {
            for (const double c : numbers) {
                inputs[0].push_back(std::bit_cast<uint64_t>(a));
                inputs[1].push_back(std::bit_cast<uint64_t>(b));
                inputs[2].push_back(std::bit_cast<uint64_t>(c));
            }
        }
    }
    check_sums(TUTTI_FLOAT64, inputs, "largest and halves of last places");
    const size_t count = inputs[0].size();
    assert_true(summed_one_by_one(TUTTI_FLOAT64, inputs, count) ==
                exact_sums_of(TUTTI_FLOAT64, inputs));
}

void the_sum_of_nothing_changes_nothing(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (const Elements& input : inputs_of(Kind::Zeros, dtype, 4, 5)) {
            assert_true(summed_one_by_one(dtype, {input}, 5) == input);
        }
        ExactSums(0, dtype).round(nullptr);
    }
}

}  // namespace
}  // namespace tutti::test

int main() {
    using namespace tutti::test;
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_kind_of_numbers_is_summed_exactly),
        TUTTI_TEST(many_inputs_are_summed_exactly),
        TUTTI_TEST(every_count_is_summed_exactly),
        TUTTI_TEST(every_triple_of_special_values_is_summed_exactly),
        TUTTI_TEST(the_slow_way_is_exact),
        TUTTI_TEST(the_call_sums_exactly),
        TUTTI_TEST(more_inputs_than_the_kernels_take_are_summed_exactly),
        TUTTI_TEST(inputs_that_come_one_by_one_are_summed_exactly),
        TUTTI_TEST(errors_that_overflow_lose_nothing),
        TUTTI_TEST(the_sum_of_nothing_changes_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
