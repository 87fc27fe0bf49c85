/* The calls of a plan as gloo_peer.c makes them, what ranks give, and what must come out: the same
 * as in gloo_peer.py. Public headers only. */
#ifndef TUTTI_TESTS_GLOO_VALUES_H
#define TUTTI_TESTS_GLOO_VALUES_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tutti/tutti.h>

static const char* const op_names[] = {"SUM", "AVG",  "PRODUCT", "MIN",
                                       "MAX", "BAND", "BOR",     "BXOR"};
static const struct {
    const char* name;
    tutti_dtype dtype;
    size_t size;
} dtypes[] = {
    {"int8", TUTTI_INT8, 1},           {"uint8", TUTTI_UINT8, 1},
    {"int16", TUTTI_INT16, 2},         {"uint16", TUTTI_UINT16, 2},
    {"int32", TUTTI_INT32, 4},         {"uint32", TUTTI_UINT32, 4},
    {"int64", TUTTI_INT64, 8},         {"uint64", TUTTI_UINT64, 8},
    {"float16", TUTTI_FLOAT16, 2},     {"bfloat16", TUTTI_BFLOAT16, 2},
    {"float32", TUTTI_FLOAT32, 4},     {"float64", TUTTI_FLOAT64, 8},
    {"complex64", TUTTI_COMPLEX64, 8}, {"complex128", TUTTI_COMPLEX128, 16},
    {"bool", TUTTI_BOOL, 1},           {"float8_e4m3fn", TUTTI_UINT8, 1}, /* moved as bytes */
};

/* A line of a plan, and what it has under way. */
typedef struct call {
    char line[128], kind[40];
    int64_t step, count;
    size_t element;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root, is_async, me, ranks, work_count;
    tutti_group* group;
    tutti_work* works[2];
    char *in, *out;
    int64_t out_count; /* 0: nothing to look at */
} call;

static int is_reduction(const call* of) {
    return strstr(of->kind, "reduce") != NULL || strcmp(of->kind, "coalesced") == 0;
}

static int is_message(const call* of) {
    return strcmp(of->kind, "message") == 0 || strcmp(of->kind, "any_source") == 0 ||
           strcmp(of->kind, "batch") == 0;
}

/* Element `index` of what a rank gives. */
static int64_t value(const call* of, int64_t rank, int64_t index) {
    if (is_reduction(of)) return 1 + (rank * 3 + index * 5 + of->step) % 2;
    return (rank * 31 + index * 7 + of->step) % 101;
}

/* Numbers that a float16 has exactly, none negative. */
static uint16_t half_of(double number) {
    int exponent = 0;
    const double fraction = frexp(number, &exponent);
    if (number == 0) return 0;
    return (uint16_t)((exponent + 14) * 1024 + (int)(fraction * 2048) - 1024);
}

static double number_of_half(uint16_t half) {
    const int exponent = half >> 10, fraction = half & 1023;
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
}

static uint16_t brain_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double number_of_brain(uint16_t brain) {
    const uint32_t bits = (uint32_t)brain << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void store(const call* of, char* at, int64_t number) {
    const double real = (double)number;
    switch (of->dtype) {
        case TUTTI_INT8:
        case TUTTI_UINT8:
            *at = (char)number;
            return;
        case TUTTI_BOOL:
            *at = number % 2 != 0;
            return;
        case TUTTI_INT16:
        case TUTTI_UINT16:
            *(int16_t*)at = (int16_t)number;
            return;
        case TUTTI_FLOAT16:
            *(uint16_t*)at = half_of(real);
            return;
        case TUTTI_BFLOAT16:
            *(uint16_t*)at = brain_of((float)real);
            return;
        case TUTTI_INT32:
        case TUTTI_UINT32:
            *(int32_t*)at = (int32_t)number;
            return;
        case TUTTI_INT64:
        case TUTTI_UINT64:
            *(int64_t*)at = number;
            return;
        case TUTTI_FLOAT32:
            *(float*)at = (float)real;
            return;
        case TUTTI_FLOAT64:
            *(double*)at = real;
            return;
        case TUTTI_COMPLEX64:
            ((float*)at)[0] = (float)real;
            ((float*)at)[1] = (float)-real;
            return;
        default:
            ((double*)at)[0] = real;
            ((double*)at)[1] = -real;
            return;
    }
}

static int is_right(const call* of, const char* at, double wanted) {
    switch (of->dtype) {
        case TUTTI_INT8:
            return *(const int8_t*)at == (int8_t)(int64_t)wanted;
        case TUTTI_UINT8:
            return *(const uint8_t*)at == (uint8_t)(int64_t)wanted;
        case TUTTI_BOOL:
            return (*at != 0) == ((int64_t)wanted % 2 != 0);
        case TUTTI_INT16:
        case TUTTI_UINT16:
            return *(const int16_t*)at == (int16_t)wanted;
        case TUTTI_FLOAT16:
            return fabs(number_of_half(*(const uint16_t*)at) - wanted) <= 0.005 * wanted;
        case TUTTI_BFLOAT16:
            return fabs(number_of_brain(*(const uint16_t*)at) - wanted) <= 0.005 * wanted;
        case TUTTI_INT32:
        case TUTTI_UINT32:
            return *(const int32_t*)at == (int32_t)wanted;
        case TUTTI_INT64:
        case TUTTI_UINT64:
            return *(const int64_t*)at == (int64_t)wanted;
        case TUTTI_FLOAT32:
            return fabs(*(const float*)at - wanted) < 1e-5;
        case TUTTI_FLOAT64:
            return fabs(*(const double*)at - wanted) < 1e-9;
        case TUTTI_COMPLEX64:
            return fabs(((const float*)at)[0] - wanted) < 1e-5 &&
                   fabs(((const float*)at)[1] + wanted) < 1e-5;
        default:
            return fabs(((const double*)at)[0] - wanted) < 1e-9 &&
                   fabs(((const double*)at)[1] + wanted) < 1e-9;
    }
}

static double reduced(const call* of, int64_t index) {
    int64_t all = 0;
    for (int rank = 0; rank < of->ranks; ++rank) {
        int64_t one = value(of, rank, index);
        if (of->dtype == TUTTI_BOOL) one %= 2;
        if (rank == 0) {
            all = one;
            continue;
        }
        switch (of->op) {
            case TUTTI_PRODUCT:
                all *= one;
                break;
            case TUTTI_MIN:
                all = one < all ? one : all;
                break;
            case TUTTI_MAX:
                all = one > all ? one : all;
                break;
            case TUTTI_BAND:
                all &= one;
                break;
            case TUTTI_BOR:
                all |= one;
                break;
            case TUTTI_BXOR:
                all ^= one;
                break;
            default:
                all = of->dtype == TUTTI_BOOL ? (all | one) : all + one;
                break;
        }
    }
    if (of->op > TUTTI_BXOR) all *= 2; /* a PREMUL_SUM */
    return of->op == TUTTI_AVG ? (double)all / of->ranks : (double)all;
}

static int64_t split(const call* of, int from, int to) {
    return of->count + (from + 2 * to) % 3;
}

static int64_t splits_before(const call* of, int from, int to) {
    int64_t all = 0;
    for (int rank = 0; rank < to; ++rank) all += split(of, from, rank);
    return all;
}

/* The right value for two calls that are one, of `count` and of count + 1 elements. */
static double wanted_of_pair(const call* of, int64_t index) {
    const int gathers = strstr(of->kind, "gather") != NULL;
    const int64_t first = of->count * (gathers ? of->ranks : 1);
    const int64_t count = index < first ? of->count : of->count + 1;
    const int64_t at = index < first ? index : index - first;
    if (gathers) return (double)value(of, at / count, at % count);
    return reduced(of, strcmp(of->kind, "coalesced") == 0 ? at : of->me * count + at);
}

/* The right value for lists whose buffers differ in size. */
static double wanted_of_uneven(const call* of, int64_t index) {
    const int64_t me = of->me;
    int from = 0;
    if (strcmp(of->kind, "reduce_scatter_uneven") == 0)
        return reduced(of, me * of->count + me * (me - 1) / 2 + index);
    if (strcmp(of->kind, "all_gather_uneven") == 0) {
        while (index >= of->count + from) index -= of->count + from++;
        return (double)value(of, from, index);
    }
    while (index >= split(of, from, of->me)) index -= split(of, from++, of->me);
    return (double)value(of, from, splits_before(of, from, of->me) + index);
}

/* The right value of element `index` of the output. */
static double wanted(const call* of, int64_t index) {
    const int64_t count = of->count;
    if (strstr(of->kind, "coalesced") != NULL) return wanted_of_pair(of, index);
    if (strstr(of->kind, "uneven") != NULL) return wanted_of_uneven(of, index);
    if (strncmp(of->kind, "reduce_scatter", 14) == 0) return reduced(of, of->me * count + index);
    if (is_reduction(of)) return reduced(of, index);
    if (strcmp(of->kind, "broadcast") == 0) return (double)value(of, of->root, index);
    if (strcmp(of->kind, "scatter") == 0) {
        return (double)value(of, of->root, of->me * count + index);
    }
    if (strstr(of->kind, "gather") != NULL) {
        return (double)value(of, index / count, index % count);
    }
    if (strncmp(of->kind, "all_to_all", 10) == 0) {
        return (double)value(of, index / count, of->me * count + index % count);
    }
    return (double)value(of, (of->me + of->ranks - 1) % of->ranks, index); /* a message */
}

#endif
