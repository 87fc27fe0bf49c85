/* The cells that tutti-bench measures, and how. Shared with the program that does the same over
 * MPI, so that both call, count and check alike; knows no library. A cell is one number of the
 * table: an operation at a size, among so many ranks. */
#ifndef TUTTI_BENCH_CELLS_H
#define TUTTI_BENCH_CELLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum operation_kind {
    ALL_REDUCE,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    ALL_TO_ALL,
    BARRIER,
    PING_PONG,
    MANY_RECEIVES,
    GATHER,
    SCATTER,
    EXCHANGE,
    EXCHANGE_CALL,
    HALO2D,
    DDP,
    DDP_BLOCKING,
    STORE_SET,
    STORE_GET,
    STORE_ADD,
    ALL_GATHER_OBJECT,
    BROADCAST_OBJECT_LIST,
    GATHER_OBJECT,
    SCATTER_OBJECT_LIST
} operation_kind;

/* The properties of an operation. */
typedef enum family { OF_SIZE, WITHOUT_SIZE, ON_STORE, ON_STORE_WITHOUT_SIZE, ON_OBJECTS } family;

typedef struct operation {
    const char* name;  /* on the command line */
    const char* label; /* in tables; differs where earlier measurements have another name */
    operation_kind kind;
    family of;
    int forms; /* whether it is there in every form, not only in the first */
} operation;

/* How an operation is called: at once, back to back without barriers between, as a work that is
 * waited for at once, or as a work beside which the caller computes. The name of a form but the
 * first is a suffix: NAME_loop, NAME_async, NAME_overlap. */
typedef enum form { BLOCKING, LOOP, ASYNC, OVERLAP } form;

typedef struct element_type {
    const char* name;
    size_t size;
} element_type;

/* Elements that are measured with, in the order of tutti's dtypes. */
extern const element_type element_types[];
extern const int element_type_count;
enum { FLOAT32 = 10, FLOAT64 = 11 };

extern const operation operations[];
extern const int operation_count;

/* Neighbours and messages to each, of exchange. */
extern const char* const exchange_values[];
extern const int exchange_value_count;

/* At most so many messages of MANY_RECEIVES, which are of so many bytes at least. */
enum { MANY = 1 << 17, MANY_BYTES = 8 };
enum { LARGE = 1 << 18, DDP_BUCKETS = 4, DDP_BUCKET_BYTES = 25 << 20, ADD_BYTES = 8 };

typedef struct cell {
    const operation* op;
    form form;
    const char* value; /* of operations on objects: which; of exchange: see exchange_values */
    int64_t bytes;     /* the tensor of a rank; where it is split, all its pieces; of exchanges: a
                          message */
    int element;       /* index into element_types */
    int64_t count;     /* elements of the tensor */
    int64_t piece;     /* elements of a piece, where the tensor is split among the ranks, or
                          into messages; of HALO2D: of an edge */
    void* input;
    void* output;
} cell;

/* The library that is measured. What can fail returns 0 if it did; the program then knows why. */
typedef struct library {
    int rank, ranks;
    int (*call)(const cell* of);             /* returns when the operation is done */
    void (*after)(const cell* of);           /* what a call left behind, untimed; may be NULL */
    int (*check)(const cell* of, char* why); /* of operations on no tensor; may be NULL */
    int (*barrier)(void);
    int (*largest)(double* values, int64_t count); /* over the ranks, on every rank */
    int (*start)(const cell* of);                  /* the operation, without waiting for it */
    int (*finish)(void);                           /* waits for what was started */
    int (*sum)(double* value);                     /* over the ranks, on every rank */
} library;

enum { WHY = 400 }; /* bytes of a sentence */

typedef struct method {
    int64_t iterations; /* 0: by time */
    int rewrite;        /* write inputs anew between iterations */
} method;

typedef struct result {
    double median_us, min_us;
    double blocking_us; /* of OVERLAP: the blocking call, and so long the caller computed */
    int64_t iterations;
} result;

/* cells.c: the operations. */

/* The operation of a name, which may end in the suffix of a form, or in :VALUE for objects and
 * exchange. 0: there is none. */
int find_operation(const char* name, cell* out);
int find_element_type(const char* name);                 /* -1: there is none */
void cell_name(const cell* of, char* text, size_t size); /* as find_operation takes it */
void cell_label(const cell* of, char* text, size_t size);
int uses_store(const cell* of);
int uses_tensor(const cell* of);
int has_size(const cell* of);
int has_messages(const cell* of); /* those of messages.h */
int suits(const cell* of, int ranks);
const char* ranks_for(const cell* of); /* those that suit, in words */
/* Type of the cell's elements; of HALO2D always float64. */
const element_type* element_of(const cell* of);
int64_t messages_of(const cell* of); /* of MANY_RECEIVES, each of a piece */
/* Sets the counts for so many ranks. */
void set_bytes(cell* of, int64_t bytes, int ranks);

/* contents.c: the memory, and what is in it. */

/* How many bytes of inputs and of outputs set_contents takes. */
void contents_size(const cell* of, int rank, int ranks, size_t* in, size_t* out);
/* Contents now lie in this memory, which stays the caller's, until free_contents. */
void lend_memory(void* in, size_t in_size, void* out, size_t out_size);
/* Gives a cell its memory, which later cells use again, filled with what its rank contributes.
 * 0: there is not enough. */
int set_contents(cell* of, int rank, int ranks);
/* Spoils what a call is to write. */
void spoil_output(const cell* of, int rank, int ranks);
/* Whether a call wrote what it should; else `why` says what not. */
int is_right(const cell* of, int rank, int ranks, char* why);
/* Writes one value of each cache line of the inputs anew. */
void rewrite_input(const cell* of, int rank, int ranks);
void free_contents(void);

/* overlap.c: calls in each form. */

/* One call in the cell's form. 0: it failed. */
int call_cell(const library* with, const cell* of);
/* From now on the caller computes for so long in OVERLAP. 0: a call failed. */
int compute_for(const library* with, double seconds);

/* measure.c: the method. */

double seconds_now(void);

/* Checks a cell, then measures it. 0: a call failed, or `why`, which is empty otherwise, says what
 * was wrong. */
int measure(const library* with, const cell* of, const method* how, result* out, char* why);
double bandwidth(const cell* of, const result* measured); /* decimal GB/s; 0 where it means
                                                             nothing */
/* `way`, the last column: NULL if there is none. */
void print_columns(FILE* to, int ways);
void print_row(FILE* to, const char* peer, const cell* of, int ranks, const result* measured,
               const char* way);

#endif
