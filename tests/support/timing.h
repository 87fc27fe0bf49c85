/* What programs share that measure: the clock and the median. C99; any thread. */
#ifndef TUTTI_TESTS_TIMING_H
#define TUTTI_TESTS_TIMING_H

#include <stdlib.h>
#include <time.h>

/* Microseconds since some moment, of a clock that nobody sets. */
static inline double now_us(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline double now_s(void) {
    return now_us() / 1e6;
}

static inline int by_size(const void* one, const void* other) {
    const double a = *(const double*)one, b = *(const double*)other;
    return (a > b) - (a < b);
}

/* Sorts the numbers, 1 or more. Of an even count: the mean of the two in the middle. */
static inline double median(double* numbers, int count) {
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

#endif
