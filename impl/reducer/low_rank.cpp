#include "low_rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tutti {

namespace {

constexpr size_t lanes = 16;  // sums that a compiler keeps in vector registers

template <typename Number>
Number dot(const Number* a, const Number* b, size_t count) {
    std::array<Number, lanes> sums{};
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    }
    Number sum = 0;
    for (const Number one : sums) sum += one;
    for (; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

template <typename Number>
void add_multiple(Number* into, const Number* from, Number factor, size_t count) {
    for (size_t i = 0; i < count; ++i) into[i] += factor * from[i];
}

// Wide enough for the square of every number.
template <typename Number>
double norm(const Number* numbers, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const long double one = numbers[i];
        sum += one * one;
    }
    return static_cast<double>(std::sqrt(sum));
}

}  // namespace

template <typename Number>
void multiply(const Matrix<Number>& m, const Columns<Number>& q, const Columns<Number>& p) {
    for (size_t row = 0; row < m.rows; ++row) {
        const Number* const numbers = m.data + row * m.columns;
        for (size_t k = 0; k < q.rank; ++k) {
            p.column(k)[row] = dot(numbers, q.column(k), m.columns);
        }
    }
}

template <typename Number>
void multiply_transposed(const Matrix<Number>& m, const Columns<Number>& p,
                         const Columns<Number>& q) {
    std::fill_n(q.data, q.size(), Number{0});
    for (size_t row = 0; row < m.rows; ++row) {
        const Number* const numbers = m.data + row * m.columns;
        for (size_t k = 0; k < q.rank; ++k) {
            add_multiple(q.column(k), numbers, p.column(k)[row], m.columns);
        }
    }
}

template <typename Number>
void compose(const Columns<Number>& p, const Columns<Number>& q, const Matrix<Number>& m) {
    std::fill_n(m.data, m.rows * m.columns, Number{0});
    for (size_t row = 0; row < m.rows; ++row) {
        Number* const numbers = m.data + row * m.columns;
        for (size_t k = 0; k < q.rank; ++k) {
            add_multiple(numbers, q.column(k), p.column(k)[row], m.columns);
        }
    }
}

// Twice: the first pass leaves a part of what it takes away, by rounding.
template <typename Number>
bool orthonormalise(const Columns<Number>& factor, size_t column, double epsilon) {
    constexpr double negligible = 64 * std::numeric_limits<Number>::epsilon();
    Number* const numbers = factor.column(column);
    const double before = norm(numbers, factor.length);
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t k = 0; k < column; ++k) {
            const Number* const other = factor.column(k);
            add_multiple(numbers, other, -dot(other, numbers, factor.length), factor.length);
        }
    }
    const double left = norm(numbers, factor.length);
    if (left <= negligible * before) {
        std::fill_n(numbers, factor.length, Number{0});
        return false;
    }
    for (size_t i = 0; i < factor.length; ++i) {
        numbers[i] = static_cast<Number>(numbers[i] / (left + epsilon));
    }
    return true;
}

// The steps of SplitMix64.
uint64_t mix_seed(uint64_t seed, uint64_t number) {
    uint64_t mixed = seed + (number + 1) * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
}

// The sum of four numbers of 16 bits is about normal, and needs no function that rounds.
template <typename Number>
void draw(Number* numbers, size_t count, uint64_t seed) {
    constexpr uint64_t mask = 0xFFFF;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t bits = mix_seed(seed, i);
        const uint64_t sum =
            (bits & mask) + (bits >> 16U & mask) + (bits >> 32U & mask) + (bits >> 48U);
        numbers[i] = static_cast<Number>((static_cast<double>(sum) - 131070) / 0x1p16);
    }
}

template void multiply(const Matrix<float>&, const Columns<float>&, const Columns<float>&);
template void multiply(const Matrix<double>&, const Columns<double>&, const Columns<double>&);
template void multiply_transposed(const Matrix<float>&, const Columns<float>&,
                                  const Columns<float>&);
template void multiply_transposed(const Matrix<double>&, const Columns<double>&,
                                  const Columns<double>&);
template void compose(const Columns<float>&, const Columns<float>&, const Matrix<float>&);
template void compose(const Columns<double>&, const Columns<double>&, const Matrix<double>&);
template bool orthonormalise(const Columns<float>&, size_t, double);
template bool orthonormalise(const Columns<double>&, size_t, double);
template void draw(float*, size_t, uint64_t);
template void draw(double*, size_t, uint64_t);

}  // namespace tutti
