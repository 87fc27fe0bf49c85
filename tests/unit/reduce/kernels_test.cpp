// The kernels of every instruction set this processor has against the reference, bit for bit: so
// they agree with each other too. One thread. TUTTI_TEST_SEED repeats a run.
#include "reduce/kernels.hpp"

#include <array>

#include "samples.hpp"

namespace tutti::test {
namespace {

constexpr size_t counts[] = {0, 1, 2, 3, 7, 31, 64, 1000, 4097};

// Bytes by which out, a and b are off a good alignment.
struct Shifts {
    size_t out, a, b;
};
constexpr Shifts all_shifts[] = {{0, 0, 0}, {1, 1, 1}, {7, 2, 13}, {8, 16, 4}};

size_t count_of(tutti_dtype dtype, const Elements& elements) {
    return elements.size() / static_cast<size_t>(parts_of(dtype));
}

// Into fresh memory, into a and into b, both ways round, at every level.
void check_reduction(tutti_dtype dtype, tutti_reduce_op op, const Elements& a, const Elements& b,
                     const Shifts& shifts) {
    const size_t count = count_of(dtype, a);
    const Elements expected = expected_of(dtype, op, a, b);
    const char* const name = reduce_op_name(op);
    for (const CpuLevel level : levels()) {
        const ReduceKernel kernel = kernels_of(level).reduce[dtype][op];
        Memory out(dtype, Elements(a.size()), shifts.out);
        Memory first(dtype, a, shifts.a);
        Memory second(dtype, b, shifts.b);
        kernel(out.data(), first.data(), second.data(), count);
        expect_elements(out, expected, dtype, name, level);
        kernel(out.data(), second.data(), first.data(), count);
        expect_elements(out, expected, dtype, name, level);

        Memory also_first(dtype, a, shifts.out);
        kernel(also_first.data(), also_first.data(), second.data(), count);
        expect_elements(also_first, expected, dtype, name, level);
        kernel(second.data(), first.data(), second.data(), count);
        expect_elements(second, expected, dtype, name, level);
        expect_elements(first, a, dtype, name, level);
    }
}

void every_kernel_gives_the_reference_at_every_count_and_alignment(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        for (const size_t count : counts) {
            for (const Shifts& shifts : all_shifts) {
                check_reduction(dtype, op, random_elements(dtype, count),
                                random_elements(dtype, count), shifts);
            }
        }
    });
}

// Every count up to several vectors of the widest kind: each way a remainder can look.
void every_remainder_is_reduced(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        for (size_t count = 0; count <= 140; ++count) {
            check_reduction(dtype, op, random_elements(dtype, count), random_elements(dtype, count),
                            {0, 0, 0});
        }
    });
}

void every_pair_of_special_values_gives_the_reference(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        Elements a;
        Elements b;
        for (const uint64_t first : special_values(dtype)) {
            for (const uint64_t second : special_values(dtype)) {
                a.push_back(first);
                b.push_back(second);
            }
        }
        check_reduction(dtype, op, a, b, {0, 0, 0});
    });
}

// A product with 1 shows the conversion there and back of each number.
void every_16_bit_number_gives_the_reference(void**) {
    constexpr size_t all = 65536;
    for (const tutti_dtype dtype : {TUTTI_FLOAT16, TUTTI_BFLOAT16}) {
        Elements numbers(all);
        for (size_t i = 0; i < all; ++i) numbers[i] = i;
        const Elements ones(all, encode(1, element_of(dtype).format));
        check_reduction(dtype, TUTTI_PRODUCT, numbers, ones, {0, 0, 0});
        for (const tutti_reduce_op op : {TUTTI_SUM, TUTTI_PRODUCT, TUTTI_MIN, TUTTI_MAX}) {
            check_reduction(dtype, op, numbers, random_elements(dtype, all), {0, 0, 0});
        }
    }
}

void the_division_gives_the_reference(void**) {
    for (tutti_dtype dtype = 0; dtype < dtype_count; ++dtype) {
        if (!expected_to_be_reducible(dtype, TUTTI_AVG)) continue;
        for (const int ranks : {1, 2, 3, 7, 1000, INT32_MAX}) {
            for (const size_t count : counts) {
                Elements data = random_elements(dtype, count);
                for (const uint64_t special : special_values(dtype)) {
                    data.insert(data.end(), static_cast<size_t>(parts_of(dtype)), special);
                }
                if (count == 0) data.clear();
                Elements expected(data.size());
                for (size_t i = 0; i < data.size(); ++i) {
                    expected[i] = reference_division(dtype, data[i], ranks);
                }
                for (const CpuLevel level : levels()) {
                    Memory memory(dtype, data, count % 2);
                    kernels_of(level).divide[dtype](memory.data(), count_of(dtype, data), ranks);
                    expect_elements(memory, expected, dtype, "divided", level);
                }
            }
        }
    }
}

// A factor as the kernels take it: the bits of one number, or of two.
std::array<unsigned char, 16> operand_of(tutti_dtype dtype, uint64_t first, uint64_t second = 0) {
    const bool is_narrow =
        element_of(dtype).kind == Element::Floating && element_of(dtype).bits == 16;
    const auto size = static_cast<size_t>(is_narrow ? 4 : element_of(dtype).bits / 8);
    std::array<unsigned char, 16> operand{};
    for (size_t part = 0; part < 2; ++part) {
        const uint64_t bits = part == 0 ? first : second;
        for (size_t byte = 0; byte < size; ++byte) {
            const size_t place = std::endian::native == std::endian::big ? size - 1 - byte : byte;
            operand[part * size + place] = static_cast<unsigned char>(bits >> (8 * byte));
        }
    }
    return operand;
}

Elements factors_of(tutti_dtype dtype) {
    const bool is_narrow =
        element_of(dtype).kind == Element::Floating && element_of(dtype).bits == 16;
    const tutti_dtype calculated = is_narrow ? tutti_dtype{TUTTI_FLOAT32} : dtype;
    Elements factors = special_values(calculated);
    for (const uint64_t factor : random_elements(calculated, 10)) factors.push_back(factor);
    return factors;
}

void the_scaling_gives_the_reference(void**) {
    for (tutti_dtype dtype = 0; dtype < TUTTI_BOOL; ++dtype) {
        for (const uint64_t factor : factors_of(dtype)) {
            const auto operand = operand_of(dtype, factor);
            for (const size_t count : {size_t{0}, size_t{3}, size_t{1001}}) {
                Elements data = random_elements(dtype, count);
                for (const uint64_t special : special_values(dtype)) {
                    data.insert(data.end(), static_cast<size_t>(parts_of(dtype)), special);
                }
                Elements expected;
                for (const uint64_t x : data) {
                    expected.push_back(reference_scaled(dtype, x, factor));
                }
                for (const CpuLevel level : levels()) {
                    const ScaleKernel kernel = kernels_of(level).scale[dtype];
                    Memory in(dtype, data, 3);
                    Memory out(dtype, Elements(data.size()), count % 2);
                    kernel(out.data(), in.data(), count_of(dtype, data), operand.data());
                    expect_elements(out, expected, dtype, "scaled", level);
                    expect_elements(in, data, dtype, "not scaled", level);
                    kernel(in.data(), in.data(), count_of(dtype, data), operand.data());
                    expect_elements(in, expected, dtype, "scaled in place", level);
                }
            }
        }
    }
}

void a_complex_factor_gives_the_reference(void**) {
    for (const tutti_dtype dtype : {TUTTI_COMPLEX64, TUTTI_COMPLEX128}) {
        for (int turn = 0; turn < 60; ++turn) {
            const Elements factor = random_elements(dtype, 1);
            const auto operand = operand_of(dtype, factor[0], factor[1]);
            const Elements data = random_elements(dtype, static_cast<size_t>(turn));
            Elements expected;
            for (size_t i = 0; i < data.size(); i += 2) {
                const auto [real, imaginary] = reference_complex_product(
                    dtype, {data[i], data[i + 1]}, {factor[0], factor[1]});
                expected.insert(expected.end(), {real, imaginary});
            }
            for (const CpuLevel level : levels()) {
                const ScaleKernel kernel = kernels_of(level).scale_complex[dtype];
                Memory in(dtype, data, 3);
                Memory out(dtype, Elements(data.size()), 1);
                kernel(out.data(), in.data(), count_of(dtype, data), operand.data());
                expect_elements(out, expected, dtype, "times a complex number", level);
                kernel(in.data(), in.data(), count_of(dtype, data), operand.data());
                expect_elements(in, expected, dtype, "times a complex number in place", level);
            }
        }
    }
}

}  // namespace
}  // namespace tutti::test

int main() {
    using namespace tutti::test;
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_kernel_gives_the_reference_at_every_count_and_alignment),
        TUTTI_TEST(every_remainder_is_reduced),
        TUTTI_TEST(every_pair_of_special_values_gives_the_reference),
        TUTTI_TEST(every_16_bit_number_gives_the_reference),
        TUTTI_TEST(the_division_gives_the_reference),
        TUTTI_TEST(the_scaling_gives_the_reference),
        TUTTI_TEST(a_complex_factor_gives_the_reference),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
