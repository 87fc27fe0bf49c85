/* A rank of a world in which every rank may be of another language: it says what it is and checks
 * what the others say. The same program is in each binding's folder, and `world_ranks` becomes one
 * of them.
 *     tuttirun --nproc-per-node 6 build/release/bin/world_ranks */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

static tutti_group* world; /* TUTTI_GROUP_WORLD */
static int rank, size;
static tutti_error error = TUTTI_ERROR_INIT;

static void fail(const char* what) {
    fprintf(stderr, "c rank %d of %d: %s: %s\n", rank, size, what, error.message);
    exit(1);
}
static void must(tutti_status status, const char* what) {
    if (status != TUTTI_OK) fail(what);
}
static void expect(int is_right, const char* what) {
    if (!is_right) {
        snprintf(error.message, sizeof error.message, "it is not what was expected");
        fail(what);
    }
}

static void sum(void) {
    enum { COUNT = 1000 };
    double data[COUNT];
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, COUNT, TUTTI_FLOAT64);
    for (int i = 0; i < COUNT; ++i) data[i] = (i + 1.0) * (rank + 1);
    must(tutti_all_reduce(world, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error), "all_reduce");
    for (int i = 0; i < COUNT; ++i)
        expect(data[i] == (i + 1.0) * size * (size + 1) / 2, "the sum of all_reduce");
}

/* The list under the key "values". */
static void add_values(tutti_object* card) {
    must(tutti_object_add_key(card, "values", &error), "values");
    must(tutti_object_begin_list(card, &error), "values");
    must(tutti_object_add_int64(card, 1, &error), "values");
    must(tutti_object_add_float64(card, 2.5, &error), "values");
    must(tutti_object_add_bool(card, 1, &error), "values");
    must(tutti_object_add_nil(card, &error), "values");
    must(tutti_object_add_string(card, "text \xc3\xbc", TUTTI_NUL_TERMINATED, &error), "values");
    must(tutti_object_end(card, &error), "values");
}

/* The value that a rank sends of itself. */
static tutti_object* card_of(const char* language, size_t length, int of_rank) {
    static const unsigned char bytes[] = {0, 1, 0xff};
    const int64_t shape[] = {2, 3};
    int32_t numbers[6];
    tutti_object* card = NULL;
    for (int i = 0; i < 6; ++i) numbers[i] = i + of_rank;
    must(tutti_object_create(&card, &error), "create");
    must(tutti_object_begin_map(card, &error), "begin_map");
    must(tutti_object_add_key(card, "language", &error), "language");
    must(tutti_object_add_string(card, language, length, &error), "language");
    must(tutti_object_add_key(card, "rank", &error), "rank");
    must(tutti_object_add_int64(card, of_rank, &error), "rank");
    add_values(card);
    must(tutti_object_add_key(card, "bytes", &error), "bytes");
    must(tutti_object_add_bytes(card, bytes, sizeof bytes, 0, &error), "bytes");
    must(tutti_object_add_key(card, "array", &error), "array");
    must(tutti_object_add_array(card, numbers, TUTTI_INT32, shape, 2, 0, &error), "array");
    must(tutti_object_end(card, &error), "end");
    return card;
}

static void exchange_cards(void) {
    tutti_object** const all = (tutti_object**)calloc((size_t)size, sizeof *all);
    tutti_object* const mine = card_of("c", 1, rank);
    if (all == NULL) fail("memory");
    must(tutti_all_gather_object(world, mine, NULL, NULL, all, (size_t)size, NULL, &error),
         "all_gather_object");
    for (int each = 0; each < size; ++each) {
        int64_t node = 0;
        const char* language = NULL;
        int64_t length = 0;
        int32_t is_equal = 0;
        must(tutti_object_find(all[each], 0, "language", &node, &error), "the language of a card");
        must(tutti_object_get_string(all[each], node, &language, &length, &error), "the language");
        tutti_object* const wanted = card_of(language, length, each);
        must(tutti_object_equal(all[each], 0, wanted, 0, &is_equal, &error), "equal");
        expect(is_equal, "a rank's card");
        tutti_object_release(wanted);
        tutti_object_release(all[each]);
    }
    tutti_object_release(mine);
    free(all);
}

static tutti_object* text(const char* words) {
    tutti_object* made = NULL;
    must(tutti_object_create(&made, &error), "create");
    must(tutti_object_add_string(made, words, TUTTI_NUL_TERMINATED, &error), "add_string");
    return made;
}

static tutti_object* numbers(void) {
    tutti_object* made = NULL;
    must(tutti_object_create(&made, &error), "create");
    must(tutti_object_begin_map(made, &error), "begin_map");
    must(tutti_object_add_int64(made, 1, &error), "key");
    must(tutti_object_add_int64(made, -1, &error), "value");
    must(tutti_object_add_int64(made, 2, &error), "key");
    must(tutti_object_add_uint64(made, UINT64_MAX, &error), "value");
    must(tutti_object_end(made, &error), "end");
    return made;
}

static tutti_object* nothing(void) {
    tutti_object* made = NULL;
    must(tutti_object_create(&made, &error), "create");
    must(tutti_object_add_nil(made, &error), "add_nil");
    return made;
}

static void broadcast_list(void) {
    enum { COUNT = 3 };
    tutti_object* wanted[COUNT] = {text("hello"), numbers(), nothing()};
    tutti_object* list[COUNT] = {NULL, NULL, NULL};
    const int sends = rank == 0;
    must(tutti_broadcast_object_list(world, sends ? wanted : NULL, COUNT, 0, NULL, NULL,
                                     sends ? NULL : list, NULL, &error),
         "broadcast_object_list");
    for (int i = 0; i < COUNT; ++i) {
        int32_t is_equal = sends;
        if (!sends) must(tutti_object_equal(list[i], 0, wanted[i], 0, &is_equal, &error), "equal");
        expect(is_equal, "an object of the list");
        tutti_object_release(list[i]);
        tutti_object_release(wanted[i]);
    }
}

static void maximum(void) {
    int64_t most = rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&most, 1, TUTTI_INT64);
    tutti_work* work = NULL;
    must(tutti_all_reduce(world, NULL, &buffer, TUTTI_MAX, NULL, &work, &error), "all_reduce");
    must(tutti_work_wait(work, 0, &error), "wait");
    tutti_work_release(work);
    expect(most == size - 1, "the maximum");
}

static void ring(void) {
    const int before = (rank + size - 1) % size;
    float out[] = {(float)rank, (float)rank + 0.5F, (float)rank + 0.25F};
    float in[3] = {-1, -1, -1};
    const tutti_buffer sent = TUTTI_BUFFER_INIT(out, 3, TUTTI_FLOAT32);
    const tutti_buffer received = TUTTI_BUFFER_INIT(in, 3, TUTTI_FLOAT32);
    tutti_work* works[2] = {NULL, NULL};
    must(tutti_send(world, &sent, (rank + 1) % size, 0, NULL, &works[0], &error), "send");
    must(tutti_recv(world, &received, before, 0, NULL, NULL, &works[1], &error), "recv");
    for (int i = 0; i < 2; ++i) {
        must(tutti_work_wait(works[i], 0, &error), "wait");
        tutti_work_release(works[i]);
    }
    expect(
        in[0] == (float)before && in[1] == (float)before + 0.5F && in[2] == (float)before + 0.25F,
        "the message");
}

/* Makes a world of the same processes in the opposite order. */
static void reconfigure(void) {
    const size_t count = (size_t)size;
    tutti_bytes* mine = NULL;
    tutti_bytes** const all = (tutti_bytes**)calloc(count, sizeof *all);
    char** const handles = (char**)calloc(count, sizeof *handles);
    if (all == NULL || handles == NULL) fail("memory");
    must(tutti_get_reconfigure_handle(&mine, &error), "get_reconfigure_handle");
    must(tutti_all_gather_bytes(world, tutti_bytes_data(mine), tutti_bytes_size(mine), 0, NULL, all,
                                size, NULL, &error),
         "all_gather_bytes");
    for (size_t each = 0; each < count; ++each) {
        const size_t length = tutti_bytes_size(all[each]);
        char* const handle = (char*)calloc(length + 1, 1);
        if (handle == NULL) fail("memory");
        memcpy(handle, tutti_bytes_data(all[each]), length);
        handles[count - 1 - each] = handle;
    }
    must(tutti_group_reconfigure(world, 1, (const char* const*)handles, size, NULL, NULL, NULL,
                                 NULL, &error),
         "group_reconfigure");
    expect(tutti_get_rank(world) == size - 1 - rank, "the rank in the opposite order");
    rank = tutti_get_rank(world);
    for (size_t each = 0; each < count; ++each) {
        tutti_bytes_release(all[each]);
        free(handles[each]);
    }
    tutti_bytes_release(mine);
    free(handles);
    free(all);
}

/* As the launcher says; or, with WORLD_PREFIX in the environment, at that prefix of the store,
 * where ranks of PyTorch's meet. */
static void meet(const char* prefix) {
    tutti_store *whole = NULL, *part = NULL;
    if (prefix == NULL) {
        must(tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error),
             "init_process_group");
        return;
    }
    rank = atoi(getenv("RANK"));
    size = atoi(getenv("WORLD_SIZE"));
    must(tutti_tcp_store_create(getenv("MASTER_ADDR"), atoi(getenv("MASTER_PORT")), size, rank == 0,
                                NULL, &whole, &error),
         "tcp_store_create");
    must(tutti_prefix_store_create(whole, prefix, &part, &error), "prefix_store_create");
    must(tutti_init_process_group_with_store(NULL, part, NULL, rank, size, NULL, &error),
         "init_process_group_with_store");
    tutti_store_release(part);
    tutti_store_release(whole);
}

int main(void) {
    const char* const prefix = getenv("WORLD_PREFIX");
    meet(prefix);
    world = TUTTI_GROUP_WORLD;
    rank = tutti_get_rank(world);
    size = tutti_get_world_size(world);
    sum();
    exchange_cards();
    broadcast_list();
    maximum();
    ring();
    if (prefix == NULL) reconfigure();
    sum();
    must(tutti_barrier(world, NULL, NULL, &error), "barrier");
    printf("c rank %d of %d: ok\n", rank, size);
    must(tutti_destroy_process_group(world, NULL, &error), "destroy_process_group");
    return 0;
}
