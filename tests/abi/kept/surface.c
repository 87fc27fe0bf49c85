/* Every struct that a program makes, in calls that use it: the interface as a release had it. Its
 * binaries are kept beside it and run with every later library, so this file is not changed; a
 * release that brings something gets a new one. For two ranks or more, under tuttirun; each prints
 * "rank R of N: every struct is understood". */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

static tutti_error error = TUTTI_ERROR_INIT;

#define CALL(call)                                                                \
    do {                                                                          \
        if ((call) != TUTTI_OK) {                                                 \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, error.message); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)
#define EXPECT(fact)                                               \
    do {                                                           \
        if (!(fact)) {                                             \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #fact); \
            exit(1);                                               \
        }                                                          \
    } while (0)

static int rank, size, calls_done;
static sem_t was_called; /* a thread of the library calls on_done, maybe after the work is done */

static void on_done(void* user) {
    ++*(int*)user;
    sem_post(&was_called);
}

static tutti_status larger_last(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                void* user, tutti_error* failure) {
    (void)user, (void)failure;
    if (dtype != TUTTI_INT32) return TUTTI_ERR_UNSUPPORTED;
    for (int64_t at = 0; at < count; ++at) {
        const int32_t other = ((const int32_t*)in)[at];
        int32_t* const own = (int32_t*)inout + at;
        if (other % 10 > *own % 10) *own = other;
    }
    return TUTTI_OK;
}

static void errors(void) {
    tutti_group* group = NULL;
    EXPECT(tutti_group_create("no such backend", NULL, NULL, 0, 1, NULL, &group, &error) !=
           TUTTI_OK);
    EXPECT(error.status != TUTTI_OK && error.message[0] != 0 && error.rank == -1 && group == NULL);
    EXPECT(strlen(error.message) < sizeof error.message);
}

static void stores(void) {
    tutti_store_call_options call = TUTTI_STORE_CALL_OPTIONS_INIT;
    tutti_store_options options = TUTTI_STORE_OPTIONS_INIT;
    tutti_tcp_store_options of_server = TUTTI_TCP_STORE_OPTIONS_INIT;
    tutti_store *served = NULL, *again = NULL;
    tutti_bytes* value = NULL;
    int32_t port = 0;
    call.timeout_ms = options.timeout_ms = of_server.timeout_ms = 20000;
    CALL(tutti_tcp_store_create("127.0.0.1", 0, 1, 1, &of_server, &served, &error));
    CALL(tutti_tcp_store_port(served, &port, &error));
    EXPECT(port > 0);
    CALL(tutti_store_clone(served, &options, &again, &error));
    CALL(tutti_store_set(served, "key", "value", 5, &error));
    CALL(tutti_store_get(again, "key", &call, &value, &error));
    EXPECT(tutti_bytes_size(value) == 5 && memcmp(tutti_bytes_data(value), "value", 5) == 0);
    tutti_bytes_release(value);
    tutti_store_release(again);
    tutti_store_release(served);
}

static void collectives(void) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_call_options call = TUTTI_CALL_OPTIONS_INIT;
    tutti_coalescing_options together = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_reduce_op_options of_op = TUTTI_REDUCE_OP_OPTIONS_INIT;
    tutti_group *group = NULL, *collected = NULL;
    tutti_work* work = NULL;
    tutti_reduce_op op;
    int32_t number = 10 + rank;
    double sums[2] = {1, rank};
    const tutti_buffer of_number = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT32);
    const tutti_buffer first = TUTTI_BUFFER_INIT(&sums[0], 1, TUTTI_FLOAT64);
    const tutti_buffer second = TUTTI_BUFFER_INIT(&sums[1], 1, TUTTI_FLOAT64);
    options.timeout_ms = 30000;
    options.reproducible = TUTTI_REPRODUCIBLE;
    CALL(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, "kept", &options, &group, &error));
    EXPECT(tutti_group_is_reproducible(group) == 1 && tutti_get_rank(group) == rank);

    of_op.non_commutative = 1;
    CALL(tutti_reduce_op_create_user("larger_last", larger_last, NULL, NULL, &of_op, &op, &error));
    call.timeout_ms = 20000;
    call.on_done = on_done;
    call.on_done_user = &calls_done;
    CALL(tutti_all_reduce(group, NULL, &of_number, op, &call, &work, &error));
    CALL(tutti_work_wait(work, 0, &error));
    EXPECT(number == 10 + size - 1);
    tutti_work_release(work);
    tutti_reduce_op_release(op);

    together.device_type = TUTTI_CPU;
    CALL(tutti_coalescing_begin(group, &together, &collected, &error));
    CALL(tutti_all_reduce(collected, NULL, &first, TUTTI_SUM, NULL, NULL, &error));
    CALL(tutti_all_reduce(collected, NULL, &second, TUTTI_SUM, NULL, NULL, &error));
    CALL(tutti_coalescing_end(collected, NULL, NULL, &error));
    EXPECT(sums[0] == size && sums[1] == size * (size - 1) / 2);
    tutti_group_release(group);
}

static void messages(void) {
    float sent = (float)rank, received = -1;
    const int32_t next = (rank + 1) % size, previous = (rank + size - 1) % size;
    const tutti_p2p_op ops[2] = {
        TUTTI_P2P_OP_INIT(TUTTI_ISEND, &sent, 1, TUTTI_FLOAT32, next, 7),
        TUTTI_P2P_OP_INIT(TUTTI_IRECV, &received, 1, TUTTI_FLOAT32, previous, 7)};
    CALL(tutti_batch_isend_irecv(TUTTI_GROUP_WORLD, ops, 2, NULL, NULL, &error));
    EXPECT(received == (float)previous);
}

static void objects(void) {
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_object_item items[2];
    tutti_object *own = NULL, **all = calloc((size_t)size, sizeof *all);
    EXPECT(all != NULL);
    memset(items, 0, sizeof items);
    items[0].kind = TUTTI_OBJECT_INT64;
    items[0].integer = rank;
    items[1].kind = TUTTI_OBJECT_STRING;
    items[1].data = "kept";
    items[1].size = 4;
    CALL(tutti_object_create(&own, &error));
    CALL(tutti_object_begin_list(own, &error));
    CALL(tutti_object_add_items(own, items, 2, 0, &error));
    CALL(tutti_object_end(own, &error));
    options.max_depth = 8;
    CALL(tutti_all_gather_object(TUTTI_GROUP_WORLD, own, &options, NULL, all, size, NULL, &error));
    for (int index = 0; index < size; ++index) {
        tutti_object_item read[3];
        int64_t count = 0;
        CALL(tutti_object_read(all[index], 0, read, 3, &count, &error));
        EXPECT(count == 3 && read[1].integer == index && strcmp(read[2].data, "kept") == 0);
        tutti_object_release(all[index]);
    }
    tutti_object_release(own);
    free(all);
}

static void memory_and_buckets(void) {
    tutti_memory_options of_memory = TUTTI_MEMORY_OPTIONS_INIT;
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    tutti_reducer* reducer = NULL;
    tutti_buffer gradient;
    void* place = NULL;
    of_memory.timeout_ms = 20000;
    CALL(tutti_memory_alloc(TUTTI_GROUP_WORLD, 3 * sizeof(float), &of_memory, &place, &error));
    memset(place, 0, 3 * sizeof(float));
    const tutti_buffer parameter = TUTTI_BUFFER_INIT(place, 3, TUTTI_FLOAT32);
    options.sum = 1;
    options.timeout_ms = 20000;
    CALL(tutti_reducer_create(TUTTI_GROUP_WORLD, &parameter, NULL, NULL, 1, &options, &reducer,
                              &error));
    CALL(tutti_reducer_gradient(reducer, 0, &gradient, &error));
    EXPECT(gradient.count == 3 && gradient.dtype == TUTTI_FLOAT32);
    for (int at = 0; at < 3; ++at) ((float*)gradient.data)[at] = (float)(at + rank);
    CALL(tutti_reducer_begin(reducer, 1, &error));
    CALL(tutti_reducer_mark_ready(reducer, 0, NULL, &error));
    CALL(tutti_reducer_next_bucket(reducer, &bucket, &error));
    EXPECT(bucket.index == 0 && bucket.parameter_count == 1 && bucket.counts[0] == 3);
    CALL(tutti_reducer_finish(reducer, NULL, &error));
    EXPECT(((const float*)gradient.data)[2] == (float)(2 * size + size * (size - 1) / 2));
    tutti_reducer_release(reducer);
    tutti_memory_release(place);
}

int main(void) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_destroy_options at_end = TUTTI_DESTROY_OPTIONS_INIT;
    options.timeout_ms = 60000;
    EXPECT(sem_init(&was_called, 0, 0) == 0);
    CALL(tutti_init_process_group(NULL, NULL, NULL, -1, -1, &options, &error));
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    errors();
    stores();
    collectives();
    messages();
    objects();
    memory_and_buckets();
    sem_wait(&was_called);
    EXPECT(calls_done == 1);
    printf("rank %d of %d: every struct is understood\n", rank, size);
    CALL(tutti_destroy_process_group(TUTTI_GROUP_WORLD, &at_end, &error));
    return 0;
}
