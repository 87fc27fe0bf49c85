/* One call of each operation on the store, by rank 0 alone, and on objects. */
#include <stdlib.h>
#include <string.h>

#include "tutti_bench.h"

const char* const object_values[] = {"small_dict", "dict_1MiB", "text_16MiB", "random_16MiB"};
const int object_value_count = sizeof object_values / sizeof *object_values;

enum { LARGE_VALUE = 16 << 20, LAYERS = 5200 };

static int32_t own_rank, rank_count;
static tutti_object* value;
static tutti_object* received[MOST_RANKS];
static size_t received_count;
static tutti_store* store;
static char* payload;
static tutti_bytes* got;
static int64_t counter;

static uint64_t draw(uint64_t* state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static const char* draw_word(uint64_t* state) {
    static const char* const words[] = {"alpha",  "tensor",     "gradient", "rank",
                                        "worker", "checkpoint", "epoch",    "bucket",
                                        "loss",   "shard",      "device",   "queue"};
    return words[draw(state) % (sizeof words / sizeof *words)];
}

/* Fills text with words, no NUL at its end. */
static void draw_text(uint64_t* state, char* text, size_t size) {
    for (size_t at = 0; at < size;) {
        const char* const word = draw_word(state);
        for (const char* letter = word; at < size && *letter != '\0';) text[at++] = *letter++;
        if (at < size) text[at++] = ' ';
    }
}

static int ok(tutti_status status) {
    return status == TUTTI_OK;
}

static int add_string_at(tutti_object* to, const char* key, const char* text, size_t size) {
    return ok(tutti_object_add_key(to, key, &failure)) &&
           ok(tutti_object_add_string(to, text, size, &failure));
}

static int add_number_at(tutti_object* to, const char* key, int64_t number) {
    return ok(tutti_object_add_key(to, key, &failure)) &&
           ok(tutti_object_add_int64(to, number, &failure));
}

static int add_numbers_at(tutti_object* to, const char* key, const int64_t* numbers,
                          int64_t count) {
    return ok(tutti_object_add_key(to, key, &failure)) &&
           ok(tutti_object_begin_list(to, &failure)) &&
           ok(tutti_object_add_elements(to, numbers, count, TUTTI_INT64, &failure)) &&
           ok(tutti_object_end(to, &failure));
}

static int make_small(tutti_object* to) {
    const int64_t dimensions[] = {1, 2, 3};
    return ok(tutti_object_begin_map(to, &failure)) && add_number_at(to, "rank", 1) &&
           ok(tutti_object_add_key(to, "loss", &failure)) &&
           ok(tutti_object_add_float64(to, 0.25, &failure)) &&
           add_string_at(to, "name", "worker-1", 8) &&
           ok(tutti_object_add_key(to, "ok", &failure)) &&
           ok(tutti_object_add_bool(to, 1, &failure)) &&
           add_numbers_at(to, "dims", dimensions, 3) && ok(tutti_object_end(to, &failure));
}

static int add_layer(tutti_object* to, int index, uint64_t* state) {
    char name[80], key[32], owner[32];
    int64_t shape[8];
    draw_text(state, name, sizeof name);
    for (int i = 0; i < 8; ++i) shape[i] = (int64_t)(draw(state) % 1024);
    snprintf(key, sizeof key, "layer.%d", index);
    snprintf(owner, sizeof owner, "worker-%d", index % 16);
    const char* const tag = draw_word(state);
    return ok(tutti_object_add_key(to, key, &failure)) &&
           ok(tutti_object_begin_map(to, &failure)) &&
           add_string_at(to, "name", name, sizeof name) && add_numbers_at(to, "shape", shape, 8) &&
           ok(tutti_object_add_key(to, "stats", &failure)) &&
           ok(tutti_object_begin_map(to, &failure)) && add_number_at(to, "step", index) &&
           add_string_at(to, "owner", owner, strlen(owner)) &&
           add_string_at(to, "tag", tag, strlen(tag)) && ok(tutti_object_end(to, &failure)) &&
           ok(tutti_object_end(to, &failure));
}

static int make_layers(tutti_object* to, uint64_t* state) {
    if (!ok(tutti_object_begin_map(to, &failure))) return 0;
    for (int i = 0; i < LAYERS; ++i)
        if (!add_layer(to, i, state)) return 0;
    return ok(tutti_object_end(to, &failure));
}

static int make_large(tutti_object* to, int is_text, uint64_t* state) {
    char* const bytes = (char*)malloc(LARGE_VALUE);
    if (bytes == NULL) return 0;
    if (is_text) draw_text(state, bytes, LARGE_VALUE);
    for (size_t at = 0; at < LARGE_VALUE && !is_text; at += sizeof(uint64_t)) {
        const uint64_t drawn = draw(state);
        memcpy(bytes + at, &drawn, sizeof drawn);
    }
    const int made = ok(is_text ? tutti_object_add_string(to, bytes, LARGE_VALUE, &failure)
                                : tutti_object_add_bytes(to, bytes, LARGE_VALUE, 0, &failure));
    free(bytes);
    return made;
}

/* The same on every rank. */
static int make_object(cell* of) {
    uint64_t state = 7;
    tutti_bytes* encoded = NULL;
    if (!ok(tutti_object_create(&value, &failure))) return 0;
    const int made = strcmp(of->value, "small_dict") == 0 ? make_small(value)
                     : strcmp(of->value, "dict_1MiB") == 0
                         ? make_layers(value, &state)
                         : make_large(value, strcmp(of->value, "text_16MiB") == 0, &state);
    if (!made || !ok(tutti_object_encode(value, NULL, &encoded, &failure))) return 0;
    of->bytes = (int64_t)tutti_bytes_size(encoded);
    tutti_bytes_release(encoded);
    return 1;
}

/* A client of the store at which the ranks met. */
static int open_store(const cell* of) {
    tutti_tcp_store_options settings = TUTTI_TCP_STORE_OPTIONS_INIT;
    const char* const host = getenv("MASTER_ADDR");
    const char* const port = getenv("MASTER_PORT");
    settings.no_wait_for_workers = 1;
    if (own_rank != 0) return 1;
    payload = (char*)calloc((size_t)of->bytes, 1);
    if (payload == NULL || host == NULL || port == NULL) {
        failure.status = TUTTI_ERR_INVALID_ARGUMENT;
        snprintf(failure.message, sizeof failure.message,
                 "the store needs MASTER_ADDR, MASTER_PORT and %lld bytes", (long long)of->bytes);
        return 0;
    }
    memset(payload, 'x', (size_t)of->bytes);
    return ok(tutti_tcp_store_create(host, atoi(port), -1, 0, &settings, &store, &failure)) &&
           ok(tutti_store_set(store, "tutti-bench/value", payload, (size_t)of->bytes, &failure)) &&
           ok(tutti_store_add(store, "tutti-bench/counter", 0, &counter, &failure));
}

int prepare_value(cell* of, int rank, int ranks) {
    own_rank = rank;
    rank_count = ranks;
    return uses_store(of) ? open_store(of) : make_object(of);
}

static tutti_status use_store(const cell* of) {
    if (own_rank != 0) return TUTTI_OK;
    if (of->op->kind == STORE_SET)
        return tutti_store_set(store, "tutti-bench/value", payload, (size_t)of->bytes, &failure);
    if (of->op->kind == STORE_GET)
        return tutti_store_get(store, "tutti-bench/value", NULL, &got, &failure);
    return tutti_store_add(store, "tutti-bench/counter", 1, &counter, &failure);
}

static tutti_status use_objects(const cell* of) {
    tutti_group* const world = TUTTI_GROUP_WORLD;
    const int at_root = own_rank == 0;
    tutti_object* each[MOST_RANKS];
    switch (of->op->kind) {
        case ALL_GATHER_OBJECT:
            received_count = (size_t)rank_count;
            return tutti_all_gather_object(world, value, NULL, NULL, received, received_count, NULL,
                                           &failure);
        case BROADCAST_OBJECT_LIST:
            received_count = at_root ? 0 : 1;
            return tutti_broadcast_object_list(world, at_root ? &value : NULL, 1, 0, NULL, NULL,
                                               at_root ? NULL : received, NULL, &failure);
        case GATHER_OBJECT:
            received_count = at_root ? (size_t)rank_count : 0;
            return tutti_gather_object(world, value, 0, NULL, NULL, at_root ? received : NULL,
                                       received_count, NULL, &failure);
        default:
            received_count = 1;
            for (int32_t i = 0; i < rank_count; ++i) each[i] = value;
            return tutti_scatter_object_list(world, at_root ? each : NULL,
                                             at_root ? (size_t)rank_count : 0, 0, NULL, NULL,
                                             received, NULL, &failure);
    }
}

int call_with_value(const cell* of) {
    return ok(uses_store(of) ? use_store(of) : use_objects(of));
}

void release_values(const cell* of) {
    (void)of;
    tutti_bytes_release(got);
    got = NULL;
    for (size_t i = 0; i < received_count; ++i) {
        tutti_object_release(received[i]);
        received[i] = NULL;
    }
    received_count = 0;
}

static int check_store(const cell* of, char* why) {
    int right = 1;
    if (own_rank != 0) return 1;
    if (of->op->kind == STORE_ADD) {
        int64_t now = 0;
        const int64_t expected = counter;
        if (!ok(tutti_store_add(store, "tutti-bench/counter", 0, &now, &failure))) return 0;
        right = now == expected && now > 0;
    } else {
        if (got == NULL && !ok(tutti_store_get(store, "tutti-bench/value", NULL, &got, &failure)))
            return 0;
        right = (int64_t)tutti_bytes_size(got) == of->bytes &&
                memcmp(tutti_bytes_data(got), payload, (size_t)of->bytes) == 0;
    }
    if (!right) snprintf(why, WHY, "what the store holds after %s is wrong", of->op->name);
    return right;
}

int check_value(const cell* of, char* why) {
    if (uses_store(of)) return check_store(of, why);
    for (size_t i = 0; i < received_count; ++i) {
        int32_t equal = 0;
        if (!ok(tutti_object_equal(received[i], 0, value, 0, &equal, &failure))) return 0;
        if (!equal) {
            snprintf(why, WHY, "object %zu that %s gave rank %d is another one than was given", i,
                     of->op->name, (int)own_rank);
            return 0;
        }
    }
    return 1;
}

void end_value(void) {
    tutti_object_release(value);
    tutti_store_release(store);
    free(payload);
    value = NULL;
    store = NULL;
    payload = NULL;
}
