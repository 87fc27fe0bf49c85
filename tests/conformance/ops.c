/* The reduce ops of the matrix: those of types.h, a sum of inputs that each rank multiplies by its
 * factor, and two functions of the caller, one of which does not commute. What their elements are,
 * so small that every result is exact in every dtype, or is known to be rounded once, and what they
 * make of them. */
#include "conformance.h"

int bools_are_bits;
int sums_are_rough;

static int is_made(int op) {
    return op >= PREMUL_SUM;
}

const char* op_text(int op) {
    static const char* const made[] = {"PREMUL_SUM", "greatest", "compose"};
    return is_made(op) ? made[op - PREMUL_SUM] : reduce_op_text((tutti_reduce_op)op);
}

int is_op_of(tutti_dtype dtype, int op) {
    if (op == PREMUL_SUM) return dtype != TUTTI_BOOL;
    return is_made(op) || is_reducible(dtype, (tutti_reduce_op)op);
}

static double absolute(double value) {
    return value < 0 ? -value : value;
}

/* A map x -> a x + b of numbers modulo 5, a not 0, as 5 a + b: to apply one after the other is
 * associative, does not commute, and every one of them shows in the result. */
static double map_of(int which) {
    return 5 * (1 + which % 4) + which % 5;
}

static double compose(double first, double second) {
    const int a = (int)first / 5, b = (int)first % 5;
    const int c = (int)second / 5, d = (int)second % 5;
    return 5 * (a * c % 5) + (b * c + d) % 5;
}

/* The value of the lower ranks is on the left. */
static double combine(tutti_dtype dtype, int op, double left, double right) {
    if (op == NOT_COMMUTING) {
        /* With two values, only to keep one side does not commute. */
        return dtype == TUTTI_BOOL ? left : compose(left, right);
    }
    return absolute(left) > absolute(right) ? absolute(left) : absolute(right);
}

static int is_rounded_once(const cell* of) {
    if (sums_are_rough) return 0;
    const int is_sum = of->op == TUTTI_SUM || of->op == TUTTI_AVG || of->op == PREMUL_SUM;
    return is_sum && (of->dtype == TUTTI_FLOAT16 || of->dtype == TUTTI_BFLOAT16);
}

/* One rank has a number to which an odd one cannot be added without rounding, the others have odd
 * ones. */
static number rounding_element(const cell* of, int32_t source, int i) {
    const double large = of->dtype == TUTTI_FLOAT16 ? 2048 : 256;
    const double value = (source + i) % of->ranks == 0 ? large : 1 + 2 * ((source + i) % 4);
    const number signed_value = {i / of->ranks % 2 == 0 ? value : -value, 0};
    return signed_value;
}

number op_element(const cell* of, int32_t source, int32_t piece, int index) {
    const int i = index + 5 * piece;
    if (is_rounded_once(of)) return rounding_element(of, source, i);
    number value = {(double)(1 + (7 * source + i) % 3), (double)((source + i) % 5 - 2)};
    if (of->op == NOT_COMMUTING) {
        value.real = map_of(3 * source + i);
        value.imaginary = map_of(7 * source + 2 * i);
    }
    if (of->dtype == TUTTI_BOOL)
        value.real = (double)((3 * source + i) % (is_made(of->op) || bools_are_bits ? 2 : 4));
    if (of->op == TUTTI_AVG) value.real *= of->ranks, value.imaginary *= of->ranks;
    if (of->op == NOT_COMMUTING) return value;
    if (!is_unsigned(of->dtype) && (source + i) % 2 == 1) value.real = -value.real;
    return value;
}

/* Every rank has its own. */
static number factor_of(tutti_dtype dtype, int32_t rank) {
    const number factor = {rank + 1, is_complex(dtype) ? 1 - rank % 3 : 0};
    return factor;
}

static number multiply(number a, number b) {
    const number product = {a.real * b.real - a.imaginary * b.imaginary,
                            a.real * b.imaginary + a.imaginary * b.real};
    return product;
}

number op_result(const cell* of, const number* values) {
    number result = {0, 0};
    if (!is_made(of->op)) {
        return reduce_numbers(of->dtype, (tutti_reduce_op)of->op, values, of->ranks);
    }
    if (of->op != PREMUL_SUM) result = values[0];
    for (int32_t rank = of->op == PREMUL_SUM ? 0 : 1; rank < of->ranks; ++rank) {
        if (of->op == PREMUL_SUM) {
            const number product = multiply(factor_of(of->dtype, rank), values[rank]);
            result.real += product.real;
            result.imaginary += product.imaginary;
        } else {
            result.real = combine(of->dtype, of->op, result.real, values[rank].real);
            result.imaginary = combine(of->dtype, of->op, result.imaginary, values[rank].imaginary);
        }
    }
    if (!is_complex(of->dtype)) result.imaginary = 0;
    return result;
}

int is_rough(const cell* of) {
    return sums_are_rough && of->op == TUTTI_AVG;
}

int is_near(const cell* of, const void* got, const void* wanted) {
    const int is_double = of->dtype == TUTTI_FLOAT64 || of->dtype == TUTTI_COMPLEX128;
    const double rounding = of->dtype == TUTTI_BFLOAT16  ? 0x1p-8
                            : of->dtype == TUTTI_FLOAT16 ? 0x1p-11
                            : is_double                  ? 0x1p-53
                                                         : 0x1p-24;
    const number is = get_element(of->dtype, got, 0), should_be = get_element(of->dtype, wanted, 0);
    /* Of every rank's part, at most 3, and of every sum of them. */
    const double most = 6 * rounding * of->ranks * of->ranks;
    return absolute(is.real - should_be.real) <= most &&
           (!is_complex(of->dtype) || absolute(is.imaginary - should_be.imaginary) <= most);
}

/* The functions of the caller; `user` is the op. */
static tutti_status apply(const void* in, void* inout, int64_t count, tutti_dtype dtype, void* user,
                          tutti_error* told) {
    (void)told;
    const int op = *(const int*)user;
    for (int64_t i = 0; i < count; ++i) {
        const number left = get_element(dtype, in, i), right = get_element(dtype, inout, i);
        number both = {combine(dtype, op, left.real, right.real), 0};
        if (is_complex(dtype)) both.imaginary = combine(dtype, op, left.imaginary, right.imaginary);
        put_element(dtype, inout, i, both);
    }
    return TUTTI_OK;
}

/* The factor is of the dtype itself; bool has none, so that the call itself must refuse it. */
static tutti_status make_premul_sum(attempt* me) {
    number factor[1];
    const tutti_dtype dtype = me->cell->dtype == TUTTI_BOOL ? TUTTI_INT32 : me->cell->dtype;
    const tutti_buffer one = TUTTI_BUFFER_INIT(factor, 1, dtype);
    put_element(dtype, factor, 0, factor_of(dtype, me->rank->rank));
    return tutti_reduce_op_create_premul_sum(&one, &me->op, &me->rank->error);
}

tutti_status make_op(attempt* me) {
    static int user[] = {COMMUTING, NOT_COMMUTING};
    const int op = me->cell->op;
    me->op = op < 0 ? 0 : (tutti_reduce_op)op;
    if (!is_made(op)) return TUTTI_OK;
    if (op == PREMUL_SUM) return make_premul_sum(me);
    tutti_reduce_op_options options = TUTTI_REDUCE_OP_OPTIONS_INIT;
    options.non_commutative = op == NOT_COMMUTING;
    return tutti_reduce_op_create_user(op_text(op), apply, &user[op - COMMUTING], NULL, &options,
                                       &me->op, &me->rank->error);
}
