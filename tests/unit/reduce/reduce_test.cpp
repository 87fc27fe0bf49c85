// The face of reduce/: the right kernels are called, what makes no sense is refused, TUTTI_CPU is
// obeyed. One thread.
#include "reduce/reduce.hpp"

#include "base/environment.hpp"
#include "samples.hpp"

namespace tutti::test {
namespace {

void the_calls_use_the_level_that_was_asked_for(void**) {
    const CpuLevel level = choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
    assert_ptr_equal(&kernels(), &kernels_of(level));
    print_message("level %d\n", static_cast<int>(level));
    for_each_reduction([level](tutti_dtype dtype, tutti_reduce_op op) {
        const Elements a = random_elements(dtype, 100);
        const Elements b = random_elements(dtype, 100);
        const Elements expected = expected_of(dtype, op, a, b);
        Memory first(dtype, a, 1);
        Memory second(dtype, b, 3);
        Memory out(dtype, Elements(a.size()), 5);
        reduce_to(out.data(), first.data(), second.data(), 100, dtype, op);
        expect_elements(out, expected, dtype, "reduce_to", level);
        reduce_into(first.data(), second.data(), 100, dtype, op);
        expect_elements(first, expected, dtype, "reduce_into", level);
        if (op != TUTTI_AVG) return;
        Elements divided;
        for (const uint64_t sum : expected) divided.push_back(reference_division(dtype, sum, 3));
        divide_by(first.data(), 100, dtype, 3);
        expect_elements(first, divided, dtype, "divide_by", level);
    });
}

void no_elements_need_no_memory(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        reduce_into(nullptr, nullptr, 0, dtype, op);
        reduce_to(nullptr, nullptr, nullptr, 0, dtype, op);
        if (op == TUTTI_AVG) divide_by(nullptr, 0, dtype, 2);
    });
}

void a_reduction_that_makes_no_sense_is_refused_by_name(void**) {
    for (tutti_dtype dtype = 0; dtype < dtype_count; ++dtype) {
        for (tutti_reduce_op op = 0; op < reduce_op_count; ++op) {
            const bool expected = expected_to_be_reducible(dtype, op);
            const auto reason = why_not_reducible(dtype, op);
            assert_int_equal(reason.has_value(), !expected);
            for (const CpuLevel level : levels()) {
                assert_int_equal(kernels_of(level).reduce[dtype][op] != nullptr, expected);
            }
            if (!reason) continue;
            assert_true(reason->starts_with(reduce_op_name(op)));
            assert_non_null(std::strstr(reason->c_str(), dtype_name(dtype)));
        }
    }
    assert_non_null(std::strstr(why_not_reducible(15, TUTTI_SUM)->c_str(), "15"));
    assert_non_null(std::strstr(why_not_reducible(TUTTI_INT8, 8)->c_str(), "8"));
}

void dtypes_and_ops_have_sizes_and_names(void**) {
    for (tutti_dtype dtype = 0; dtype < dtype_count; ++dtype) {
        const int bits = element_of(dtype).bits * parts_of(dtype);
        assert_int_equal(element_size(dtype) * 8, bits);
        const std::string name = dtype_name(dtype);
        if (dtype != TUTTI_BOOL) assert_true(name.ends_with(std::to_string(bits)));
    }
    assert_string_equal(dtype_name(TUTTI_BFLOAT16), "bfloat16");
    assert_string_equal(reduce_op_name(TUTTI_PRODUCT), "PRODUCT");
    assert_string_equal(reduce_op_name(TUTTI_BXOR), "BXOR");
    assert_int_equal(element_size(dtype_count), 0);
    assert_string_equal(dtype_name(dtype_count), "unknown");
    assert_string_equal(reduce_op_name(TUTTI_PREMUL_SUM + 1), "unknown");
}

void a_level_can_be_lowered_but_not_raised(void**) {
    using enum CpuLevel;
    assert_true(choose_cpu_level({}, Avx2) == Avx2);
    assert_true(choose_cpu_level("baseline", Avx512) == Baseline);
    assert_true(choose_cpu_level("avx2", Avx512) == Avx2);
    assert_true(choose_cpu_level("avx512", Avx2) == Avx2);
    TUTTI_EXPECT_ERROR(choose_cpu_level("avx1024", Avx2), TUTTI_ERR_INVALID_ARGUMENT, "TUTTI_CPU");
}

}  // namespace
}  // namespace tutti::test

int main() {
    using namespace tutti::test;
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_calls_use_the_level_that_was_asked_for),
        TUTTI_TEST(no_elements_need_no_memory),
        TUTTI_TEST(a_reduction_that_makes_no_sense_is_refused_by_name),
        TUTTI_TEST(dtypes_and_ops_have_sizes_and_names),
        TUTTI_TEST(a_level_can_be_lowered_but_not_raised),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
