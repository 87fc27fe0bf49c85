// The arithmetic of PowerSGD: a matrix M as the product P Qᵀ of factors with few columns. float and
// double. Any thread; touches the memory it is given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Row after row.
template <typename Number>
struct Matrix {
    Number* data;
    size_t rows;
    size_t columns;
};

// A narrow matrix, column after column.
template <typename Number>
struct Columns {
    Number* data;
    size_t length;
    size_t rank;

    [[nodiscard]] Number* column(size_t index) const { return data + index * length; }
    [[nodiscard]] size_t size() const { return length * rank; }
};

// p = m q
template <typename Number>
void multiply(const Matrix<Number>& m, const Columns<Number>& q, const Columns<Number>& p);
// q = mᵀ p
template <typename Number>
void multiply_transposed(const Matrix<Number>& m, const Columns<Number>& p,
                         const Columns<Number>& q);
// m = p qᵀ
template <typename Number>
void compose(const Columns<Number>& p, const Columns<Number>& q, const Matrix<Number>& m);

// Makes a column orthogonal to those before it, which are orthonormal, and divides it by its norm +
// epsilon. One that depends on them, or is zero, becomes zero: then the answer is false.
template <typename Number>
bool orthonormalise(const Columns<Number>& factor, size_t column, double epsilon);

// Numbers about zero that the seed determines, of one variance, the same on every machine.
template <typename Number>
void draw(Number* numbers, size_t count, uint64_t seed);

// A seed of both.
uint64_t mix_seed(uint64_t seed, uint64_t number);

}  // namespace tutti
