/* A program that has MPI and tutti's backend "mpi", under mpirun: one case for each word of its
 * first argument. Public headers only; C99. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
#include <unistd.h>

static const char* backend = "mpi";
static int rank, size;
static tutti_error error = TUTTI_ERROR_INIT;

#define EXPECT(condition)                                                                         \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: rank %d: %s; the last error: %s\n", __FILE__, __LINE__, rank, \
                    #condition, error.message);                                                   \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)
#define OK(call) EXPECT((call) == TUTTI_OK)
#define SAYS(text) EXPECT(strstr(error.message, text) != NULL)

static tutti_status gather(const void* input, void* output, size_t bytes, void* user,
                           tutti_error* out) {
    (void)user;
    (void)out;
    const int code =
        MPI_Allgather(input, (int)bytes, MPI_BYTE, output, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_NETWORK;
}

static void begin_mpi(int level) {
    int provided;
    MPI_Init_thread(NULL, NULL, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static tutti_status meet(tutti_group** group) {
    return tutti_group_create_with_allgather(backend, gather, NULL, NULL, rank, size, NULL, group,
                                             &error);
}

static void leave(tutti_group* group) {
    OK(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
}

static void expect_sum(tutti_group* group, int ranks) {
    double value = tutti_get_rank(group) + 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
    EXPECT(value == ranks * (ranks + 1) / 2.0);
}

static void expect_mpi_works(void) {
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == size);
}

/* Works in the background, between MPI's own calls on the same ranks. */
static void works_in_background(tutti_group* group) {
    enum { WORKS = 8, COUNT = 1000 };
    static float values[WORKS][COUNT];
    tutti_work* works[WORKS];
    for (int i = 0; i < WORKS; ++i) {
        for (int k = 0; k < COUNT; ++k) values[i][k] = (float)(rank + i + k);
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(values[i], COUNT, TUTTI_FLOAT32);
        const tutti_reduce_op op = i % 2 ? TUTTI_SUM : TUTTI_MAX; /* natively, and by the host */
        OK(tutti_all_reduce(group, NULL, &buffer, op, NULL, &works[i], &error));
    }
    for (int i = WORKS - 1; i >= 0; --i) {
        OK(tutti_work_wait(works[i], 0, &error));
        tutti_work_release(works[i]);
        for (int k = 0; k < COUNT; ++k) {
            const int last = size - 1 + i + k;
            const float sum = (float)(size * (i + k) + size * (size - 1) / 2);
            EXPECT(values[i][k] == (i % 2 ? sum : (float)last));
        }
    }
}

static void in_turn(int level) {
    tutti_group *group, *half;
    int32_t members[64], count = 0;
    begin_mpi(level);
    OK(meet(&group));
    for (int i = 0; i < 20; ++i) {
        expect_mpi_works();
        expect_sum(group, size);
    }
    works_in_background(group);
    expect_mpi_works();
    for (int32_t other = rank % 2; other < size; other += 2) members[count++] = other;
    for (int parity = 0; parity < 2; ++parity) {
        tutti_group* mine;
        count = 0;
        for (int32_t other = parity; other < size; other += 2) members[count++] = other;
        if (count == 0) continue;
        OK(tutti_new_group(group, members, count, NULL, NULL, NULL, &mine, &error));
        if (mine == TUTTI_GROUP_NON_MEMBER) continue;
        half = mine;
        expect_sum(half, count);
        leave(half);
    }
    expect_sum(group, size);
    leave(group);
    expect_mpi_works();
    MPI_Finalize();
}

static void case_in_turn(void) {
    in_turn(MPI_THREAD_SERIALIZED);
}
static void case_in_turn_with_all_threads(void) {
    in_turn(MPI_THREAD_MULTIPLE);
}
/* The main thread waits, so it alone calls MPI. */
static void case_in_turn_with_one_thread(void) {
    in_turn(MPI_THREAD_SINGLE);
}

/* MPI is the module's to initialise, and to finalise at the end of the program. */
static void case_alone(void) {
    int is_there = 1;
    MPI_Initialized(&is_there);
    EXPECT(!is_there);
    OK(tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error));
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    MPI_Initialized(&is_there);
    EXPECT(is_there);
    expect_sum(TUTTI_GROUP_WORLD, size);
    expect_mpi_works();
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    expect_mpi_works();
    MPI_Finalized(&is_there);
    EXPECT(!is_there);
}

static void* call_elsewhere(void* group) {
    double value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
    const tutti_status status =
        tutti_all_reduce((tutti_group*)group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error);
    EXPECT(status == TUTTI_ERR_UNSUPPORTED);
    SAYS("the program has initialised MPI for one thread");
    EXPECT(value == 1);
    return NULL;
}

/* Makes the call on another thread, once all ranks have a sum. NULL: this rank makes none. */
static void from_another_thread(tutti_group* group, void* (*call)(void*)) {
    pthread_t thread;
    expect_sum(group, size);
    /* Else a rank's refusal, which ends the group, may come before another rank has its sum. */
    OK(tutti_monitored_barrier(group, 0, NULL, &error));
    if (call == NULL) return;
    EXPECT(pthread_create(&thread, NULL, call, group) == 0);
    pthread_join(thread, NULL);
}

static void case_another_thread_is_refused(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_FUNNELED);
    OK(meet(&group));
    from_another_thread(group, call_elsewhere);
    tutti_group_release(group);
    expect_mpi_works();
    MPI_Finalize();
}

/* Rank 0 calls what nobody else does: its time is up, and its memory is its own again. */
static void case_time_is_up(void) {
    enum { COUNT = 100000 };
    tutti_group* group;
    begin_mpi(MPI_THREAD_SERIALIZED);
    OK(meet(&group));
    expect_sum(group, size);
    if (rank == 0) {
        tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
        float* const values = (float*)malloc(COUNT * sizeof *values);
        EXPECT(values != NULL);
        for (int i = 0; i < COUNT; ++i) values[i] = 7;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, COUNT, TUTTI_FLOAT32);
        options.timeout_ms = 50;
        EXPECT(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, &options, NULL, &error) ==
               TUTTI_ERR_TIMEOUT);
        for (int i = 0; i < COUNT; ++i) EXPECT(values[i] == 7);
        free(values);
    } else {
        double value = 0;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
        EXPECT(tutti_recv(group, &buffer, 0, 1, NULL, NULL, NULL, &error) != TUTTI_OK);
        SAYS("rank 0 gave up: all_reduce #2");
        EXPECT(error.rank == 0);
    }
    tutti_group_release(group);
    expect_mpi_works();
    OK(meet(&group));
    expect_sum(group, size);
    leave(group);
    expect_mpi_works();
    MPI_Finalize();
}

static void case_a_rank_leaves(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_SERIALIZED);
    OK(meet(&group));
    if (rank == 1) {
        /* Its message is there, although no rank receives it until it has gone. */
        int64_t value = 11;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
        if (size > 2) OK(tutti_send(group, &buffer, 2, 3, NULL, NULL, &error));
        leave(group);
    } else {
        tutti_status status;
        int64_t value = 0;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
        if (rank == 2) {
            OK(tutti_recv(group, &buffer, 1, 3, NULL, NULL, NULL, &error));
            EXPECT(value == 11);
        }
        status = tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error);
        EXPECT(status == TUTTI_ERR_PEER_LOST);
        EXPECT(error.rank == 1);
        tutti_group_release(group);
    }
    expect_mpi_works();
    MPI_Finalize();
}

/* While the others call, or before. */
static void case_a_rank_dies(void) {
    enum { COUNT = 300000 };
    static float values[COUNT];
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, COUNT, TUTTI_FLOAT32);
    OK(tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error));
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    OK(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
    /* Rank 1 dies when the others' first call has ended, too; perhaps before it tells them that it
     * has their word. */
    const tutti_buffer word = TUTTI_BUFFER_INIT(values, 1, TUTTI_FLOAT32);
    if (rank != 1) {
        (void)tutti_send(TUTTI_GROUP_WORLD, &word, 1, 0, NULL, NULL, &error);
    } else {
        OK(tutti_recv(TUTTI_GROUP_WORLD, &word, 0, 0, NULL, NULL, NULL, &error));
        OK(tutti_recv(TUTTI_GROUP_WORLD, &word, 2, 0, NULL, NULL, NULL, &error));
        _exit(0);
    }
    EXPECT(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error) ==
           TUTTI_ERR_PEER_LOST);
    EXPECT(error.rank == 1);
    SAYS("rank 1 died");
    printf("rank %d knows\n", rank);
}

static void messages(int level) {
    tutti_group* group;
    enum { COUNT = 50000 };
    static int32_t values[2][COUNT];
    begin_mpi(level);
    OK(meet(&group));
    tutti_buffer first = TUTTI_BUFFER_INIT(values[0], COUNT, TUTTI_INT32);
    tutti_buffer second = TUTTI_BUFFER_INIT(values[1], 3, TUTTI_INT32);
    if (rank == 1) {
        for (int i = 0; i < COUNT; ++i) values[0][i] = i;
        values[1][0] = -1;
        tutti_work* works[2];
        OK(tutti_send(group, &first, 0, 5, NULL, &works[0], &error));
        OK(tutti_send(group, &second, 0, 5, NULL, &works[1], &error));
        for (int i = 0; i < 2; ++i) {
            OK(tutti_work_wait(works[i], 0, &error));
            tutti_work_release(works[i]);
        }
        OK(tutti_send(group, &second, 0, 6, NULL, NULL, &error));
        second.dtype = TUTTI_FLOAT32;
        OK(tutti_send(group, &second, 0, 7, NULL, NULL, &error));
        second.count = 2;
        OK(tutti_send(group, &second, 0, 8, NULL, NULL, &error));
        EXPECT(tutti_send(group, &second, 0, INT32_MAX, NULL, NULL, &error) ==
               TUTTI_ERR_UNSUPPORTED);
        SAYS("tag is 2147483647");
    } else if (rank == 0) {
        int32_t source = -1;
        tutti_call_options brief = TUTTI_CALL_OPTIONS_INIT;
        brief.timeout_ms = 20;
        OK(tutti_recv(group, &first, 1, 5, NULL, NULL, NULL, &error));
        for (int i = 0; i < COUNT; ++i) EXPECT(values[0][i] == i);
        OK(tutti_recv(group, &second, -1, 5, NULL, &source, NULL, &error));
        EXPECT(values[1][0] == -1 && source == 1);
        EXPECT(tutti_recv(group, &second, 1, 9, &brief, NULL, NULL, &error) == TUTTI_ERR_TIMEOUT);
        OK(tutti_recv(group, &second, 1, 6, NULL, NULL, NULL, &error));
        values[1][0] = 77;
        EXPECT(tutti_recv(group, &second, 1, 7, NULL, NULL, NULL, &error) == TUTTI_ERR_MISMATCH);
        EXPECT(tutti_recv(group, &second, 1, 8, NULL, NULL, NULL, &error) == TUTTI_ERR_MISMATCH);
        EXPECT(error.rank == 1 && values[1][0] == 77);
    }
    OK(tutti_barrier(group, NULL, NULL, &error));
    leave(group);
    MPI_Finalize();
}

static void case_messages(void) {
    messages(MPI_THREAD_SERIALIZED);
}
static void case_messages_with_all_threads(void) {
    messages(MPI_THREAD_MULTIPLE);
}

/* Rank 1 comes to a collective only when rank 0, which waits there, has answered a message on
 * another thread. */
static void* answer(void* with) {
    tutti_group* const group = (tutti_group*)with;
    int32_t value = 0;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    OK(tutti_recv(group, &buffer, 1, 4, NULL, NULL, NULL, &error));
    value += 1;
    OK(tutti_send(group, &buffer, 1, 4, NULL, NULL, &error));
    return NULL;
}

static void case_beside_messages(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_MULTIPLE);
    OK(meet(&group));
    for (int32_t i = 0; i < 20; ++i) {
        pthread_t thread;
        int32_t value = i;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
        if (rank == 0) EXPECT(pthread_create(&thread, NULL, answer, group) == 0);
        if (rank == 1) {
            OK(tutti_send(group, &buffer, 0, 4, NULL, NULL, &error));
            OK(tutti_recv(group, &buffer, 0, 4, NULL, NULL, NULL, &error));
            EXPECT(value == i + 1);
        }
        expect_sum(group, size);
        if (rank == 0) pthread_join(thread, NULL);
    }
    works_in_background(group);
    leave(group);
    MPI_Finalize();
}

/* The others know that a rank has left when they call a collective that it does not. */
static void case_a_rank_leaves_before(void) {
    tutti_group* group;
    double value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
    begin_mpi(MPI_THREAD_MULTIPLE);
    OK(meet(&group));
    expect_sum(group, size);
    if (rank == 1) {
        leave(group);
    } else {
        EXPECT(tutti_recv(group, &buffer, 1, 3, NULL, NULL, NULL, &error) == TUTTI_ERR_PEER_LOST);
        EXPECT(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error) ==
               TUTTI_ERR_PEER_LOST);
        EXPECT(error.rank == 1);
        SAYS("rank 1 has left the group");
        EXPECT(value == 1);
        tutti_group_release(group);
    }
    expect_mpi_works();
    MPI_Finalize();
}

static void case_too_few_threads(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_SERIALIZED);
    EXPECT(meet(&group) == TUTTI_ERR_UNSUPPORTED);
    SAYS("calls=blocking needs MPI_THREAD_MULTIPLE");
    expect_mpi_works();
    MPI_Finalize();
}

/* All ranks split the group, each at another place among its works. */
static void case_splits(void) {
    enum { WORKS = 6 };
    tutti_group *group, *part, *single;
    static double values[WORKS];
    tutti_work* works[WORKS];
    const int32_t ranks[] = {0, 2, 1}, last[] = {2};
    const int64_t sizes[] = {2, 1}, one = 1;
    begin_mpi(MPI_THREAD_SERIALIZED);
    OK(meet(&group));
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < WORKS; ++i) {
            const tutti_buffer buffer = TUTTI_BUFFER_INIT(&values[i], 1, TUTTI_FLOAT64);
            values[i] = rank + i;
            if (i == 2 * rank) {
                OK(tutti_split_group(group, ranks, 3, sizes, 2, NULL, NULL, &part, &error));
                OK(tutti_split_group(group, last, 1, &one, 1, NULL, NULL, &single, &error));
            }
            OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, &works[i], &error));
        }
        EXPECT((single == TUTTI_GROUP_NON_MEMBER) == (rank != 2));
        EXPECT(tutti_get_rank(part) == (rank == 2));
        expect_sum(part, rank == 1 ? 1 : 2);
        for (int i = 0; i < WORKS; ++i) {
            OK(tutti_work_wait(works[i], 0, &error));
            tutti_work_release(works[i]);
            EXPECT(values[i] == 3 + 3 * i);
        }
        if (single != TUTTI_GROUP_NON_MEMBER) leave(single);
        leave(part);
        expect_sum(group, 3);
    }
    leave(group);
    MPI_Finalize();
}

static void split_in_pairs(tutti_group* group) {
    const int32_t ranks[] = {0, 1, 2};
    const int64_t sizes[] = {2, 1};
    tutti_group* part = NULL;
    EXPECT(tutti_split_group(group, ranks, 3, sizes, 2, NULL, NULL, &part, &error) ==
           TUTTI_ERR_BACKEND);
    EXPECT(part == NULL);
}

static void* split_elsewhere(void* group) {
    error = (tutti_error)TUTTI_ERROR_INIT;
    split_in_pairs((tutti_group*)group);
    SAYS("has initialised MPI for one thread");
    return NULL;
}

/* One rank calls from a thread that MPI does not let call. */
static void case_a_split_is_refused(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_FUNNELED);
    OK(meet(&group));
    from_another_thread(group, rank == 0 ? split_elsewhere : NULL);
    if (rank != 0) {
        split_in_pairs(group);
        EXPECT(error.rank == 0);
    }
    tutti_group_release(group);
    expect_mpi_works();
    MPI_Finalize();
}

static void case_after_the_end(void) {
    tutti_group* group;
    begin_mpi(MPI_THREAD_SERIALIZED);
    OK(meet(&group));
    leave(group);
    MPI_Finalize();
    tutti_store* store;
    OK(tutti_hash_store_create(&store, &error));
    EXPECT(tutti_group_create(backend, store, NULL, 0, 1, NULL, &group, &error) ==
           TUTTI_ERR_UNSUPPORTED);
    SAYS("MPI_Finalize has been called");
    tutti_store_release(store);
}

/* A receive of the program's that takes whatever comes on MPI_COMM_WORLD. */
typedef struct {
    MPI_Request request;
    int32_t values[1000];
} open_receive;

static void begin_open_receive(open_receive* one) {
    memset(one->values, -1, sizeof one->values);
    MPI_Irecv(one->values, 1000, MPI_INT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
              &one->request);
}

/* Gets the program's message, and nothing before that. */
static void end_open_receive(open_receive* one) {
    const int32_t value = 100 + rank;
    const int from = (rank + size - 1) % size;
    int has_come = 1, count = 0;
    MPI_Status status;
    MPI_Test(&one->request, &has_come, &status);
    EXPECT(!has_come);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT32_T, (rank + 1) % size, 28277, MPI_COMM_WORLD);
    MPI_Wait(&one->request, &status);
    MPI_Get_count(&status, MPI_INT32_T, &count);
    EXPECT(count == 1 && one->values[0] == 100 + from && one->values[1] == -1);
    EXPECT(status.MPI_SOURCE == from && status.MPI_TAG == 28277);
}

/* The members alone make the group; or NULL. */
static tutti_group* make_part(tutti_group* group, int32_t first, int32_t count) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    const int32_t members[] = {first + 1, first};
    tutti_group* part = NULL;
    options.use_local_synchronization = 1;
    if (rank < first || rank >= first + count) return NULL;
    OK(tutti_new_group(group, count == 1 ? &members[1] : members, count, NULL, NULL, &options,
                       &part, &error));
    return part;
}

static void use_groups(tutti_group* group) {
    const int32_t ranks[] = {2, 0, 1};
    const int64_t sizes[] = {1, 2};
    tutti_group *all, *part;
    expect_sum(group, size);
    OK(tutti_new_group(group, NULL, 0, NULL, NULL, NULL, &all, &error));
    expect_sum(all, size);
    OK(tutti_split_group(all, ranks, 3, sizes, 2, NULL, NULL, &part, &error));
    expect_sum(part, rank == 2 ? 1 : 2);
    leave(part);
    for (int32_t first = 0; first < size; ++first) {
        part = make_part(group, first, first + 1 < size ? 2 : 1);
        if (part == NULL) continue;
        expect_sum(part, tutti_get_world_size(part));
        leave(part);
    }
    for (int sends = 0; sends < 2; ++sends) {
        int64_t value = rank;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
        if (sends == rank % 2) {
            if (rank + 1 < size) OK(tutti_send(all, &buffer, rank + 1, 3, NULL, NULL, &error));
        } else if (rank > 0) {
            int32_t source = -1;
            OK(tutti_recv(all, &buffer, -1, 3, NULL, &source, NULL, &error));
            EXPECT(source == rank - 1 && value == source);
        }
    }
    leave(all);
}

static void beside_an_open_receive(int level) {
    open_receive receive;
    tutti_group* group;
    begin_mpi(level);
    begin_open_receive(&receive);
    OK(meet(&group));
    use_groups(group);
    works_in_background(group);
    end_open_receive(&receive);
    leave(group);
    expect_mpi_works();
    MPI_Finalize();
}

static void case_open_receive(void) {
    beside_an_open_receive(MPI_THREAD_SERIALIZED);
}
static void case_open_receive_with_all_threads(void) {
    beside_an_open_receive(MPI_THREAD_MULTIPLE);
}
static void case_open_receive_with_one_thread(void) {
    beside_an_open_receive(MPI_THREAD_SINGLE);
}

/* The module has initialised MPI, and the program uses it as well. */
static void case_open_receive_later(void) {
    open_receive receive;
    OK(tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error));
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    begin_open_receive(&receive);
    use_groups(TUTTI_GROUP_WORLD);
    end_open_receive(&receive);
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
}

static tutti_status gather_part(const void* input, void* output, size_t bytes, void* part,
                                tutti_error* out) {
    (void)out;
    MPI_Allgather(input, (int)bytes, MPI_BYTE, output, (int)bytes, MPI_BYTE, *(MPI_Comm*)part);
    return TUTTI_OK;
}

/* Ranks 0 and 1 make a group, and there was none of all before. Open MPI gives the messages of
 * MPI_Comm_create_group to the program's receive: then the time is up, and without threads MPI
 * takes no further call. */
static void open_receive_in_a_part(int level) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    open_receive receive;
    tutti_group* group = NULL;
    MPI_Comm part;
    begin_mpi(level);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &part);
    begin_open_receive(&receive);
#ifdef OPEN_MPI
    options.timeout_ms = 2000;
#endif
    tutti_status status = TUTTI_OK;
    if (rank < 2) {
        status = tutti_group_create_with_allgather(backend, gather_part, &part, NULL, rank, 2,
                                                   &options, &group, &error);
    }
#ifdef OPEN_MPI
    EXPECT(status == TUTTI_OK || status == TUTTI_ERR_TIMEOUT);
#else
    EXPECT(status == TUTTI_OK);
#endif
    if (group != NULL) {
        expect_sum(group, 2);
        leave(group);
    } else if (rank < 2 && level < MPI_THREAD_MULTIPLE) {
        tutti_store* store;
        OK(tutti_hash_store_create(&store, &error));
        EXPECT(tutti_group_create(backend, store, NULL, 0, 1, NULL, &group, &error) ==
               TUTTI_ERR_BACKEND);
        SAYS("MPI is still making the communicator");
        tutti_store_release(store);
    }
    printf("rank %d goes on\n", rank);
    fflush(stdout);
    _exit(0);
}

static void case_open_receive_in_a_part(void) {
    open_receive_in_a_part(MPI_THREAD_SERIALIZED);
}
static void case_open_receive_in_a_part_with_all_threads(void) {
    open_receive_in_a_part(MPI_THREAD_MULTIPLE);
}

/* The last rank has begun MPI, and makes no group: the others are told in time. */
static void case_a_rank_never_comes(void) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    begin_mpi(MPI_THREAD_SERIALIZED);
    options.timeout_ms = 300;
    if (rank != size - 1) {
        EXPECT(tutti_init_process_group(backend, NULL, NULL, -1, -1, &options, &error) ==
               TUTTI_ERR_TIMEOUT);
        if (rank == 0) SAYS("2, which ha"); /* alone, or with one that was slow */
    }
    expect_mpi_works();
    OK(tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error));
    expect_sum(TUTTI_GROUP_WORLD, size);
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    MPI_Finalize();
}

/* Run without a launcher: a rank is a process of MPI's job. */
static void case_without_mpirun(void) {
    tutti_store* store;
    tutti_group* group;
    OK(tutti_hash_store_create(&store, &error));
    OK(tutti_group_create(backend, store, NULL, 0, 1, NULL, &group, &error));
    expect_sum(group, 1);
    leave(group);
    EXPECT(tutti_group_create("mpi?memory=indirect", store, NULL, 0, 1, NULL, &group, &error) ==
           TUTTI_ERR_INVALID_ARGUMENT);
    SAYS("mpi has no setting \"memory=indirect\"");
    tutti_store_release(store);
}

static const struct {
    const char* name;
    void (*run)(void);
} cases[] = {
    {"in_turn", case_in_turn},
    {"in_turn_with_all_threads", case_in_turn_with_all_threads},
    {"in_turn_with_one_thread", case_in_turn_with_one_thread},
    {"alone", case_alone},
    {"another_thread_is_refused", case_another_thread_is_refused},
    {"time_is_up", case_time_is_up},
    {"a_rank_leaves", case_a_rank_leaves},
    {"a_rank_dies", case_a_rank_dies},
    {"a_rank_leaves_before", case_a_rank_leaves_before},
    {"messages", case_messages},
    {"messages_with_all_threads", case_messages_with_all_threads},
    {"beside_messages", case_beside_messages},
    {"too_few_threads", case_too_few_threads},
    {"splits", case_splits},
    {"a_split_is_refused", case_a_split_is_refused},
    {"after_the_end", case_after_the_end},
    {"open_receive", case_open_receive},
    {"open_receive_with_all_threads", case_open_receive_with_all_threads},
    {"open_receive_with_one_thread", case_open_receive_with_one_thread},
    {"open_receive_later", case_open_receive_later},
    {"open_receive_in_a_part", case_open_receive_in_a_part},
    {"open_receive_in_a_part_with_all_threads", case_open_receive_in_a_part_with_all_threads},
    {"a_rank_never_comes", case_a_rank_never_comes},
    {"without_mpirun", case_without_mpirun},
};

int main(int argc, char** argv) {
    if (argc > 2) backend = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "mpi_test CASE [BACKEND]\n");
    return 2;
}
