/* The tensors: which memory they have, what each rank puts into them, and what must come out. The
 * numbers repeat after a prime number of elements, so that a piece at a wrong place is seen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "numbers.h"

enum { PERIOD = 1021, LARGEST_ELEMENT = 16, CACHE_LINE = 64, PAGE = 4096 };

typedef struct memory {
    void* at;
    size_t size;
    int lent;
} memory;

static memory inputs, outputs;

/* Memory that was given is kept, as programs keep theirs. */
static void* need(memory* kept, size_t size) {
    if (size > kept->size) {
        if (kept->lent) return NULL;
        free(kept->at);
        kept->size = 0;
        if (posix_memalign(&kept->at, PAGE, size) != 0) return kept->at = NULL;
        kept->size = size;
        memset(kept->at, 0, size);
    }
    return kept->at;
}

void lend_memory(void* in, size_t in_size, void* out, size_t out_size) {
    free_contents();
    inputs = (memory){in, in_size, 1};
    outputs = (memory){out, out_size, 1};
}

void free_contents(void) {
    if (!inputs.lent) free(inputs.at);
    if (!outputs.lent) free(outputs.at);
    inputs = outputs = (memory){NULL, 0, 0};
}

/* Elements that are read on a rank. */
static int64_t input_count(const cell* of, int rank, int ranks) {
    switch (of->op->kind) {
        case REDUCE_SCATTER:
        case ALL_TO_ALL:
            return of->piece * ranks;
        case SCATTER:
            return rank == 0 ? of->piece * ranks : 0;
        case BROADCAST:
            return rank == 0 ? of->count : 0;
        case PING_PONG:
            return rank < 2 ? of->count : 0;
        case MANY_RECEIVES:
            return rank == 0 ? of->count : 0;
        case EXCHANGE:
            return neighbours_of(of) * messages_each(of) * of->count;
        default:
            return of->count;
    }
}

static size_t input_size(const cell* of, int rank, int ranks) {
    if (of->op->kind == HALO2D) return halo_size(of);
    return (size_t)input_count(of, rank, ranks) * element_of(of)->size;
}

/* The memory written on a rank: equal parts, each a section of what a rank contributed, or of the
 * sum over all of them. Parts after the first are of the ranks after that one. */
enum { OF_ALL = -1 };

typedef struct writing {
    int in_place; /* where the input is, or would be */
    int parts, source;
    int64_t first, count; /* of each part */
} writing;

static writing written(const cell* of, int rank, int ranks) {
    const int64_t count = of->count, piece = of->piece;
    switch (of->op->kind) {
        case ALL_REDUCE:
            return (writing){0, 1, OF_ALL, 0, count};
        case DDP:
        case DDP_BLOCKING:
            return (writing){1, 1, OF_ALL, 0, count};
        case BROADCAST:
            return (writing){1, rank != 0, 0, 0, count};
        case REDUCE:
            return (writing){0, rank == 0, OF_ALL, 0, count};
        case REDUCE_SCATTER:
            return (writing){0, 1, OF_ALL, rank * piece, piece};
        case ALL_GATHER:
            return (writing){0, ranks, 0, 0, count};
        case GATHER:
            return (writing){0, rank == 0 ? ranks : 0, 0, 0, count};
        case ALL_TO_ALL:
            return (writing){0, ranks, 0, rank * piece, piece};
        case SCATTER:
            return (writing){0, 1, 0, rank * piece, piece};
        case PING_PONG:
            return (writing){0, rank < 2, 1 - rank, 0, count};
        case MANY_RECEIVES:
            return (writing){0, rank == 1, 0, 0, count};
        case EXCHANGE:
            return (writing){0, neighbours_of(of), 0, 0, messages_each(of) * count};
        case EXCHANGE_CALL:
            return (writing){0, 1, neighbour(of, rank, ranks, 0), 0, count};
        default:
            return (writing){0, 0, 0, 0, 0};
    }
}

/* One of the parts. */
static writing part_of(const cell* of, const writing* all, int rank, int ranks, int number) {
    writing part = *all;
    if (of->op->kind == EXCHANGE) {
        part.source = neighbour(of, rank, ranks, number);
        part.first = opposite_of(of, number) * part.count;
    } else if (part.source != OF_ALL) {
        part.source += number;
    }
    return part;
}

static uint32_t bits_of(int value) {
    const float real = (float)value;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* The bits of a small whole number that is not negative. */
static void put_whole(int element, unsigned char* to, int value) {
    const double real[] = {value, value};
    const float single[] = {(float)value, (float)value};
    const uint32_t bits = bits_of(value);
    const uint16_t half = (uint16_t)(value == 0 ? 0 : (bits - (112u << 23)) >> 13);
    const uint16_t brain = (uint16_t)(bits >> 16);
    const uint64_t whole = (uint64_t)value; /* low bytes first, as on every machine we run on */
    const unsigned char truth = value != 0;
    const char* const name = element_types[element].name;
    const size_t size = element_types[element].size;
    if (strcmp(name, "float16") == 0)
        memcpy(to, &half, size);
    else if (strcmp(name, "bfloat16") == 0)
        memcpy(to, &brain, size);
    else if (strcmp(name, "float32") == 0 || strcmp(name, "complex64") == 0)
        memcpy(to, single, size);
    else if (strcmp(name, "float64") == 0 || strcmp(name, "complex128") == 0)
        memcpy(to, real, size);
    else if (strcmp(name, "bool") == 0)
        memcpy(to, &truth, size);
    else
        memcpy(to, &whole, size);
}

static void put(int element, unsigned char* to, double value) {
    const float single = (float)value;
    if (sums_are_exact())
        put_whole(element, to, (int)value);
    else if (element == FLOAT32)
        memcpy(to, &single, sizeof single);
    else
        memcpy(to, &value, sizeof value);
}

/* The elements from `first` on, as long as they do not repeat. */
static void make_period(const cell* of, int source, int64_t first, int ranks,
                        unsigned char* period) {
    const size_t size = element_types[of->element].size;
    for (int64_t i = 0; i < PERIOD; ++i) {
        const int64_t index = (first + i) % PERIOD;
        double slack;
        put(of->element, period + (size_t)i * size,
            source == OF_ALL ? sum_of(of->element, ranks, index, &slack)
                             : number_of(of->element, source, index));
    }
}

void contents_size(const cell* of, int rank, int ranks, size_t* in, size_t* out) {
    const size_t size = element_of(of)->size;
    const writing writes = written(of, rank, ranks);
    const size_t write = (size_t)(writes.parts * writes.count) * size;
    const size_t read = input_size(of, rank, ranks);
    *in = writes.in_place && write > read ? write : read > 0 ? read : size;
    *out = writes.in_place ? 0 : write > 0 ? write : size;
}

int set_contents(cell* of, int rank, int ranks) {
    unsigned char period[PERIOD * LARGEST_ELEMENT];
    const size_t size = element_types[of->element].size;
    const size_t own = (size_t)input_count(of, rank, ranks) * size;
    size_t in_bytes, out_bytes;
    contents_size(of, rank, ranks, &in_bytes, &out_bytes);
    of->input = need(&inputs, in_bytes);
    of->output = out_bytes == 0 ? of->input : need(&outputs, out_bytes);
    if (of->input == NULL || of->output == NULL) return 0;
    make_messages(of, rank, ranks);
    if (of->op->kind == HALO2D) {
        halo_fill(of, rank, ranks);
        return 1;
    }
    make_period(of, rank, 0, ranks, period);
    for (size_t at = 0; at < own; at += PERIOD * size) {
        const size_t left = own - at;
        memcpy((char*)of->input + at, period, left < PERIOD * size ? left : PERIOD * size);
    }
    return 1;
}

void spoil_output(const cell* of, int rank, int ranks) {
    const writing writes = written(of, rank, ranks);
    if (input_count(of, rank, ranks) > 0 && writes.in_place) return;
    memset(of->output, 0xA5,
           (size_t)(writes.parts * writes.count) * element_types[of->element].size);
}

/* The first element of a part that is not as it should be; its count if all are. */
static int64_t wrong_element(const cell* of, const unsigned char* part, int64_t count,
                             const unsigned char* period) {
    const size_t size = element_types[of->element].size;
    for (int64_t at = 0; at < count; at += PERIOD) {
        const int64_t run = count - at < PERIOD ? count - at : PERIOD;
        const unsigned char* const here = part + (size_t)at * size;
        if (memcmp(here, period, (size_t)run * size) == 0) continue;
        for (int64_t i = 0; i < run; ++i)
            if (memcmp(here + (size_t)i * size, period + (size_t)i * size, size) != 0)
                return at + i;
    }
    return count;
}

/* The same of sums that are rounded, the first of them of element `first`. */
static int64_t wrong_sum(const cell* of, const unsigned char* part, int64_t count, int64_t first,
                         int ranks) {
    double sums[PERIOD], slacks[PERIOD];
    for (int64_t i = 0; i < PERIOD; ++i)
        sums[i] = sum_of(of->element, ranks, (first + i) % PERIOD, &slacks[i]);
    for (int64_t i = 0; i < count; ++i) {
        double got;
        float single;
        if (of->element == FLOAT32) {
            memcpy(&single, part + (size_t)i * sizeof single, sizeof single);
            got = single;
        } else {
            memcpy(&got, part + (size_t)i * sizeof got, sizeof got);
        }
        if (!(fabs(got - sums[i % PERIOD]) <= slacks[i % PERIOD])) return i;
    }
    return count;
}

int is_right(const cell* of, int rank, int ranks, char* why) {
    if (of->op->kind == HALO2D) return halo_is_right(of, rank, ranks, why);
    unsigned char period[PERIOD * LARGEST_ELEMENT];
    const writing writes = written(of, rank, ranks);
    const size_t size = element_types[of->element].size;
    for (int i = 0; i < writes.parts; ++i) {
        const unsigned char* const part =
            (const unsigned char*)of->output + (size_t)(i * writes.count) * size;
        const writing what = part_of(of, &writes, rank, ranks, i);
        make_period(of, what.source, what.first, ranks, period);
        const int64_t wrong = what.source == OF_ALL && !sums_are_exact()
                                  ? wrong_sum(of, part, writes.count, what.first, ranks)
                                  : wrong_element(of, part, writes.count, period);
        if (wrong < writes.count) {
            char label[64];
            cell_label(of, label, sizeof label);
            snprintf(why, WHY,
                     "the result of %s of %lld bytes is wrong on rank %d of %d: element %lld of "
                     "%lld %ss, part %d",
                     label, (long long)of->bytes, rank, ranks, (long long)wrong,
                     (long long)writes.count, element_types[of->element].name, i);
            return 0;
        }
    }
    return 1;
}

void rewrite_input(const cell* of, int rank, int ranks) {
    const size_t size = input_size(of, rank, ranks);
    volatile unsigned char* const bytes = (volatile unsigned char*)of->input;
    /* The same value: for the caches and the other ranks that is a write like any other. */
    for (size_t at = 0; at < size; at += CACHE_LINE) bytes[at] = bytes[at];
}
