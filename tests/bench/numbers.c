/* The numbers that ranks contribute: which kind, and what their sum must be. Whole ones add up
 * exactly in every type; of others it is known how far a sum may be off. */
#include "numbers.h"

#include <math.h>
#include <string.h>

#include "cells.h"

const char* const data_kinds[] = {"whole", "ordinary", "spread", "extreme"};
const int data_kind_count = sizeof data_kinds / sizeof *data_kinds;

static int kind = WHOLE;

int find_data(const char* name) {
    for (int i = 0; i < data_kind_count; ++i)
        if (strcmp(data_kinds[i], name) == 0) return i;
    return -1;
}

int has_data(int of_kind, int element) {
    const char* const name = element_types[element].name;
    return of_kind == WHOLE || strcmp(name, "float32") == 0 || strcmp(name, "float64") == 0;
}

void use_data(int of_kind) {
    kind = of_kind;
}

int sums_are_exact(void) {
    return kind == WHOLE;
}

static int whole(int rank, int64_t index) {
    const uint32_t mixed = ((uint32_t)index * 31 + (uint32_t)rank * 7 + 5) * 2654435761u;
    return (int)(mixed >> 30);
}

static uint64_t mix(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

/* The least and the most power of two, such that no sum over all ranks overflows. */
static void powers(int element, int* least, int* most) {
    const int is_double = element_types[element].size == sizeof(double);
    *least = kind == SPREAD ? -30 : is_double ? -1074 : -149;
    *most = kind == SPREAD ? 30 : is_double ? 1014 : 118;
}

static double real(int element, int rank, int64_t index) {
    const uint64_t first = mix(((uint64_t)rank + 1) << 32 | (uint64_t)index);
    const uint64_t second = mix(first + 0x9e3779b97f4a7c15u);
    const double share = (double)(first >> 11) * 0x1p-53; /* below 1 */
    double value;
    if (kind == ORDINARY) {
        value = share;
    } else {
        int least, most;
        powers(element, &least, &most);
        value = ldexp(1 + share, least + (int)(second % (uint64_t)(most - least + 1)));
    }
    if (second >> 63) value = -value;
    return element == FLOAT32 ? (float)value : value;
}

double number_of(int element, int rank, int64_t index) {
    return kind == WHOLE ? whole(rank, index) : real(element, rank, index);
}

double sum_of(int element, int ranks, int64_t index, double* slack) {
    const int is_double = element_types[element].size == sizeof(double);
    long double sum = 0, magnitudes = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const double value = number_of(element, rank, index);
        sum += value;
        magnitudes += fabs(value);
    }
    *slack = (double)(magnitudes * ranks * (is_double ? 0x1p-52L : 0x1p-23L));
    return (double)sum;
}
