// Is a matrix the product of its factors where their rank is enough, and does a column that depends
// on others become zero instead of noise?
#include <cmath>
#include <vector>

#include "reducer/low_rank.hpp"
#include "support/unit.hpp"  // last: cmocka makes a macro of the name fail

using namespace tutti;

namespace {

template <typename Number>
Number product(const Columns<Number>& of, size_t one, size_t other) {
    Number sum = 0;
    for (size_t i = 0; i < of.length; ++i) sum += of.column(one)[i] * of.column(other)[i];
    return sum;
}

template <typename Number>
void expect_orthonormal(const Columns<Number>& of, double tolerance) {
    for (size_t one = 0; one < of.rank; ++one) {
        for (size_t other = 0; other <= one; ++other) {
            const double off = product(of, one, other) - (one == other ? 1.0 : 0.0);
            assert_true(std::fabs(off) < tolerance);
        }
    }
}

// M = M Q Qᵀ if Q has as many columns as M.
template <typename Number>
void check_full_rank(size_t rows, size_t columns, Number scale, double tolerance) {
    std::vector<Number> numbers(rows * columns), q_numbers(columns * columns),
        p_numbers(rows * columns);
    draw(numbers.data(), numbers.size(), 3);
    draw(q_numbers.data(), q_numbers.size(), 4);
    for (Number& one : numbers) one *= scale;
    const std::vector<Number> before = numbers;
    const Matrix<Number> m{numbers.data(), rows, columns};
    const Columns<Number> q{q_numbers.data(), columns, columns};
    const Columns<Number> p{p_numbers.data(), rows, columns};
    for (size_t k = 0; k < columns; ++k) assert_true(orthonormalise(q, k, 0));
    expect_orthonormal(q, tolerance);
    multiply(m, q, p);
    compose(p, q, m);
    for (size_t i = 0; i < numbers.size(); ++i) {
        assert_true(std::fabs(numbers[i] - before[i]) <= tolerance * scale);
    }
    for (size_t k = 0; k < columns; ++k) assert_true(orthonormalise(p, k, 0));
    expect_orthonormal(p, tolerance);
    multiply_transposed(m, p, q);
    compose(p, q, m);
    for (size_t i = 0; i < numbers.size(); ++i) {
        assert_true(std::fabs(numbers[i] - before[i]) <= tolerance * scale);
    }
}

// Also of numbers whose squares no float or double can hold.
void a_matrix_is_the_product_of_factors_of_full_rank(void**) {
    for (const size_t rows : {37, 64, 100}) {
        check_full_rank<float>(rows, 19, 1, 1e-5);
        check_full_rank<double>(rows, 37, 1, 1e-13);
    }
    check_full_rank<float>(50, 7, 1e-30F, 1e-5);
    check_full_rank<double>(50, 7, 1e-200, 1e-13);
    check_full_rank<double>(50, 7, 1e200, 1e-13);
}

void columns_that_depend_on_others_become_zero(void**) {
    constexpr size_t length = 33;
    std::vector<float> numbers(4 * length);
    const Columns<float> columns{numbers.data(), length, 4};
    draw(columns.column(0), 2 * length, 5);
    for (size_t i = 0; i < length; ++i) {
        columns.column(2)[i] = columns.column(0)[i] - 0.3F * columns.column(1)[i];
    }
    assert_true(orthonormalise(columns, 0, 0) && orthonormalise(columns, 1, 0));
    for (const size_t column : {2, 3}) {  // a sum; zeros
        assert_false(orthonormalise(columns, column, 1e-8));
        for (size_t i = 0; i < length; ++i) assert_true(columns.column(column)[i] == 0);
    }
}

void numbers_depend_on_the_seed_alone(void**) {
    std::vector<double> one(1000), same(1000), other(1000);
    draw(one.data(), one.size(), mix_seed(1, 2));
    draw(same.data(), same.size(), mix_seed(1, 2));
    draw(other.data(), other.size(), mix_seed(2, 1));
    assert_true(one == same && one != other);
    double sum = 0;
    for (const double number : one) sum += number;
    assert_true(std::fabs(sum / 1000) < 0.1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_matrix_is_the_product_of_factors_of_full_rank),
        TUTTI_TEST(columns_that_depend_on_others_become_zero),
        TUTTI_TEST(numbers_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
