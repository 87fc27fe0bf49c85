/* Random numbers that are a function of what they are for, so that all ranks and threads that have
 * the seed draw the same. C99 and C++. */
#ifndef TUTTI_TESTS_DRAW_H
#define TUTTI_TESTS_DRAW_H

#include <stdint.h>

/* Number `what` of a step of whatever has steps: a thread, a group. */
static inline uint64_t draw_at(uint64_t seed, uint64_t whose, uint64_t step, uint64_t what) {
    uint64_t x = seed + whose * 0x9e3779b97f4a7c15u + step * 0xbf58476d1ce4e5b9u + what;
    for (int i = 0; i < 3; ++i) {
        x ^= x >> 31;
        x *= 0x94d049bb133111ebu;
    }
    return x ^ x >> 29;
}

/* The numbers from 0 on, `count` of them, in an order of that step. */
static inline void draw_order(uint64_t seed, uint64_t whose, uint64_t step, int64_t count,
                              int64_t* order) {
    for (int64_t i = 0; i < count; ++i) order[i] = i;
    for (int64_t i = count - 1; i > 0; --i) {
        const uint64_t drawn = draw_at(seed, whose, step, (uint64_t)i);
        const int64_t j = (int64_t)(drawn % (uint64_t)(i + 1));
        const int64_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

#endif
