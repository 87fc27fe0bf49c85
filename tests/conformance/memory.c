/* The memory that a collective reads and writes; see conformance.h. The elements repeat with a
 * prime period, so that a piece that lands at the wrong place shows, and filling is a matter of
 * memcpy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { PERIOD = 251, PAGE = 4096, GUARD = 64, WIDEST = 16 };
enum { GUARD_BYTE = 0xA5, JUNK_BYTE = 0x5A };

/* Nothing, one element, an odd number, more than a page that begins just before its end, and what
 * takes the algorithms for long data. */
const int64_t piece_bytes[] = {0, 1, 1001, 8197, 1 << 20};
const int piece_sizes = sizeof piece_bytes / sizeof *piece_bytes;

static content make_content(int kind, int32_t source, int32_t piece) {
    content made;
    memset(&made, 0, sizeof made);
    made.kind = kind == DATA ? DATA : kind == REDUCED ? REDUCED : JUNK;
    made.source = source;
    made.piece = piece;
    return made;
}

content junk(void) {
    return make_content(JUNK, 0, 0);
}

content data_of(int32_t source, int32_t piece) {
    return make_content(DATA, source, piece);
}

content reduced(int32_t piece) {
    return make_content(REDUCED, 0, piece);
}

static number element(const cell* of, int32_t source, int32_t piece, int index) {
    index += of->salt;
    number value = {(double)((41 * source + 17 * piece + index) % 101),
                    (double)((29 * source + 13 * piece + index) % 103)};
    if (of->op >= 0) value = op_element(of, source, piece, index);
    if (!is_complex(of->dtype)) value.imaginary = 0;
    return value;
}

static number wanted_element(const cell* of, content what, int index) {
    number values[MOST_RANKS];
    if (what.kind == DATA) return element(of, what.source, what.piece, index);
    for (int32_t rank = 0; rank < of->ranks; ++rank) {
        values[rank] = element(of, rank, what.piece, index);
    }
    return op_result(of, values);
}

/* One period of a content. */
static size_t make_period(const cell* of, content what, char* period) {
    const size_t width = tutti_dtype_size(of->dtype);
    if (what.kind == JUNK) {
        memset(period, JUNK_BYTE, PERIOD * width);
    } else {
        for (int i = 0; i < PERIOD; ++i)
            put_element(of->dtype, period, i, wanted_element(of, what, i));
    }
    return PERIOD * width;
}

static void fill(const cell* of, content what, char* memory, size_t bytes) {
    char period[PERIOD * WIDEST];
    const size_t step = make_period(of, what, period);
    for (size_t at = 0; at < bytes; at += step) {
        memcpy(memory + at, period, bytes - at < step ? bytes - at : step);
    }
}

/* Where the first element is that differs; `bytes` if none does. */
static size_t first_difference(const cell* of, content what, const char* memory, size_t bytes) {
    char period[PERIOD * WIDEST];
    const size_t step = make_period(of, what, period);
    for (size_t at = 0; at < bytes; at += step) {
        const size_t length = bytes - at < step ? bytes - at : step;
        if (memcmp(memory + at, period, length) == 0) continue;
        const size_t width = tutti_dtype_size(of->dtype);
        for (size_t i = 0; i < length; i += width) {
            if (memcmp(memory + at + i, period + i, width) == 0) continue;
            if (what.kind == REDUCED && is_rough(of) && is_near(of, memory + at + i, period + i))
                continue;
            return at + i;
        }
    }
    return bytes;
}

/* Room for so many bytes between guards; a page ends soon after its begin. */
static char* take_room(attempt* me, size_t bytes, size_t width) {
    const size_t begin = (me->used + GUARD + PAGE - 1) / PAGE * PAGE + PAGE - 3 * width;
    me->used = begin + bytes + GUARD;
    if (me->used > me->room) {
        fprintf(stderr, "conformance: an attempt needs more than %zu bytes\n", me->room);
        abort();
    }
    memset(me->arena + begin - GUARD, GUARD_BYTE, GUARD);
    memset(me->arena + begin + bytes, GUARD_BYTE, GUARD);
    return me->arena + begin;
}

tutti_buffer make_area(attempt* me, const stretch* stretches, int n) {
    const size_t width = tutti_dtype_size(me->cell->dtype);
    area* const made = &me->area[me->areas++];
    made->count = 0;
    made->stretches = n;
    for (int i = 0; i < n; ++i) {
        made->stretch[i] = stretches[i];
        made->count += stretches[i].count;
    }
    made->memory = take_room(me, (size_t)made->count * width, width);
    char* at = made->memory;
    for (int i = 0; i < n; ++i) {
        const size_t bytes = (size_t)stretches[i].count * width;
        fill(me->cell, stretches[i].before, at, bytes);
        at += bytes;
    }
    tutti_buffer buffer = TUTTI_BUFFER_INIT(made->memory, made->count, me->cell->dtype);
    if (me->on_device != NULL) {
        device_write(me, made->memory - GUARD, (size_t)made->count * width + 2 * GUARD);
        buffer.data = me->on_device + (made->memory - me->arena);
        buffer.device_type = TUTTI_CUDA;
        buffer.device_index = me->device_index;
    }
    return buffer;
}

tutti_buffer make_buffer(attempt* me, int64_t count, content before, content after) {
    const stretch whole = {count, before, after};
    return make_area(me, &whole, 1);
}

static int guards_stand(const char* memory, size_t bytes) {
    for (int i = 0; i < GUARD; ++i) {
        if ((unsigned char)memory[i - GUARD] != GUARD_BYTE) return 0;
        if ((unsigned char)memory[bytes + (size_t)i] != GUARD_BYTE) return 0;
    }
    return 1;
}

int areas_are(attempt* me, int after) {
    const size_t width = tutti_dtype_size(me->cell->dtype);
    if (me->on_device != NULL) device_read(me);
    for (int a = 0; a < me->areas; ++a) {
        const area* const one = &me->area[a];
        const char* at = one->memory;
        for (int i = 0; i < one->stretches; ++i) {
            const size_t bytes = (size_t)one->stretch[i].count * width;
            const content what = after ? one->stretch[i].after : one->stretch[i].before;
            const size_t wrong = first_difference(me->cell, what, at, bytes);
            if (wrong < bytes) {
                (void)snprintf(me->complaint, sizeof me->complaint,
                               "buffer %d, piece %d, element %zu of %lld is wrong", a, i,
                               wrong / width, (long long)one->stretch[i].count);
                return 0;
            }
            at += bytes;
        }
        if (!guards_stand(one->memory, (size_t)one->count * width)) {
            (void)snprintf(me->complaint, sizeof me->complaint,
                           "memory beside buffer %d was written", a);
            return 0;
        }
    }
    return 1;
}
