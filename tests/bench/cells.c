/* The operations: their names, and how much each moves. */
#include "cells.h"

#include <string.h>

const operation operations[] = {
    {"all_reduce", "all_reduce", ALL_REDUCE, OF_SIZE, 1},
    {"broadcast", "broadcast", BROADCAST, OF_SIZE, 1},
    {"reduce", "reduce", REDUCE, OF_SIZE, 1},
    {"reduce_scatter", "reduce_scatter", REDUCE_SCATTER, OF_SIZE, 1},
    {"all_gather", "all_gather", ALL_GATHER, OF_SIZE, 1},
    {"all_to_all", "all_to_all", ALL_TO_ALL, OF_SIZE, 1},
    {"barrier", "barrier", BARRIER, WITHOUT_SIZE, 1},
    {"sendrecv_pingpong", "sendrecv_pingpong", PING_PONG, OF_SIZE, 0},
    {"many_receives", "many_receives", MANY_RECEIVES, OF_SIZE, 0},
    {"gather", "gather", GATHER, OF_SIZE, 1},
    {"scatter", "scatter", SCATTER, OF_SIZE, 1},
    {"exchange", "exchange", EXCHANGE, OF_SIZE, 0},
    {"exchange_call", "exchange_call", EXCHANGE_CALL, OF_SIZE, 0},
    {"halo2d", "halo2d", HALO2D, OF_SIZE, 0},
    {"ddp", "ddp_4x25MiB", DDP, WITHOUT_SIZE, 0},
    {"ddp_blocking", "ddp_4x25MiB_blocking", DDP_BLOCKING, WITHOUT_SIZE, 0},
    {"store_set", "set", STORE_SET, ON_STORE, 0},
    {"store_get", "get", STORE_GET, ON_STORE, 0},
    {"store_add", "add", STORE_ADD, ON_STORE_WITHOUT_SIZE, 0},
    {"all_gather_object", "all_gather_object", ALL_GATHER_OBJECT, ON_OBJECTS, 0},
    {"broadcast_object_list", "broadcast_object_list", BROADCAST_OBJECT_LIST, ON_OBJECTS, 0},
    {"gather_object", "gather_object", GATHER_OBJECT, ON_OBJECTS, 0},
    {"scatter_object_list", "scatter_object_list", SCATTER_OBJECT_LIST, ON_OBJECTS, 0},
};
const int operation_count = sizeof operations / sizeof *operations;

const char* const exchange_values[] = {"2x1", "2x8", "4x1", "4x8"};
const int exchange_value_count = sizeof exchange_values / sizeof *exchange_values;

const element_type element_types[] = {
    {"int8", 1},    {"uint8", 1},   {"int16", 2},     {"uint16", 2},      {"int32", 4},
    {"uint32", 4},  {"int64", 8},   {"uint64", 8},    {"float16", 2},     {"bfloat16", 2},
    {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}, {"bool", 1},
};
const int element_type_count = sizeof element_types / sizeof *element_types;

int find_element_type(const char* name) {
    for (int i = 0; i < element_type_count; ++i)
        if (strcmp(element_types[i].name, name) == 0) return i;
    return -1;
}

static const char* const suffixes[] = {"", "_loop", "_async", "_overlap"};

static int find_form(const char* suffix, const operation* op, form* out) {
    for (int i = BLOCKING; i <= (op->forms ? OVERLAP : BLOCKING); ++i) {
        if (strcmp(suffixes[i], suffix) != 0) continue;
        *out = (form)i;
        return 1;
    }
    return 0;
}

int find_operation(const char* name, cell* out) {
    for (int i = 0; i < operation_count; ++i) {
        const operation* const op = &operations[i];
        const size_t length = strlen(op->name);
        if (strncmp(name, op->name, length) != 0) continue;
        const char* const rest = name + length;
        out->op = op;
        out->form = BLOCKING;
        const int has_values = op->of == ON_OBJECTS || op->kind == EXCHANGE;
        out->value = has_values && *rest == ':' ? rest + 1 : NULL;
        if (out->value != NULL || find_form(rest, op, &out->form)) return 1;
    }
    return 0;
}

static void put_name(const char* op, const cell* of, char* text, size_t size) {
    snprintf(text, size, "%s%s%s%s", op, suffixes[of->form], of->value == NULL ? "" : ":",
             of->value == NULL ? "" : of->value);
}

void cell_name(const cell* of, char* text, size_t size) {
    put_name(of->op->name, of, text, size);
}

void cell_label(const cell* of, char* text, size_t size) {
    put_name(of->op->label, of, text, size);
}

int uses_store(const cell* of) {
    return of->op->of == ON_STORE || of->op->of == ON_STORE_WITHOUT_SIZE;
}

int uses_tensor(const cell* of) {
    return of->op->of == OF_SIZE || of->op->kind == DDP || of->op->kind == DDP_BLOCKING;
}

int has_size(const cell* of) {
    return of->op->of == OF_SIZE || of->op->of == ON_STORE;
}

int has_messages(const cell* of) {
    const operation_kind kind = of->op->kind;
    return kind == EXCHANGE || kind == EXCHANGE_CALL || kind == HALO2D;
}

static int is_for_two(const cell* of) {
    return of->op->kind == PING_PONG || of->op->kind == MANY_RECEIVES;
}

int suits(const cell* of, int ranks) {
    if (of->op->kind == EXCHANGE_CALL) return ranks % 2 == 0;
    return !is_for_two(of) || ranks == 2;
}

const char* ranks_for(const cell* of) {
    return of->op->kind == EXCHANGE_CALL ? "an even number of ranks"
           : is_for_two(of)              ? "2 ranks"
                                         : "any ranks";
}

const element_type* element_of(const cell* of) {
    return &element_types[of->op->kind == HALO2D ? FLOAT64 : of->element];
}

int64_t messages_of(const cell* of) {
    return of->count / of->piece;
}

static void divide_into_messages(cell* of, int64_t size) {
    int64_t messages = of->bytes / MANY_BYTES;
    if (messages > MANY) messages = MANY;
    if (messages > of->count) messages = of->count;
    if (messages < 1) messages = 1;
    of->piece = of->count / messages;
    of->count = messages * of->piece;
    of->bytes = of->count * size;
}

/* The largest square that fits, of one element at least. */
static void make_square(cell* of, int64_t size) {
    of->piece = 1;
    while ((of->piece + 1) * (of->piece + 1) <= of->count) ++of->piece;
    of->count = of->piece * of->piece;
    of->bytes = of->count * size;
}

void set_bytes(cell* of, int64_t bytes, int ranks) {
    const int64_t size = (int64_t)element_of(of)->size;
    of->bytes = bytes;
    if (of->op->kind == DDP || of->op->kind == DDP_BLOCKING)
        of->bytes = (int64_t)DDP_BUCKETS * DDP_BUCKET_BYTES;
    else if (of->op->kind == STORE_ADD)
        of->bytes = ADD_BYTES;
    else if (!has_size(of) && of->op->of != ON_OBJECTS)
        of->bytes = 0;
    of->count = of->bytes / size;
    of->piece = of->count / ranks > 0 ? of->count / ranks : 1;
    if (of->op->kind == MANY_RECEIVES) divide_into_messages(of, size);
    if (of->op->kind == HALO2D) make_square(of, size);
}
