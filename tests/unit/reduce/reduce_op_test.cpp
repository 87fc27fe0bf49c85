// Ops that callers make: factors of every dtype, functions, and the table that both stand in. The
// last test has several threads, the others one.
#include "reduce/reduce_op.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "reduce/reduce.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;

// An op that is released at the end.
class Made {
public:
    explicit Made(ReduceOp::Made made) : number_(ReduceOp::make(std::move(made))) {}
    ~Made() { ReduceOp::release(number_); }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    operator ReduceOp() const { return number_; }
    [[nodiscard]] tutti_reduce_op number() const { return number_; }

private:
    tutti_reduce_op number_;
};

template <typename T>
Factor factor(T value, tutti_dtype dtype) {
    return {&value, dtype};
}

// The result for one element.
template <typename T>
T scaled(T element, tutti_dtype dtype, const ReduceOp& op) {
    T result{};
    assert_false(why_not_reducible(dtype, op).has_value());
    begin_reduction(&result, &element, 1, dtype, op);
    return result;
}

template <typename T>
void expect_scaled(T element, T expected, tutti_dtype dtype, const ReduceOp& op) {
    if (scaled(element, dtype, op) == expected) return;
    fail_msg("%s times %s", dtype_name(dtype), dtype_name(op.factor()->dtype()));
}

constexpr uint16_t two_float16 = 0x4000;
constexpr uint16_t three_float16 = 0x4200;
constexpr uint16_t two_bfloat16 = 0x4000;
constexpr uint16_t three_bfloat16 = 0x4040;

void expect_doubling_of_floats_and_complex(const ReduceOp& op) {
    expect_scaled<uint16_t>(0x3e00, three_float16, TUTTI_FLOAT16, op);
    expect_scaled<uint16_t>(0x3fc0, three_bfloat16, TUTTI_BFLOAT16, op);
    expect_scaled(1.5F, 3.F, TUTTI_FLOAT32, op);
    expect_scaled(1.5, 3., TUTTI_FLOAT64, op);
    expect_scaled(std::complex<float>(1, -2), {2, -4}, TUTTI_COMPLEX64, op);
    expect_scaled(std::complex<double>(1, -2), {2, -4}, TUTTI_COMPLEX128, op);
}

void expect_doubling_of_integers(const ReduceOp& op) {
    expect_scaled<int8_t>(-64, -128, TUTTI_INT8, op);
    expect_scaled<uint8_t>(200, 144, TUTTI_UINT8, op);
    expect_scaled<int16_t>(-3, -6, TUTTI_INT16, op);
    expect_scaled<uint16_t>(40'000, 14'464, TUTTI_UINT16, op);
    expect_scaled<int32_t>(-3, -6, TUTTI_INT32, op);
    expect_scaled<uint32_t>(3'000'000'000, 1'705'032'704, TUTTI_UINT32, op);
    expect_scaled<int64_t>(-3, -6, TUTTI_INT64, op);
    expect_scaled<uint64_t>(uint64_t{1} << 63, 0, TUTTI_UINT64, op);
}

void a_factor_of_any_dtype_scales_what_can_hold_the_products(void**) {
    const Factor integers[] = {factor<int8_t>(2, TUTTI_INT8),   factor<uint8_t>(2, TUTTI_UINT8),
                               factor<int16_t>(2, TUTTI_INT16), factor<uint16_t>(2, TUTTI_UINT16),
                               factor<int32_t>(2, TUTTI_INT32), factor<uint32_t>(2, TUTTI_UINT32),
                               factor<int64_t>(2, TUTTI_INT64), factor<uint64_t>(2, TUTTI_UINT64)};
    for (const Factor& two : integers) {
        const Made op(two);
        expect_doubling_of_integers(op);
        expect_doubling_of_floats_and_complex(op);
    }
    const Factor reals[] = {factor(two_float16, TUTTI_FLOAT16),
                            factor(two_bfloat16, TUTTI_BFLOAT16), factor(2.F, TUTTI_FLOAT32),
                            factor(2., TUTTI_FLOAT64)};
    for (const Factor& two : reals) expect_doubling_of_floats_and_complex(Made(two));
}

void a_complex_factor_turns_complex_numbers(void**) {
    const Made single(factor(std::complex<float>(0, 2), TUTTI_COMPLEX64));
    const Made twice(factor(std::complex<double>(0, 2), TUTTI_COMPLEX128));
    for (const ReduceOp& op : {ReduceOp(single), ReduceOp(twice)}) {
        expect_scaled(std::complex<float>(3, 4), {-8, 6}, TUTTI_COMPLEX64, op);
        expect_scaled(std::complex<double>(3, 4), {-8, 6}, TUTTI_COMPLEX128, op);
    }
}

void awkward_factors_are_read_right(void**) {
    expect_scaled<int64_t>(3, -3, TUTTI_INT64, Made(factor<int8_t>(-1, TUTTI_INT8)));
    expect_scaled(3., -3., TUTTI_FLOAT64, Made(factor<int16_t>(-1, TUTTI_INT16)));
    expect_scaled(1., 18446744073709551616., TUTTI_FLOAT64,
                  Made(factor<uint64_t>(UINT64_MAX, TUTTI_UINT64)));
    expect_scaled<uint64_t>(1, UINT64_MAX, TUTTI_UINT64,
                            Made(factor<uint64_t>(UINT64_MAX, TUTTI_UINT64)));
    // The smallest float16, the largest, infinity.
    expect_scaled(1., 0x1p-24, TUTTI_FLOAT64, Made(factor<uint16_t>(0x0001, TUTTI_FLOAT16)));
    expect_scaled(1., -65504., TUTTI_FLOAT64, Made(factor<uint16_t>(0xfbff, TUTTI_FLOAT16)));
    expect_scaled(1., HUGE_VAL, TUTTI_FLOAT64, Made(factor<uint16_t>(0x7c00, TUTTI_FLOAT16)));
    const double not_a_number =
        scaled(1., TUTTI_FLOAT64, Made(factor<uint16_t>(0x7e01, TUTTI_FLOAT16)));
    assert_true(not_a_number != not_a_number);
    // A tenth of ten, in float32 and rounded to float16 once.
    expect_scaled<uint16_t>(0x4900, 0x3c00, TUTTI_FLOAT16, Made(factor(0.1, TUTTI_FLOAT64)));
}

void a_factor_that_does_not_fit_is_refused_with_both_dtypes(void**) {
    const Made real(factor(0.5F, TUTTI_FLOAT32));
    const Made complex(factor(std::complex<double>(0, 1), TUTTI_COMPLEX128));
    const Made integer(factor<int32_t>(2, TUTTI_INT32));
    assert_string_equal(why_not_reducible(TUTTI_INT32, real)->c_str(),
                        "PREMUL_SUM with a factor of float32 is not defined for int32, which "
                        "cannot hold the products");
    for (tutti_dtype dtype = TUTTI_INT8; dtype <= TUTTI_FLOAT64; ++dtype) {
        assert_true(why_not_reducible(dtype, complex).has_value());
        assert_int_equal(why_not_reducible(dtype, real).has_value(), dtype <= TUTTI_UINT64);
    }
    assert_non_null(std::strstr(why_not_reducible(TUTTI_BOOL, integer)->c_str(), "bool"));
    const uint8_t yes = 1;
    TUTTI_EXPECT_ERROR(Factor(&yes, TUTTI_BOOL), TUTTI_ERR_INVALID_ARGUMENT, "factor is a bool");
}

void products_are_summed(void**) {
    const Made half(factor(0.5, TUTTI_FLOAT64));
    const Made thrice(factor(3., TUTTI_FLOAT64));
    std::array<double, 3> sum{2, 4, 6};
    const std::array<double, 3> other{1, 1, 2};
    std::array<double, 3> others{};
    begin_reduction(sum.data(), sum.data(), 3, TUTTI_FLOAT64, half);
    begin_reduction(others.data(), other.data(), 3, TUTTI_FLOAT64, thrice);
    reduce_into(sum.data(), others.data(), 3, TUTTI_FLOAT64, half);
    end_reduction(sum.data(), 3, TUTTI_FLOAT64, half, 2);
    assert_true((sum == std::array<double, 3>{4, 5, 9}));
}

void a_built_in_op_begins_with_a_copy_and_avg_ends_with_a_division(void**) {
    const std::array<double, 2> input{3, 5};
    std::array<double, 2> output{};
    begin_reduction(output.data(), input.data(), 2, TUTTI_FLOAT64, TUTTI_AVG);
    assert_true(output == input);
    end_reduction(output.data(), 2, TUTTI_FLOAT64, TUTTI_SUM, 2);
    assert_true(output == input);
    end_reduction(output.data(), 2, TUTTI_FLOAT64, TUTTI_AVG, 2);
    assert_true((output == std::array<double, 2>{1.5, 2.5}));
    std::array<uint8_t, 3> truth{0, 1, 200};
    begin_reduction(truth.data(), truth.data(), 3, TUTTI_BOOL, TUTTI_MAX);
    assert_true((truth == std::array<uint8_t, 3>{0, 1, 1}));
    begin_reduction(nullptr, nullptr, 0, TUTTI_FLOAT64, TUTTI_SUM);
}

// 10 * the lower part + the higher part: shows order and number of the operands.
Status append_digits(const void* in, void* inout, int64_t count, tutti_dtype dtype) {
    if (dtype != TUTTI_INT64) return {TUTTI_ERR_UNSUPPORTED, -1, 0, ""};
    const auto* const lower = static_cast<const int64_t*>(in);
    auto* const higher = static_cast<int64_t*>(inout);
    for (int64_t i = 0; i < count; ++i) higher[i] += 10 * lower[i];
    return {};
}

void a_function_gets_the_lower_part_first_wherever_the_result_goes(void**) {
    int64_t calls = 0;
    const auto counted = [&calls](const void* in, void* inout, int64_t count, tutti_dtype dtype) {
        calls += count;
        return append_digits(in, inout, count, dtype);
    };
    const Made op(UserFunction{"digits", counted, false});
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{8192}, size_t{100'000}}) {
        const std::vector<int64_t> ones(count, 1);
        const std::vector<int64_t> twos(count, 2);
        const std::vector<int64_t> expected(count, 12);
        std::vector<int64_t> first = ones;
        std::vector<int64_t> second = twos;
        std::vector<int64_t> out(count);
        calls = 0;
        reduce_to(out.data(), first.data(), second.data(), count, TUTTI_INT64, op);
        assert_true(out == expected && first == ones && second == twos);
        reduce_to(first.data(), first.data(), second.data(), count, TUTTI_INT64, op);
        assert_true(first == expected && second == twos);
        reduce_to(second.data(), ones.data(), second.data(), count, TUTTI_INT64, op);
        assert_true(second == expected);
        std::vector<int64_t> into = ones;
        reduce_into(into.data(), twos.data(), count, TUTTI_INT64, op);
        assert_true(into == expected);
        assert_int_equal(calls, 4 * count);
    }
    calls = 0;
    reduce_into(nullptr, nullptr, 0, TUTTI_INT64, op);
    assert_int_equal(calls, 0);
}

Status throw_out(const void*, void*, int64_t, tutti_dtype) {
    throw std::runtime_error("out");
}

void a_function_that_fails_is_an_error_with_its_name(void**) {
    const Made picky(UserFunction{"picky", append_digits});
    const Made thrower(UserFunction{"thrower", throw_out});
    double a = 1;
    double b = 2;
    assert_false(why_not_reducible(TUTTI_FLOAT64, picky).has_value());
    TUTTI_EXPECT_ERROR(reduce_into(&a, &b, 1, TUTTI_FLOAT64, picky), TUTTI_ERR_BACKEND,
                       "the reduce function \"picky\" returned 3");
    TUTTI_EXPECT_ERROR(reduce_into(&a, &b, 1, TUTTI_FLOAT64, thrower), TUTTI_ERR_BACKEND,
                       "the reduce function \"thrower\" has thrown");
    assert_true(why_not_reducible(TUTTI_BOOL + 1, picky).has_value());
}

void ranks_compare_names_and_kinds(void**) {
    const Made one(UserFunction{"one", append_digits});
    const Made same(UserFunction{"one", throw_out, true});
    const Made other(UserFunction{"other", append_digits});
    const Made ordered(UserFunction{"one", append_digits, false});
    const Made half(factor(0.5, TUTTI_FLOAT64));
    const Made twice(factor(2, TUTTI_INT32));
    const auto mark = [](const ReduceOp& op) { return op.fingerprint(); };
    assert_int_equal(mark(one), mark(same));
    assert_int_not_equal(mark(one), mark(other));
    assert_int_not_equal(mark(one), mark(ordered));
    assert_int_equal(mark(half), TUTTI_PREMUL_SUM);
    assert_int_equal(mark(half), mark(twice));
    assert_int_equal(mark(TUTTI_MAX), TUTTI_MAX);
    assert_string_equal(describe_op(mark(other)).c_str(), "\"other\"");
    assert_string_equal(describe_op(mark(half)).c_str(), "PREMUL_SUM");
    assert_string_equal(describe_op(TUTTI_BXOR).c_str(), "BXOR");
    assert_string_equal(describe_op(77).c_str(), "unknown");
    assert_string_equal(describe_op(0xffff'ffff).c_str(), "a function of another name");
    assert_true(ReduceOp(one).is_commutative() && ReduceOp(half).is_commutative());
    assert_false(ReduceOp(ordered).is_commutative());
    assert_true(ReduceOp(TUTTI_SUM).is_commutative());
}

// The reports of ranks about a call in progress must be the same on all of them.
void a_function_that_is_released_at_work_keeps_its_name(void**) {
    uint32_t mark = 0;
    {
        auto first = std::make_unique<Made>(UserFunction{"at work", append_digits});
        const ReduceOp at_work = *first;
        first.reset();
        mark = at_work.fingerprint();
        assert_string_equal(describe_op(mark).c_str(), "\"at work\"");
        { const Made newer(UserFunction{"at work", throw_out}); }
        for (int i = 0; i < 100; ++i) {
            const Made other(UserFunction{cat("other ", i), throw_out});
        }
        assert_string_equal(describe_op(mark).c_str(), "\"at work\"");
    }
    assert_string_equal(describe_op(mark).c_str(), "a function of another name");
}

void a_released_op_is_refused_and_its_number_does_not_come_back(void**) {
    const tutti_reduce_op number = ReduceOp::make(factor(0.5, TUTTI_FLOAT64));
    const ReduceOp kept(number);
    ReduceOp::release(number);
    ReduceOp::release(number);
    assert_non_null(std::strstr(why_not_reducible(TUTTI_FLOAT64, number)->c_str(),
                                "a reduce op that was released"));
    assert_false(why_not_reducible(TUTTI_FLOAT64, kept).has_value());
    expect_scaled(3., 1.5, TUTTI_FLOAT64, kept);
    for (int turn = 0; turn < 70'000; ++turn) {
        const tutti_reduce_op next = ReduceOp::make(factor(2., TUTTI_FLOAT64));
        if (next == number) fail_msg("turn %d: number %u came back", turn, number);
        assert_true(next < uint32_t{1} << 31 && next >= 256);
        ReduceOp::release(next);
    }
}

void numbers_that_name_no_op_are_refused(void**) {
    const Made living(factor(0.5, TUTTI_FLOAT64));
    for (int bit = 0; bit < 32; ++bit) {
        const tutti_reduce_op wrong = living.number() ^ uint32_t { 1 } << bit;
        assert_true(why_not_reducible(TUTTI_FLOAT64, wrong).has_value());
        ReduceOp::release(wrong);
    }
    assert_false(why_not_reducible(TUTTI_FLOAT64, living).has_value());
    assert_string_equal(why_not_reducible(TUTTI_FLOAT64, 9)->c_str(), "there is no reduce op 9");
    assert_non_null(std::strstr(why_not_reducible(TUTTI_FLOAT64, TUTTI_PREMUL_SUM)->c_str(),
                                "PREMUL_SUM (8) needs its factor"));
    for (tutti_reduce_op op = 0; op <= TUTTI_PREMUL_SUM; ++op) ReduceOp::release(op);
}

void too_many_ops_are_an_error_until_one_is_released(void**) {
    std::vector<tutti_reduce_op> made;
    TUTTI_EXPECT_ERROR(
        [&] {
            for (;;) made.push_back(ReduceOp::make(factor(2., TUTTI_FLOAT64)));
        }(),
        TUTTI_ERR_OUT_OF_MEMORY, "32768 reduce ops");
    assert_in_range(made.size(), 32'000, 32'768);
    ReduceOp::release(made.back());
    made.back() = ReduceOp::make(factor(2., TUTTI_FLOAT64));
    for (const tutti_reduce_op op : made) ReduceOp::release(op);
}

void threads_make_use_and_release_ops(void**) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&wrong, index] {
            for (int turn = 0; turn < 2000; ++turn) {
                const double value = index * 10 + turn % 10;
                const tutti_reduce_op number = ReduceOp::make(factor(value, TUTTI_FLOAT64));
                const ReduceOp op(number);
                if (turn % 2 == 0) ReduceOp::release(number);
                double result = 1;
                begin_reduction(&result, &result, 1, TUTTI_FLOAT64, op);
                if (result != value) ++wrong;
                ReduceOp::release(number);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(wrong, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_factor_of_any_dtype_scales_what_can_hold_the_products),
        TUTTI_TEST(a_complex_factor_turns_complex_numbers),
        TUTTI_TEST(awkward_factors_are_read_right),
        TUTTI_TEST(a_factor_that_does_not_fit_is_refused_with_both_dtypes),
        TUTTI_TEST(products_are_summed),
        TUTTI_TEST(a_built_in_op_begins_with_a_copy_and_avg_ends_with_a_division),
        TUTTI_TEST(a_function_gets_the_lower_part_first_wherever_the_result_goes),
        TUTTI_TEST(a_function_that_fails_is_an_error_with_its_name),
        TUTTI_TEST(ranks_compare_names_and_kinds),
        TUTTI_TEST(a_released_op_is_refused_and_its_number_does_not_come_back),
        TUTTI_TEST(numbers_that_name_no_op_are_refused),
        TUTTI_TEST(too_many_ops_are_an_error_until_one_is_released),
        TUTTI_TEST(a_function_that_is_released_at_work_keeps_its_name),
        TUTTI_TEST(threads_make_use_and_release_ops),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
