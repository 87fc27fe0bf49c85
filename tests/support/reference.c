/* The oracle; see reference.h. Slow and plain on purpose. */
#include "reference.h"

#include <string.h>

int is_floating(tutti_dtype dtype) {
    return dtype >= TUTTI_FLOAT16 && dtype <= TUTTI_FLOAT64;
}

int is_complex(tutti_dtype dtype) {
    return dtype == TUTTI_COMPLEX64 || dtype == TUTTI_COMPLEX128;
}

int is_unsigned(tutti_dtype dtype) {
    return dtype == TUTTI_BOOL || (dtype <= TUTTI_UINT64 && dtype % 2 == 1);
}

int is_reducible(tutti_dtype dtype, tutti_reduce_op op) {
    switch (op) {
        case TUTTI_SUM:
            return 1;
        case TUTTI_AVG:
            return is_floating(dtype) || is_complex(dtype);
        case TUTTI_PRODUCT:
        case TUTTI_MIN:
        case TUTTI_MAX:
            return !is_complex(dtype);
        default:
            return !is_floating(dtype) && !is_complex(dtype);
    }
}

/* float16 and bfloat16 are the upper bits of a float32, with `exponent` bits of exponent, rounded
 * to nearest even. No NaN, and nothing smaller than float16's normal numbers but 0. */
static uint16_t to_half(float value, int exponent) {
    const int dropped = exponent == 8 ? 16 : 13;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 31;
    bits += (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
    if (exponent == 8) return (uint16_t)(bits >> 16);
    if (value == 0) return (uint16_t)(sign << 15);
    const uint32_t power = (bits >> 23 & 0xff) - 127 + 15;
    if (power >= 31) return (uint16_t)(sign << 15 | 31u << 10); /* infinity */
    return (uint16_t)(sign << 15 | power << 10 | (bits >> 13 & 0x3ff));
}

static float from_half(uint16_t half, int exponent) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    if (exponent == 5) {
        const uint32_t power = half >> 10 & 0x1f;
        bits = (half & 0x7fff) == 0 ? 0 : (power + 127 - 15) << 23 | (half & 0x3ffu) << 13;
        bits |= (uint32_t)(half >> 15) << 31;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

void put_element(tutti_dtype dtype, void* data, int64_t index, number value) {
    const double real = value.real;
    switch (dtype) {
        case TUTTI_INT8:
            ((int8_t*)data)[index] = (int8_t)real;
            break;
        case TUTTI_UINT8:
            ((uint8_t*)data)[index] = (uint8_t)real;
            break;
        case TUTTI_INT16:
            ((int16_t*)data)[index] = (int16_t)real;
            break;
        case TUTTI_UINT16:
            ((uint16_t*)data)[index] = (uint16_t)real;
            break;
        case TUTTI_INT32:
            ((int32_t*)data)[index] = (int32_t)real;
            break;
        case TUTTI_UINT32:
            ((uint32_t*)data)[index] = (uint32_t)real;
            break;
        case TUTTI_INT64:
            ((int64_t*)data)[index] = (int64_t)real;
            break;
        case TUTTI_UINT64:
            ((uint64_t*)data)[index] = (uint64_t)real;
            break;
        case TUTTI_FLOAT16:
            ((uint16_t*)data)[index] = to_half((float)real, 5);
            break;
        case TUTTI_BFLOAT16:
            ((uint16_t*)data)[index] = to_half((float)real, 8);
            break;
        case TUTTI_FLOAT32:
            ((float*)data)[index] = (float)real;
            break;
        case TUTTI_FLOAT64:
            ((double*)data)[index] = real;
            break;
        case TUTTI_COMPLEX64:
            ((float*)data)[2 * index] = (float)real;
            ((float*)data)[2 * index + 1] = (float)value.imaginary;
            break;
        case TUTTI_COMPLEX128:
            ((number*)data)[index] = value;
            break;
        case TUTTI_BOOL:
            ((uint8_t*)data)[index] = (uint8_t)real;
            break;
        default:
            break;
    }
}

number real_number(double real) {
    const number value = {real, 0};
    return value;
}

number get_element(tutti_dtype dtype, const void* data, int64_t index) {
    switch (dtype) {
        case TUTTI_INT8:
            return real_number(((const int8_t*)data)[index]);
        case TUTTI_UINT8:
            return real_number(((const uint8_t*)data)[index]);
        case TUTTI_INT16:
            return real_number(((const int16_t*)data)[index]);
        case TUTTI_UINT16:
            return real_number(((const uint16_t*)data)[index]);
        case TUTTI_INT32:
            return real_number(((const int32_t*)data)[index]);
        case TUTTI_UINT32:
            return real_number(((const uint32_t*)data)[index]);
        case TUTTI_INT64:
            return real_number((double)((const int64_t*)data)[index]);
        case TUTTI_UINT64:
            return real_number((double)((const uint64_t*)data)[index]);
        case TUTTI_FLOAT16:
            return real_number(from_half(((const uint16_t*)data)[index], 5));
        case TUTTI_BFLOAT16:
            return real_number(from_half(((const uint16_t*)data)[index], 8));
        case TUTTI_FLOAT32:
            return real_number(((const float*)data)[index]);
        case TUTTI_FLOAT64:
            return real_number(((const double*)data)[index]);
        case TUTTI_COMPLEX64: {
            const float* parts = (const float*)data + 2 * index;
            const number value = {parts[0], parts[1]};
            return value;
        }
        case TUTTI_COMPLEX128:
            return ((const number*)data)[index];
        default:
            return real_number(((const uint8_t*)data)[index]);
    }
}

static double combine(tutti_dtype dtype, tutti_reduce_op op, double a, double b) {
    if (dtype == TUTTI_BOOL) {
        a = a != 0;
        b = b != 0;
        if (op == TUTTI_SUM) op = TUTTI_BOR;
    }
    switch (op) {
        case TUTTI_PRODUCT:
            return a * b;
        case TUTTI_MIN:
            return a < b ? a : b;
        case TUTTI_MAX:
            return a > b ? a : b;
        case TUTTI_BAND:
            return (double)((int64_t)a & (int64_t)b);
        case TUTTI_BOR:
            return (double)((int64_t)a | (int64_t)b);
        case TUTTI_BXOR:
            return (double)((int64_t)a ^ (int64_t)b);
        default:
            return a + b;
    }
}

number reduce_numbers(tutti_dtype dtype, tutti_reduce_op op, const number* values, int32_t size) {
    number result = values[0];
    for (int32_t rank = 1; rank < size; ++rank) {
        result.real = combine(dtype, op, result.real, values[rank].real);
        result.imaginary += values[rank].imaginary; /* complex numbers are only added */
    }
    if (op == TUTTI_AVG) {
        result.real /= size;
        result.imaginary /= size;
    }
    if (dtype == TUTTI_BOOL) result.real = result.real != 0;
    return result;
}

const char* dtype_text(tutti_dtype dtype) {
    static const char* const names[DTYPES] = {
        "int8",    "uint8",    "int16",   "uint16",  "int32",     "uint32",     "int64", "uint64",
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"};
    return names[dtype];
}

const char* reduce_op_text(tutti_reduce_op op) {
    static const char* const names[REDUCE_OPS] = {"SUM", "AVG",  "PRODUCT", "MIN",
                                                  "MAX", "BAND", "BOR",     "BXOR"};
    return names[op];
}
