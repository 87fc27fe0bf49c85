// Makes the table of kernels of one instruction set, at compile time: nothing runs before main on a
// processor that lacks it. Part of the kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "exact.hpp"
#include "kernels.hpp"
#include "operations.hpp"
#include "short_sums.hpp"

namespace tutti {
namespace {

template <typename Operation, size_t element>
void reduce(void* out, const void* a, const void* b, size_t count) {
    sweep(out, a, b, count * element, Operation{});
}

template <typename Operation, size_t element>
void divide(void* data, size_t count, int ranks) {
    using Divisor = decltype(Operation::divisor);
    sweep(data, data, data, count * element, Operation{static_cast<Divisor>(ranks)});
}

template <typename Operation, size_t element>
void scale(void* out, const void* in, size_t count, const void* factor) {
    using Factor = decltype(Operation::factor);
    sweep(out, in, in, count * element,
          Operation{load<Factor>(static_cast<const uint8_t*>(factor))});
}

template <typename Format>
void scale_complex(void* out, const void* in, size_t count, const void* factor) {
    using Operation = ScaledComplex<Format>;
    sweep(out, in, in, count * 2 * sizeof(typename Format::Number),
          load<Operation>(static_cast<const uint8_t*>(factor)));
}

template <typename Operation, size_t element>
void reduce_many(void* out, const void* const* inputs, size_t number, size_t count,
                 bool streaming) {
    sweep_many(out, inputs, number, count * element, streaming, InOrder<Operation>{});
}

template <typename Format, bool averages>
void sum_short(void* out, const void* const* inputs, size_t number, size_t count, bool streaming) {
    sweep_many(out, inputs, number, count * sizeof(uint16_t), streaming,
               ShortSum<Format, averages>{});
}

template <typename Sum, size_t element>
void sum_exactly(void* out, const void* const* inputs, size_t number, size_t count,
                 bool streaming) {
    sweep_many(out, inputs, number, count * element, streaming, Sum{});
}

struct Row {
    Kernels& table;
    tutti_dtype dtype;

    template <typename Operation, size_t element>
    constexpr void fill(tutti_reduce_op op) const {
        table.reduce[dtype][op] = reduce<Operation, element>;
        table.reduce_many[dtype][op] = reduce_many<Operation, element>;
    }
};

template <typename T, typename Unsigned>
constexpr void fill_integer(const Row& row) {
    constexpr size_t size = sizeof(T);
    row.fill<Integers<Unsigned, Add>, size>(TUTTI_SUM);
    row.fill<Integers<Unsigned, Multiply>, size>(TUTTI_PRODUCT);
    row.fill<IntegerExtremes<T, Unsigned, Less>, size>(TUTTI_MIN);
    row.fill<IntegerExtremes<T, Unsigned, Greater>, size>(TUTTI_MAX);
    row.fill<Integers<Unsigned, And>, size>(TUTTI_BAND);
    row.fill<Integers<Unsigned, Or>, size>(TUTTI_BOR);
    row.fill<Integers<Unsigned, Xor>, size>(TUTTI_BXOR);
}

constexpr void fill_bool(const Row& row) {
    row.fill<Booleans<Or>, 1>(TUTTI_SUM);
    row.fill<Booleans<And>, 1>(TUTTI_PRODUCT);
    row.fill<Booleans<And>, 1>(TUTTI_MIN);
    row.fill<Booleans<Or>, 1>(TUTTI_MAX);
    row.fill<Booleans<And>, 1>(TUTTI_BAND);
    row.fill<Booleans<Or>, 1>(TUTTI_BOR);
    row.fill<Booleans<Xor>, 1>(TUTTI_BXOR);
}

template <typename Sum, typename Product, typename Format>
constexpr void fill_float(const Row& row) {
    using Unsigned = typename Sum::Unit;
    constexpr size_t size = sizeof(Unsigned);
    row.fill<Sum, size>(TUTTI_SUM);
    row.fill<Sum, size>(TUTTI_AVG);
    row.fill<Product, size>(TUTTI_PRODUCT);
    row.fill<FloatExtremes<Format, Unsigned, Less>, size>(TUTTI_MIN);
    row.fill<FloatExtremes<Format, Unsigned, Greater>, size>(TUTTI_MAX);
}

template <typename Format>
constexpr void fill_short_float(const Row& row) {
    fill_float<NarrowFloats<Format, Add>, NarrowFloats<Format, Multiply>, Format>(row);
    row.table.reduce_many[row.dtype][TUTTI_SUM] = sum_short<Format, false>;
    row.table.reduce_many[row.dtype][TUTTI_AVG] = sum_short<Format, true>;
    row.table.sum_to_float32[row.dtype] = sum_to_float32<Format>;
    row.table.round_float32[row.dtype] = round_float32<Format>;
}

template <typename Sum>
constexpr void fill_complex(const Row& row) {
    row.fill<Sum, 2 * sizeof(typename Sum::Unit)>(TUTTI_SUM);
    row.fill<Sum, 2 * sizeof(typename Sum::Unit)>(TUTTI_AVG);
}

constexpr Kernels make_kernels() {
    using Sum32 = Floats<Float32, uint32_t, Add>;
    using Sum64 = Floats<Float64, uint64_t, Add>;
    Kernels table{};
    fill_integer<int8_t, uint8_t>({table, TUTTI_INT8});
    fill_integer<uint8_t, uint8_t>({table, TUTTI_UINT8});
    fill_integer<int16_t, uint16_t>({table, TUTTI_INT16});
    fill_integer<uint16_t, uint16_t>({table, TUTTI_UINT16});
    fill_integer<int32_t, uint32_t>({table, TUTTI_INT32});
    fill_integer<uint32_t, uint32_t>({table, TUTTI_UINT32});
    fill_integer<int64_t, uint64_t>({table, TUTTI_INT64});
    fill_integer<uint64_t, uint64_t>({table, TUTTI_UINT64});
    fill_short_float<Float16>({table, TUTTI_FLOAT16});
    fill_short_float<BFloat16>({table, TUTTI_BFLOAT16});
    fill_float<Sum32, Floats<Float32, uint32_t, Multiply>, Float32>({table, TUTTI_FLOAT32});
    fill_float<Sum64, Floats<Float64, uint64_t, Multiply>, Float64>({table, TUTTI_FLOAT64});
    fill_complex<Sum32>({table, TUTTI_COMPLEX64});
    fill_complex<Sum64>({table, TUTTI_COMPLEX128});
    fill_bool({table, TUTTI_BOOL});

    table.sum_exactly[TUTTI_FLOAT16] = sum_exactly<NarrowSum<ExactFloat16>, 2>;
    table.sum_exactly[TUTTI_BFLOAT16] = sum_exactly<NarrowSum<ExactBFloat16>, 2>;
    table.sum_exactly[TUTTI_FLOAT32] = sum_exactly<NarrowSum<ExactFloat32>, 4>;
    table.sum_exactly[TUTTI_FLOAT64] = sum_exactly<WideSum, 8>;
    table.sum_exactly[TUTTI_COMPLEX64] = sum_exactly<NarrowSum<ExactFloat32>, 8>;
    table.sum_exactly[TUTTI_COMPLEX128] = sum_exactly<WideSum, 16>;

    table.divide[TUTTI_FLOAT16] = divide<DividedNarrowFloats<Float16>, 2>;
    table.divide[TUTTI_BFLOAT16] = divide<DividedNarrowFloats<BFloat16>, 2>;
    table.divide[TUTTI_FLOAT32] = divide<DividedFloats<Float32, uint32_t>, 4>;
    table.divide[TUTTI_FLOAT64] = divide<DividedFloats<Float64, uint64_t>, 8>;
    table.divide[TUTTI_COMPLEX64] = divide<DividedFloats<Float32, uint32_t>, 8>;
    table.divide[TUTTI_COMPLEX128] = divide<DividedFloats<Float64, uint64_t>, 16>;

    table.scale[TUTTI_INT8] = table.scale[TUTTI_UINT8] = scale<ScaledIntegers<uint8_t>, 1>;
    table.scale[TUTTI_INT16] = table.scale[TUTTI_UINT16] = scale<ScaledIntegers<uint16_t>, 2>;
    table.scale[TUTTI_INT32] = table.scale[TUTTI_UINT32] = scale<ScaledIntegers<uint32_t>, 4>;
    table.scale[TUTTI_INT64] = table.scale[TUTTI_UINT64] = scale<ScaledIntegers<uint64_t>, 8>;
    table.scale[TUTTI_FLOAT16] = scale<ScaledNarrowFloats<Float16>, 2>;
    table.scale[TUTTI_BFLOAT16] = scale<ScaledNarrowFloats<BFloat16>, 2>;
    table.scale[TUTTI_FLOAT32] = scale<ScaledFloats<Float32, uint32_t>, 4>;
    table.scale[TUTTI_FLOAT64] = scale<ScaledFloats<Float64, uint64_t>, 8>;
    table.scale[TUTTI_COMPLEX64] = scale<ScaledFloats<Float32, uint32_t>, 8>;
    table.scale[TUTTI_COMPLEX128] = scale<ScaledFloats<Float64, uint64_t>, 16>;
    table.scale_complex[TUTTI_COMPLEX64] = scale_complex<Float32>;
    table.scale_complex[TUTTI_COMPLEX128] = scale_complex<Float64>;
    return table;
}

}  // namespace
}  // namespace tutti
