// Exact sums, the kernels' of every instruction set and those that travel, against an integer of
// thousands of bits. One thread. TUTTI_TEST_SEED repeats a run.
#include <bit>
#include <limits>
#include <numeric>

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

// What the kernels fall back on, for every element.
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

// The inputs go to parts, the parts travel and are merged, by several hands.
Elements summed_in_parts(tutti_dtype dtype, const std::vector<Elements>& inputs, size_t count) {
    std::vector<ExactSums> parts;
    for (size_t i = 1 + random_below(5); i > 0; --i) parts.emplace_back(count, dtype);
    for (const Elements& input : inputs) {
        parts[random_below(parts.size())].add(Memory(dtype, input, random_below(64)).data());
    }
    while (parts.size() > 1) {
        const auto encoded = parts.back().encoded();
        parts.pop_back();
        assert_in_range(encoded.size(), ExactSums::smallest_encoding(count, dtype),
                        ExactSums::largest_encoding(count, dtype));
        parts[random_below(parts.size())].merge(encoded);
    }
    Memory out(dtype, Elements(inputs[0].size()), random_below(64));
    parts[0].round(out.data());
    assert_true(out.guards_stand());
    return out.elements();
}

void sums_that_travel_in_parts_are_exact(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (const Kind kind : all_kinds) {
            for (const size_t number : {1, 2, 3, 5, 8, 30, 300}) {
                const size_t count = number < 30 ? 60 : 10;
                const auto inputs = inputs_of(kind, dtype, number, count);
                const Elements expected = exact_sums_of(dtype, inputs);
                const Elements got = summed_in_parts(dtype, inputs, count);
                for (size_t i = 0; i < expected.size(); ++i) {
                    if (got[i] == expected[i]) continue;
                    fail_msg("%s of %zu %s in parts: %#llx, not %#llx", dtype_name(dtype), number,
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
    assert_true(summed_in_parts(TUTTI_FLOAT64, inputs, count) ==
                exact_sums_of(TUTTI_FLOAT64, inputs));
}

void a_part_of_nothing_changes_nothing(void**) {
    for (const tutti_dtype dtype : dtypes) {
        ExactSums nothing(5, dtype);
        ExactSums sums(5, dtype);
        const auto input = inputs_of(Kind::Zeros, dtype, 1, 5);
        sums.add(Memory(dtype, input[0], 0).data());
        sums.merge(nothing.encoded());
        Memory out(dtype, Elements(input[0].size()), 0);
        sums.round(out.data());
        assert_true(out.elements() == input[0]);
        ExactSums(0, dtype).merge(ExactSums(0, dtype).encoded());
    }
}

// What travels for ordinary numbers is small.
void normal_numbers_travel_in_their_leading_doubles(void**) {
    for (const tutti_dtype dtype : dtypes) {
        ExactSums sums(1000, dtype);
        for (const Elements& input : inputs_of(Kind::Normal, dtype, 8, 1000)) {
            sums.add(Memory(dtype, input, 0).data());
        }
        assert_int_equal(sums.encoded().size(), ExactSums::smallest_encoding(1000, dtype));
    }
    assert_int_equal(ExactSums::smallest_encoding(10, TUTTI_BFLOAT16), 80);
    assert_int_equal(ExactSums::smallest_encoding(10, TUTTI_FLOAT32), 80);
    assert_int_equal(ExactSums::smallest_encoding(10, TUTTI_COMPLEX128), 320);
}

// A sum of floats in which a digit stands at every place of the range.
std::vector<std::byte> hostile_encoding(size_t count) {
    ExactSums sums(count, TUTTI_FLOAT32);
    for (const Elements& input : inputs_of(Kind::FullRange, TUTTI_FLOAT32, 30, count)) {
        sums.add(Memory(TUTTI_FLOAT32, input, 0).data());
    }
    return sums.encoded();
}

void malformed_sums_are_refused(void**) {
    const auto good = hostile_encoding(4);
    const size_t fixed = ExactSums::smallest_encoding(4, TUTTI_FLOAT32);
    assert_true(good.size() > fixed);
    const auto merged = [](std::vector<std::byte> bytes) {
        ExactSums(4, TUTTI_FLOAT32).merge(bytes);
    };
    merged(good);
    auto bad = good;
    bad.resize(fixed - 1);
    TUTTI_EXPECT_ERROR(merged(bad), TUTTI_ERR_BACKEND, "too short");
    bad = good;
    bad.pop_back();
    TUTTI_EXPECT_ERROR(merged(bad), TUTTI_ERR_BACKEND, "a part of a digit");
    const auto with_place = [&](uint32_t place) {
        auto bytes = good;
        std::memcpy(&bytes[fixed], &place, sizeof place);
        return bytes;
    };
    merged(with_place(3 * 128 + 66));
    TUTTI_EXPECT_ERROR(merged(with_place(4 * 128)), TUTTI_ERR_BACKEND, "no number");
    TUTTI_EXPECT_ERROR(merged(with_place(67)), TUTTI_ERR_BACKEND, "nowhere");
}

// Sums made of random bytes may be anything, but they end.
void senseless_sums_do_no_harm(void**) {
    for (const tutti_dtype dtype : dtypes) {
        for (int turn = 0; turn < 200; ++turn) {
            ExactSums sums(3, dtype);
            for (int part = 0; part < 3; ++part) {
                std::vector<std::byte> bytes(ExactSums::smallest_encoding(3, dtype) + 8 * 40);
                for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_below(256));
                for (size_t at = bytes.size() - 8 * 40; at < bytes.size(); at += 8) {
                    const auto place =
                        static_cast<uint32_t>(random_below(3) * 128 + random_below(67));
                    std::memcpy(&bytes[at], &place, sizeof place);
                }
                sums.merge(bytes);
            }
            Memory out(dtype, Elements(3 * static_cast<size_t>(parts_of(dtype))), 0);
            sums.round(out.data());
            assert_true(out.guards_stand());
            static_cast<void>(sums.encoded());
        }
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
        TUTTI_TEST(sums_that_travel_in_parts_are_exact),
        TUTTI_TEST(errors_that_overflow_lose_nothing),
        TUTTI_TEST(a_part_of_nothing_changes_nothing),
        TUTTI_TEST(normal_numbers_travel_in_their_leading_doubles),
        TUTTI_TEST(malformed_sums_are_refused),
        TUTTI_TEST(senseless_sums_do_no_harm),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
