/* The conformance matrix: every collective × dtype × op × size × ranks × root × place × sync or
 * async is a cell, and every cell is tried, or refused for a reason. Public headers only; C99.
 * collectives.c says what each collective is, memory.c what it reads and writes, plan.c which cells
 * there are, report.c what came of them. */
#ifndef TUTTI_TESTS_CONFORMANCE_H
#define TUTTI_TESTS_CONFORMANCE_H

#include <stddef.h>
#include <stdint.h>
#include <tutti/tutti.h>

#include "support/ranks.h"
#include "support/reference.h"

enum { MOST_RANKS = 5, MOST_AREAS = 2 * MOST_RANKS };

/* Ops beside those of types.h: a sum with factors, and functions of the caller. */
enum { PREMUL_SUM = REDUCE_OPS, COMMUTING, NOT_COMMUTING, MATRIX_OPS };

/* Where the result goes: to memory of its own, to where a NULL input says that it is taken from,
 * or to the input given by name. */
typedef enum place { OUT_OF_PLACE, IN_PLACE, SAME_MEMORY, PLACES } place;

typedef struct cell {
    int32_t ranks;
    int32_t root; /* -1: the collective has none */
    tutti_dtype dtype;
    int op;        /* -1: the collective has none */
    int64_t bytes; /* of one rank's piece, rounded down to elements */
    place where;
    int async;
    int salt; /* so that the same piece has other elements in other cells; 0 in the matrix */
} cell;

/* The elements of a piece of memory. */
typedef struct content {
    enum { JUNK, DATA, REDUCED } kind;
    int32_t source; /* DATA: the rank that gave it */
    int32_t piece;  /* which of its pieces, or which piece was reduced */
} content;

/* A run of elements with one content before the call, and another after it. */
typedef struct stretch {
    int64_t count;
    content before, after;
} stretch;

typedef struct area {
    char* memory;
    int64_t count; /* elements of all stretches */
    int stretches;
    stretch stretch[MOST_RANKS];
} area;

/* One rank's part in one cell. */
typedef struct attempt {
    rank_context* rank;
    const cell* cell;
    const char* lacks;  /* of the backend, "gather/bfloat16"; NULL: nothing */
    int64_t count;      /* elements of an even piece */
    tutti_work* work;   /* of the call, if it is async */
    tutti_reduce_op op; /* of this rank's, if the cell has one; ours to release */
    char* arena;        /* all areas lie in it, between guards; or their images, if ... */
    char* on_device;    /* they lie here, on a device; NULL: on none */
    char* beside;       /* as much memory on the device */
    int32_t device_index;
    void* stream;               /* of this rank on its device */
    tutti_call_options options; /* of the call: a stream, if it has one */
    size_t used, room;
    int areas;
    area area[MOST_AREAS];
    char complaint[200];
} attempt;

typedef struct collective {
    const char* name;
    int has_op, has_root, has_data;
    int places; /* bits: 1 << place */
    tutti_status (*call)(attempt* me);
    const char* gathers; /* the collective that it cannot do without; NULL: it is none of others */
} collective;

extern const collective collectives[];
extern const int collective_count;
/* Whether "gather/bfloat16" has this name, or what is in front of its comma. */
int is_listed(const char* list, const char* name);

/* memory.c */
extern const int64_t piece_bytes[];
extern const int piece_sizes;
content junk(void);
content data_of(int32_t source, int32_t piece);
content reduced(int32_t piece);
/* A buffer of the attempt with these stretches, filled with what they are before the call. */
tutti_buffer make_area(attempt* me, const stretch* stretches, int n);
tutti_buffer make_buffer(attempt* me, int64_t count, content before, content after);
/* Whether every area is what it shall be after the call, or before it, and no byte beside any of
 * them has changed. */
int areas_are(attempt* me, int after);

/* device.c: data on a CUDA device, if the test is for one. Each rank has its device and stream. */
/* Whether there is one; else prints the reason. */
int device_is_here(void);
/* Memory of the attempt on its device. */
void device_begin(attempt* me);
void device_end(attempt* me);
/* Before a cell: whether its call gets a stream, changes with the cell. */
void device_choose_stream(attempt* me, size_t turn);
/* From the image of memory to the device, and of all of it back. */
void device_write(attempt* me, const char* image, size_t bytes);
void device_read(attempt* me);

/* ops.c */
/* Whether bools that are reduced are 0 or 1: else any byte. */
extern int bools_are_bits;
/* Whether the backend rounds sums in its own way: then they are of numbers whose sum is exact, and
 * averages may be off by what the roundings of all steps make. */
extern int sums_are_rough;
int is_rough(const cell* of);
/* Whether an element of the result is as near to what it should be as that allows. */
int is_near(const cell* of, const void* got, const void* wanted);
const char* op_text(int op);
int is_op_of(tutti_dtype dtype, int op);
/* Sets me->op to that of the cell. */
tutti_status make_op(attempt* me);
/* The input of a rank to a reduction, and the result of all inputs. */
number op_element(const cell* of, int32_t source, int32_t piece, int index);
number op_result(const cell* of, const number* values);

/* plan.c: the cells of one collective and number of ranks; the caller frees them. */
typedef struct plan {
    cell* cells;
    size_t count, room;
} plan;
plan every_cell(const collective* what, int32_t ranks);
/* Every dtype × op once, and every pair of values of the other parameters. */
plan pairs_of_values(const collective* what, int32_t ranks, uint64_t seed);
const char* cell_text(const collective* what, const cell* which, char* text, size_t size);

/* report.c */
typedef enum verdict { NOT_TRIED, PASSED, REFUSED, FAILED, VERDICTS } verdict;
void report_cell(const collective* what, const cell* which, verdict how);
/* Prints the table; returns how many cells failed or were not tried. */
size_t report_all(const char* backend);

#endif
