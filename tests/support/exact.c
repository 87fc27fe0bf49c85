/* See exact.h. Numbers are their bits; a sum is counted in its format's smallest number. */
#include "exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tutti_dtype exact_dtypes[EXACT_DTYPES] = {TUTTI_FLOAT16, TUTTI_BFLOAT16,  TUTTI_FLOAT32,
                                                TUTTI_FLOAT64, TUTTI_COMPLEX64, TUTTI_COMPLEX128};

typedef struct format {
    int bytes, mantissa, exponent; /* bits of the latter two */
} format;

enum { DIGITS = 72 };

static format format_of(tutti_dtype dtype) {
    static const format half = {2, 10, 5}, brain = {2, 7, 8}, single = {4, 23, 8},
                        twofold = {8, 52, 11};
    if (dtype == TUTTI_FLOAT16) return half;
    if (dtype == TUTTI_BFLOAT16) return brain;
    return dtype == TUTTI_FLOAT32 || dtype == TUTTI_COMPLEX64 ? single : twofold;
}

static uint64_t infinity(format of) {
    return (((uint64_t)1 << of.exponent) - 1) << of.mantissa;
}

static uint64_t sign_bit(format of) {
    return (uint64_t)1 << (8 * of.bytes - 1);
}

static void add(int64_t* digits, format of, uint64_t bits) {
    const uint64_t magnitude = bits & (sign_bit(of) - 1);
    const uint64_t exponent = magnitude >> of.mantissa, one = (uint64_t)1 << of.mantissa;
    const uint64_t mantissa = magnitude % one + (exponent > 0 ? one : 0);
    const uint64_t shift = exponent > 0 ? exponent - 1 : 0;
    for (int bit = 0; bit <= of.mantissa; ++bit) {
        const uint64_t place = shift + (uint64_t)bit;
        const int64_t value = (int64_t)(mantissa >> bit & 1) << place % 32;
        digits[place / 32] += bits & sign_bit(of) ? -value : value;
    }
}

/* Every digit from 0 to 2^32 - 1; returns whether the sum was negative and is its magnitude now. */
static int carry(int64_t* digits) {
    for (int negative = 0;; negative = 1) {
        int64_t over = 0;
        for (int i = 0; i < DIGITS; ++i) {
            const int64_t sum = digits[i] + over;
            digits[i] = sum & 0xffffffff;
            over = (sum - digits[i]) / ((int64_t)1 << 32);
        }
        if (over == 0) return negative;
        digits[DIGITS - 1] += over * ((int64_t)1 << 32);
        for (int i = 0; i < DIGITS; ++i) digits[i] = -digits[i];
    }
}

static int bit_at(const int64_t* digits, int place) {
    return (int)(digits[place / 32] >> place % 32 & 1);
}

static uint64_t rounded(const int64_t* digits, format of) {
    int top = 32 * DIGITS - 1;
    while (top >= 0 && !bit_at(digits, top)) --top;
    const int shift = top > of.mantissa ? top - of.mantissa : 0;
    uint64_t kept = 0;
    for (int place = top; place >= shift; --place)
        kept = kept << 1 | (uint64_t)bit_at(digits, place);
    int below = 0;
    for (int place = 0; place + 1 < shift; ++place) below |= bit_at(digits, place);
    const int half = shift > 0 ? bit_at(digits, shift - 1) : 0;
    if (half && (below || kept & 1)) ++kept;
    const uint64_t bits = ((uint64_t)shift << of.mantissa) + kept;
    return bits < infinity(of) ? bits : infinity(of);
}

static uint64_t sum_of(format of, const uint64_t* addends, int32_t count) {
    int64_t digits[DIGITS] = {0};
    int positive = 0, negative = 0, nan = 0, zeros = 1;
    for (int32_t i = 0; i < count; ++i) {
        const uint64_t magnitude = addends[i] & (sign_bit(of) - 1);
        const int is_negative = (addends[i] & sign_bit(of)) != 0;
        zeros = zeros && is_negative && magnitude == 0;
        nan = nan || magnitude > infinity(of);
        if (magnitude == infinity(of)) *(is_negative ? &negative : &positive) = 1;
        if (magnitude < infinity(of)) add(digits, of, addends[i]);
    }
    if (nan || (positive && negative)) return infinity(of) + ((uint64_t)1 << (of.mantissa - 1));
    if (positive || negative) return infinity(of) + (negative ? sign_bit(of) : 0);
    if (zeros) return sign_bit(of);
    const int below_zero = carry(digits);
    return rounded(digits, of) + (below_zero ? sign_bit(of) : 0);
}

static uint64_t draw(uint64_t* state) {
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15U);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    return mixed ^ mixed >> 31;
}

static uint64_t special(format of, uint64_t drawn) {
    const uint64_t least = (uint64_t)1 << of.mantissa, inf = infinity(of);
    const uint64_t values[] = {
        0,           0,   1,       least - 1,          least, inf / 2, inf - 1,
        inf - least, inf, inf + 1, inf + least / 2 + 3};
    return values[drawn % (sizeof values / sizeof *values)];
}

static uint64_t number_of(format of, int kind, uint64_t* state, uint64_t before) {
    const uint64_t sign = draw(state) & sign_bit(of), drawn = draw(state);
    const uint64_t mantissa = drawn % ((uint64_t)1 << of.mantissa);
    const uint64_t exponents = ((uint64_t)1 << of.exponent) - 1;
    if (kind == SPECIAL) return sign + special(of, drawn);
    if (kind == TINY) return sign + (drawn >> 7) % ((uint64_t)3 << of.mantissa);
    if (kind == CANCELLING && drawn >> 62 != 0) return before ^ sign_bit(of);
    const uint64_t spread = kind == ALIKE ? 5 : exponents;
    const uint64_t exponent = kind == ALIKE ? exponents / 2 - 2 : 0;
    return sign + ((exponent + (drawn >> 53) % spread) << of.mantissa) + mantissa;
}

static void put(unsigned char* at, format of, uint64_t bits) {
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    memcpy(at,
           of.bytes == 2   ? (const void*)&two
           : of.bytes == 4 ? (const void*)&four
                           : &bits,
           (size_t)of.bytes);
}

numbers make_numbers(tutti_dtype dtype, int kind, int32_t addends, int64_t count, uint64_t seed) {
    const format of = format_of(dtype);
    const size_t each = (size_t)tutti_dtype_size(dtype), size = (size_t)count * each;
    numbers all = {dtype, count, addends, NULL, NULL};
    all.given = (unsigned char*)malloc(size * (size_t)addends + 1);
    all.sums = (unsigned char*)malloc(size * (size_t)addends + 1);
    if (all.given == NULL || all.sums == NULL || addends > MOST_ADDENDS) {
        fputs("make_numbers: out of memory, or too many addends\n", stderr);
        abort();
    }
    for (size_t at = 0; at < size; at += (size_t)of.bytes) {
        uint64_t given[MOST_ADDENDS];
        for (int32_t i = 0; i < addends; ++i) {
            given[i] = number_of(of, kind, &seed, i > 0 ? given[i - 1] : 0);
            put(all.given + (size_t)i * size + at, of, given[i]);
            put(all.sums + (size_t)i * size + at, of, sum_of(of, given, i + 1));
        }
    }
    return all;
}

void free_numbers(numbers* all) {
    free(all->given);
    free(all->sums);
}

static unsigned char* element(const numbers* all, unsigned char* lists, int32_t list, int64_t at) {
    return lists + (size_t)(list * all->count + at) * (size_t)tutti_dtype_size(all->dtype);
}

unsigned char* given_number(const numbers* all, int32_t list, int64_t first) {
    return element(all, all->given, list, first);
}

unsigned char* exact_sum(const numbers* all, int32_t addends, int64_t first) {
    return element(all, all->sums, addends - 1, first);
}
