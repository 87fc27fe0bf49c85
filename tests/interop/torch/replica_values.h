/* Numbers of each dtype as doubles, and a checksum of bytes, for replica_peer.c. */
#ifndef REPLICA_VALUES_H
#define REPLICA_VALUES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

static double bits_as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double read_half(uint32_t bits) {
    const int32_t exponent = (int32_t)(bits >> 10 & 31);
    const double fraction = bits & 1023;
    const double value =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

/* The bits of a normal number that float16 has. */
static uint16_t write_half(double value) {
    int exponent;
    const double fraction = frexp(fabs(value), &exponent); /* from 1/2 on, below 1 */
    const uint32_t sign = value < 0 ? 0x8000U : 0;
    if (value == 0) return 0;
    return (uint16_t)(sign | (uint32_t)(exponent + 14) << 10 | (uint32_t)(fraction * 2048 - 1024));
}

static double get(const tutti_buffer* of, int64_t at) {
    switch (of->dtype) {
        case TUTTI_FLOAT64:
            return ((double*)of->data)[at];
        case TUTTI_FLOAT32:
            return ((float*)of->data)[at];
        case TUTTI_INT64:
            return (double)((int64_t*)of->data)[at];
        case TUTTI_BFLOAT16:
            return bits_as_float((uint32_t)((uint16_t*)of->data)[at] << 16);
        default:
            return read_half(((uint16_t*)of->data)[at]);
    }
}

static void put(const tutti_buffer* of, int64_t at, double value) {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    switch (of->dtype) {
        case TUTTI_FLOAT64:
            ((double*)of->data)[at] = value;
            break;
        case TUTTI_FLOAT32:
            ((float*)of->data)[at] = narrow;
            break;
        case TUTTI_INT64:
            ((int64_t*)of->data)[at] = (int64_t)value;
            break;
        case TUTTI_BFLOAT16:
            ((uint16_t*)of->data)[at] = (uint16_t)(bits >> 16);
            break;
        default:
            ((uint16_t*)of->data)[at] = write_half(value);
    }
}

static uint32_t crc32_of(const unsigned char* bytes, size_t count) {
    uint32_t crc = ~0U;
    for (size_t i = 0; i < count; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1)));
    }
    return ~crc;
}

#endif
