/* A rank of a job that does a little of everything, for a tool that watches its memory:
 *   everything BACKEND
 * under tuttirun. It does not look at results, which other tests do. Public headers only; C99. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/operations.h"

static tutti_error error = TUTTI_ERROR_INIT;
static int32_t rank, size;

#define CALL(call)                                                                \
    do {                                                                          \
        if ((call) != TUTTI_OK) {                                                 \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, error.message); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

static void collectives(void) {
    static const char* const operations[] = {"broadcast",
                                             "all_reduce",
                                             "all_reduce op=2",
                                             "all_reduce dtype=8",
                                             "reduce root=1",
                                             "reduce_scatter",
                                             "reduce_scatter_tensor",
                                             "all_gather",
                                             "all_gather_into_tensor",
                                             "gather root=1",
                                             "scatter",
                                             "all_to_all",
                                             "all_to_all_single",
                                             "all_to_all_single splits=1",
                                             "coalesced",
                                             "barrier",
                                             "monitored_barrier",
                                             NULL};
    static const char* const counts[] = {"", " count=3001", " count=20000", " count=20000 shared=1",
                                         NULL};
    for (const char* const* count = counts; *count != NULL; ++count) {
        for (const char* const* name = operations; *name != NULL; ++name) {
            char words[64];
            memory lent;
            (void)snprintf(words, sizeof words, "%s%s", *name, *count);
            CALL(operate(words, &lent, NULL, &error));
            give_back(&lent);
        }
    }
}

/* A store of its own that each rank serves, and its clients. */
static void stores(void) {
    tutti_store *served = NULL, *again = NULL;
    tutti_bytes* value = NULL;
    int64_t sum = 0;
    CALL(tutti_tcp_store_create("127.0.0.1", 0, 1, 1, NULL, &served, &error));
    CALL(tutti_store_clone(served, NULL, &again, &error));
    CALL(tutti_store_set(served, "key", "value", 5, &error));
    CALL(tutti_store_add(again, "number", 3, &sum, &error));
    CALL(tutti_store_get(again, "key", NULL, &value, &error));
    tutti_bytes_release(value);
    tutti_store_release(again);
    tutti_store_release(served);
}

/* From every rank to the next one; the last one asks for any. */
static void messages(void) {
    static const int64_t counts[] = {1, 900, 9000, 300000};
    const int32_t next = (rank + 1) % size;
    for (size_t at = 0; at < sizeof counts / sizeof *counts; ++at) {
        char send[64], receive[64];
        memory sent, received;
        tutti_work* work = NULL;
        (void)snprintf(send, sizeof send, "send to=%d tag=%zu count=%lld", next, at,
                       (long long)counts[at]);
        (void)snprintf(receive, sizeof receive, "recv from=-1 tag=%zu count=%lld", at,
                       (long long)counts[at]);
        CALL(operate(send, &sent, &work, &error));
        CALL(operate(receive, &received, NULL, &error));
        check_received(receive, &received);
        CALL(tutti_work_wait(work, 0, &error));
        tutti_work_release(work);
        give_back(&sent);
        give_back(&received);
    }
    tutti_bytes* bytes = NULL;
    tutti_work* work = NULL;
    CALL(tutti_send_bytes(operations_group, "seven", 5, next, 7, NULL, &work, &error));
    CALL(tutti_recv_bytes(operations_group, -1, 7, 100, NULL, &bytes, NULL, NULL, &error));
    CALL(tutti_work_wait(work, 0, &error));
    tutti_work_release(work);
    tutti_bytes_release(bytes);
}

/* A string of that many bytes. */
static tutti_object* string_of(size_t bytes) {
    char* text = (char*)calloc(1, bytes);
    tutti_object* made = NULL;
    if (text == NULL) abort();
    memset(text, 'a' + rank, bytes);
    CALL(tutti_object_create(&made, &error));
    CALL(tutti_object_add_string(made, text, (int64_t)bytes, &error));
    free(text);
    return made;
}

static void objects(void) {
    static const size_t lengths[] = {3, 700, 300000};
    tutti_object** all = (tutti_object**)calloc((size_t)size, sizeof *all);
    if (all == NULL) abort();
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; ++at) {
        tutti_object *own = string_of(lengths[at] + (size_t)rank), *other = NULL;
        tutti_work* work = NULL;
        CALL(tutti_all_gather_object(operations_group, own, NULL, NULL, all, size, NULL, &error));
        for (int32_t from = 0; from < size; ++from) tutti_object_release(all[from]);
        CALL(tutti_broadcast_object_list(operations_group, rank == 0 ? &own : NULL, 1, 0, NULL,
                                         NULL, rank == 0 ? NULL : &other, NULL, &error));
        tutti_object_release(other);
        CALL(tutti_send_object_list(operations_group, &own, 1, (rank + 1) % size, 1, NULL, NULL,
                                    &work, &error));
        CALL(tutti_recv_object_list(operations_group, -1, 1, NULL, NULL, &other, 1, NULL, NULL,
                                    &error));
        CALL(tutti_work_wait(work, 0, &error));
        tutti_work_release(work);
        tutti_object_release(other);
        tutti_object_release(own);
    }
    free(all);
}

static void exact_sums(void) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    float numbers[50] = {1, 2, 3};
    tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, 50, TUTTI_FLOAT32);
    options.reproducible = TUTTI_REPRODUCIBLE;
    CALL(tutti_new_group(operations_group, NULL, 0, NULL, "exact", &options, &group, &error));
    CALL(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
    CALL(tutti_all_reduce_addends(group, &buffer, 1, &buffer, TUTTI_SUM, NULL, NULL, &error));
    CALL(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
}

static void groups(void) {
    static const int32_t first_two[] = {0, 1};
    const int64_t extent = size;
    tutti_group *some = NULL, *own = NULL;
    tutti_mesh* mesh = NULL;
    int32_t* ranks = (int32_t*)calloc((size_t)size, sizeof *ranks);
    int64_t* sizes = (int64_t*)calloc((size_t)size, sizeof *sizes);
    if (ranks == NULL || sizes == NULL) abort();
    CALL(tutti_new_group(operations_group, first_two, 2, NULL, "two", NULL, &some, &error));
    if (rank < 2) CALL(tutti_barrier(some, NULL, NULL, &error));
    for (int32_t at = 0; at < size; ++at) {
        ranks[at] = at;
        sizes[at] = 1;
    }
    CALL(
        tutti_split_group(operations_group, ranks, size, sizes, size, "alone", NULL, &own, &error));
    CALL(tutti_barrier(own, NULL, NULL, &error));
    CALL(
        tutti_init_device_mesh(operations_group, &extent, 1, NULL, TUTTI_CPU, NULL, &mesh, &error));
    tutti_mesh_release(mesh);
    tutti_group_release(own);
    if (rank < 2) CALL(tutti_destroy_process_group(some, NULL, &error));
    if (rank < 2) tutti_group_release(some);
    free(ranks);
    free(sizes);
}

static void reducer(void) {
    static float weights[2000], bias[7];
    const tutti_buffer parameters[] = {TUTTI_BUFFER_INIT(weights, 2000, TUTTI_FLOAT32),
                                       TUTTI_BUFFER_INIT(bias, 7, TUTTI_FLOAT32)};
    static const char* const names[] = {"weights", "bias"};
    tutti_reducer* made = NULL;
    CALL(tutti_reducer_create(operations_group, parameters, names, NULL, 2, NULL, &made, &error));
    for (int pass = 0; pass < 2; ++pass) {
        CALL(tutti_reducer_begin(made, 1, &error));
        for (int64_t at = 0; at < 2; ++at) {
            tutti_buffer gradient;
            CALL(tutti_reducer_gradient(made, at, &gradient, &error));
            memset(gradient.data, 0, (size_t)gradient.count * sizeof(float));
            CALL(tutti_reducer_mark_ready(made, at, NULL, &error));
        }
        CALL(tutti_reducer_finish(made, NULL, &error));
    }
    tutti_reducer_release(made);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    CALL(tutti_init_process_group(argv[1], NULL, NULL, -1, -1, NULL, &error));
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    stores();
    collectives();
    messages();
    objects();
    exact_sums();
    groups();
    reducer();
    CALL(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    printf("rank %d is done\n", rank);
    return 0;
}
