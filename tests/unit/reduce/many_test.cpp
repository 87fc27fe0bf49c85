// Reductions of several inputs at once, the kernels' of every instruction set and the call, against
// the same reductions step by step, or, of float16 and bfloat16, sums in float32 that are rounded
// once. One thread. TUTTI_TEST_SEED repeats a run.
#include "base/environment.hpp"
#include "samples.hpp"

namespace tutti::test {
namespace {

std::vector<Elements> random_inputs(tutti_dtype dtype, size_t number, size_t count) {
    std::vector<Elements> inputs;
    for (size_t i = 0; i < number; ++i) inputs.push_back(random_elements(dtype, count));
    return inputs;
}

Elements step_by_step(tutti_dtype dtype, tutti_reduce_op op, const std::vector<Elements>& inputs) {
    Elements expected = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) {
        expected = expected_of(dtype, op, expected, inputs[i]);
    }
    return expected;
}

constexpr Format float32{8, 23};

bool is_short_sum(tutti_dtype dtype, tutti_reduce_op op) {
    return (dtype == TUTTI_FLOAT16 || dtype == TUTTI_BFLOAT16) &&
           (op == TUTTI_SUM || op == TUTTI_AVG);
}

Elements sums_in_float32(tutti_dtype dtype, const std::vector<Elements>& inputs) {
    const Format format = element_of(dtype).format;
    Elements sums(inputs[0].size());
    for (size_t at = 0; at < sums.size(); ++at) {
        sums[at] = encode(decode(inputs[0][at], format), float32);
        for (size_t i = 1; i < inputs.size(); ++i) {
            const uint64_t next = encode(decode(inputs[i][at], format), float32);
            sums[at] = reference(TUTTI_FLOAT32, TUTTI_SUM, sums[at], next);
        }
    }
    return sums;
}

Elements rounded(tutti_dtype dtype, const Elements& sums, size_t divisor) {
    Elements result(sums.size());
    for (size_t at = 0; at < sums.size(); ++at) {
        const Exact sum = decode(sums[at], float32);
        const uint64_t quotient = encode(sum / static_cast<Exact>(divisor), float32);
        result[at] = encode(decode(quotient, float32), element_of(dtype).format);
    }
    return result;
}

Elements at_once(tutti_dtype dtype, tutti_reduce_op op, const std::vector<Elements>& inputs) {
    const bool is_copy = inputs.size() == 1 && op == TUTTI_SUM;
    if (!is_short_sum(dtype, op) || is_copy) return step_by_step(dtype, op, inputs);
    return rounded(dtype, sums_in_float32(dtype, inputs), op == TUTTI_AVG ? inputs.size() : 1);
}

std::vector<Memory> in_memory(tutti_dtype dtype, const std::vector<Elements>& inputs,
                              size_t shift) {
    std::vector<Memory> memories;
    memories.reserve(inputs.size());
    for (const Elements& input : inputs) memories.emplace_back(dtype, input, shift++ * 5 % 64);
    return memories;
}

// At every level and with both kinds of stores, elsewhere and in place of each input.
void check_reduction(tutti_dtype dtype, tutti_reduce_op op, size_t number, size_t count,
                     size_t shift) {
    const auto inputs = random_inputs(dtype, number, count);
    const Elements expected = at_once(dtype, op, inputs);
    const char* const name = reduce_op_name(op);
    for (const CpuLevel level : levels()) {
        const ManyKernel kernel = kernels_of(level).reduce_many[dtype][op];
        for (const bool streaming : {false, true}) {
            auto memories = in_memory(dtype, inputs, shift);
            const auto places = places_of(memories);
            Memory out(dtype, Elements(expected.size()), shift);
            kernel(out.data(), places.data(), number, count, streaming);
            expect_elements(out, expected, dtype, name, level);
            for (size_t in_place = 0; in_place < number; ++in_place) {
                expect_elements(memories[in_place], inputs[in_place], dtype, name, level);
                auto others = in_memory(dtype, inputs, shift);
                kernel(others[in_place].data(), places_of(others).data(), number, count, streaming);
                expect_elements(others[in_place], expected, dtype, name, level);
            }
        }
    }
}

void several_inputs_are_reduced_at_once(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        for (size_t number = 1; number <= 5; ++number) {
            check_reduction(dtype, op, number, 200, random_below(64));
        }
        check_reduction(dtype, op, 17, 50, 0);
    });
}

void every_count_of_several_inputs_is_reduced(void**) {
    for_each_reduction([](tutti_dtype dtype, tutti_reduce_op op) {
        for (size_t count = 0; count <= 140; ++count) {
            check_reduction(dtype, op, 3, count, random_below(64));
        }
    });
}

void the_call_reduces_several_inputs(void**) {
    const CpuLevel level = choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
    for_each_reduction([level](tutti_dtype dtype, tutti_reduce_op op) {
        for (const Stores stores : {Stores::Ordinary, Stores::Streaming}) {
            const auto inputs = random_inputs(dtype, 4, 333);
            auto memories = in_memory(dtype, inputs, 3);
            Memory out(dtype, Elements(inputs[0].size()), 16);
            reduce_many(out.data(), places_of(memories), 333, dtype, op, stores);
            expect_elements(out, at_once(dtype, op, inputs), dtype, "reduce_many", level);
        }
        const void* const nothing[] = {nullptr, nullptr, nullptr};
        reduce_many(nullptr, nothing, 0, dtype, op);
    });
}

// In parts: sums of some inputs as float32, and float32 rounded.
void sums_of_short_floats_are_made_in_parts(void**) {
    for (const tutti_dtype dtype : {TUTTI_FLOAT16, TUTTI_BFLOAT16}) {
        for (size_t count = 0; count <= 140; ++count) {
            const size_t number = 1 + count % 4;
            const auto inputs = random_inputs(dtype, number, count);
            const Elements sums = sums_in_float32(dtype, inputs);
            for (const CpuLevel level : levels()) {
                const Kernels& kernels = kernels_of(level);
                auto memories = in_memory(dtype, inputs, random_below(64));
                Memory wide(TUTTI_FLOAT32, Elements(count), random_below(64));
                Memory out(dtype, Elements(count), random_below(64));
                kernels.sum_to_float32[dtype](wide.data(), places_of(memories).data(), number,
                                              count);
                expect_elements(wide, sums, TUTTI_FLOAT32, "sum_to_float32", level);
                kernels.round_float32[dtype](out.data(), wide.data(), count,
                                             static_cast<float>(number));
                expect_elements(out, rounded(dtype, sums, number), dtype, "round_float32", level);
            }
        }
    }
}

void several_multiplied_inputs_are_added(void**) {
    const double two = 2;
    const tutti_reduce_op number = ReduceOp::make(Factor(&two, TUTTI_FLOAT64));
    const ReduceOp op(number);
    ReduceOp::release(number);
    const auto inputs = random_inputs(TUTTI_FLOAT32, 3, 100);
    auto memories = in_memory(TUTTI_FLOAT32, inputs, 0);
    Memory out(TUTTI_FLOAT32, Elements(100), 0);
    reduce_many(out.data(), places_of(memories), 100, TUTTI_FLOAT32, op);
    expect_elements(out, step_by_step(TUTTI_FLOAT32, TUTTI_SUM, inputs), TUTTI_FLOAT32, "PREMUL",
                    best_cpu_level());
}

// Neither commutes nor associates: the order of the inputs shows.
uint64_t mixed(uint64_t in, uint64_t inout) {
    return 3 * in + 5 * inout;
}

Status mix(const void* in, void* inout, int64_t count, tutti_dtype) {
    auto* const numbers = static_cast<unsigned char*>(inout);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        uint64_t a = 0;
        uint64_t b = 0;
        std::memcpy(&a, static_cast<const unsigned char*>(in) + i * sizeof a, sizeof a);
        std::memcpy(&b, numbers + i * sizeof b, sizeof b);
        b = mixed(a, b);
        std::memcpy(numbers + i * sizeof b, &b, sizeof b);
    }
    return {};
}

Status fail_to_mix(const void* in, void* inout, int64_t count, tutti_dtype dtype) {
    (void)mix(in, inout, count, dtype);
    return {TUTTI_ERR_INTERNAL, -1, 0, "too bitter"};
}

void a_function_gets_several_inputs_in_order(void**) {
    const tutti_reduce_op number = ReduceOp::make(UserFunction{"mix", mix, false});
    const ReduceOp op(number);
    ReduceOp::release(number);
    // More than a piece, and not a whole number of them.
    for (const size_t count : {size_t{0}, size_t{1}, size_t{5000}}) {
        for (const size_t inputs_count : {1, 2, 3, 6}) {
            const auto inputs = random_inputs(TUTTI_UINT64, inputs_count, count);
            Elements expected = inputs[0];
            for (size_t i = 1; i < inputs_count; ++i) {
                for (size_t at = 0; at < count; ++at) {
                    expected[at] = mixed(expected[at], inputs[i][at]);
                }
            }
            for (size_t in_place = 0; in_place <= inputs_count; ++in_place) {
                auto memories = in_memory(TUTTI_UINT64, inputs, 0);
                const auto places = places_of(memories);
                memories.emplace_back(TUTTI_UINT64, Elements(count), 3);
                Memory& out = memories[in_place];
                reduce_many(out.data(), places, count, TUTTI_UINT64, op, Stores::Streaming);
                expect_elements(out, expected, TUTTI_UINT64, "mix", best_cpu_level());
            }
        }
    }
}

void a_function_that_fails_among_several_inputs_is_named(void**) {
    const tutti_reduce_op number = ReduceOp::make(UserFunction{"broken", fail_to_mix, true});
    const ReduceOp op(number);
    ReduceOp::release(number);
    auto memories = in_memory(TUTTI_UINT64, random_inputs(TUTTI_UINT64, 3, 10), 0);
    Memory out(TUTTI_UINT64, Elements(10), 0);
    TUTTI_EXPECT_ERROR(reduce_many(out.data(), places_of(memories), 10, TUTTI_UINT64, op),
                       TUTTI_ERR_BACKEND, "\"broken\" returned 13: too bitter");
}

}  // namespace
}  // namespace tutti::test

int main() {
    using namespace tutti::test;
    const CMUnitTest tests[] = {
        TUTTI_TEST(several_inputs_are_reduced_at_once),
        TUTTI_TEST(every_count_of_several_inputs_is_reduced),
        TUTTI_TEST(the_call_reduces_several_inputs),
        TUTTI_TEST(sums_of_short_floats_are_made_in_parts),
        TUTTI_TEST(several_multiplied_inputs_are_added),
        TUTTI_TEST(a_function_gets_several_inputs_in_order),
        TUTTI_TEST(a_function_that_fails_among_several_inputs_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
