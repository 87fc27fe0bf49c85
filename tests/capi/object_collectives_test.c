/* Objects and bytes of any size between ranks that are threads. The first argument is the
 * backend. */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "sized_objects.h"

enum { MOST_RANKS = 5 };

/* Each rank another size, all of them sometime. */
static size_t size_of(int32_t rank, int round) {
    return sizes[(rank + round) % SIZES];
}

/* With or without a work, from which the results are taken. */
static tutti_status finish(rank_context* me, tutti_status status, tutti_work** work,
                           tutti_object** out, int32_t count) {
    if (status != TUTTI_OK || work == NULL) return status;
    status = tutti_work_wait(*work, 0, &me->error);
    if (status == TUTTI_OK) status = tutti_work_take_objects(*work, out, count, &me->error);
    tutti_work_release(*work);
    return status;
}
static tutti_status finish_bytes(rank_context* me, tutti_status status, tutti_work** work,
                                 tutti_bytes** out, int32_t count) {
    if (status != TUTTI_OK || work == NULL) return status;
    status = tutti_work_wait(*work, 0, &me->error);
    if (status == TUTTI_OK) status = tutti_work_take_bytes(*work, out, count, &me->error);
    tutti_work_release(*work);
    return status;
}
#define OUT(work, out) ((work) == NULL ? (out) : NULL)

/* Every size at every rank, twice: at once, and as a work. */
enum { ROUNDS = 2 * SIZES };
/* A test ends with a barrier: its ranks leave the group when all of them are done. */
#define WORK_OF(round) ((round) % 2 == 0 ? NULL : &started)

static void broadcast_lists(rank_context* me) {
    for (int round = 0; round < ROUNDS; ++round) {
        tutti_work* started = NULL;
        tutti_work** const work = WORK_OF(round);
        const int32_t root = round % me->size;
        tutti_object *given[3], *got[3] = {NULL, NULL, NULL};
        for (int32_t i = 0; i < 3; ++i) given[i] = object_of(root + i, size_of(i, round));
        RANK_OK(me, finish(me,
                           tutti_broadcast_object_list(
                               me->group, me->rank == root ? given : NULL, 3, root, NULL, NULL,
                               me->rank == root ? NULL : OUT(work, got), work, &me->error),
                           work, got, me->rank == root ? 0 : 3));
        for (int32_t i = 0; i < 3; ++i) {
            tutti_object_release(given[i]);
            RANK_EXPECT(me, me->rank == root || is_object_of(got[i], root + i, size_of(i, round)));
        }
    }
    RANK_OK(me,
            tutti_broadcast_object_list(me->group, NULL, 0, 0, NULL, NULL, NULL, NULL, &me->error));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void broadcast_reaches_all(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, broadcast_lists);
}

static void all_gather(rank_context* me) {
    for (int round = 0; round < ROUNDS; ++round) {
        tutti_work* started = NULL;
        tutti_work** const work = WORK_OF(round);
        tutti_object *mine = object_of(me->rank, size_of(me->rank, round)), *got[MOST_RANKS];
        RANK_OK(me, finish(me,
                           tutti_all_gather_object(me->group, mine, NULL, NULL, OUT(work, got),
                                                   work == NULL ? me->size : 0, work, &me->error),
                           work, got, me->size));
        tutti_object_release(mine);
        for (int32_t rank = 0; rank < me->size; ++rank) {
            RANK_EXPECT(me, is_object_of(got[rank], rank, size_of(rank, round)));
        }
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void all_gather_gives_all_to_all(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, all_gather);
}

static void gather(rank_context* me) {
    for (int round = 0; round < ROUNDS; ++round) {
        tutti_work* started = NULL;
        tutti_work** const work = WORK_OF(round);
        const int32_t root = round % me->size;
        const int here = me->rank == root;
        tutti_object *mine = object_of(me->rank, size_of(me->rank, round)), *got[MOST_RANKS];
        RANK_OK(me, finish(me,
                           tutti_gather_object(
                               me->group, mine, root, NULL, NULL, here ? OUT(work, got) : NULL,
                               here && work == NULL ? me->size : 0, work, &me->error),
                           work, got, here ? me->size : 0));
        tutti_object_release(mine);
        for (int32_t rank = 0; here && rank < me->size; ++rank) {
            RANK_EXPECT(me, is_object_of(got[rank], rank, size_of(rank, round)));
        }
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void gather_gives_all_to_one(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather);
}

static void scatter(rank_context* me) {
    for (int round = 0; round < ROUNDS; ++round) {
        tutti_work* started = NULL;
        tutti_work** const work = WORK_OF(round);
        const int32_t root = round % me->size;
        const int here = me->rank == root;
        tutti_object *given[MOST_RANKS], *got = NULL;
        for (int32_t rank = 0; rank < me->size; ++rank) {
            given[rank] = object_of(rank, size_of(rank, round));
        }
        RANK_OK(me, finish(me,
                           tutti_scatter_object_list(me->group, here ? given : NULL,
                                                     here ? me->size : 0, root, NULL, NULL,
                                                     OUT(work, &got), work, &me->error),
                           work, &got, 1));
        for (int32_t rank = 0; rank < me->size; ++rank) tutti_object_release(given[rank]);
        RANK_EXPECT(me, is_object_of(got, me->rank, size_of(me->rank, round)));
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void scatter_gives_each_its_own(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, scatter);
}

/* A value that a rank gives itself does not travel, and is a value of its own all the same. */
static void give_borrowed(rank_context* me) {
    enum { SIZE = 5000 };
    unsigned char* memory = bytes_of(me->rank, SIZE);
    tutti_object *mine = NULL, *got[MOST_RANKS], *part = NULL, *given[MOST_RANKS];
    RANK_OK(me, tutti_object_create(&mine, &me->error));
    RANK_OK(me, tutti_object_begin_list(mine, &me->error));
    RANK_OK(me, tutti_object_add_int64(mine, me->rank, &me->error));
    RANK_OK(me, tutti_object_add_bytes(mine, memory, SIZE, TUTTI_OBJECT_BORROW, &me->error));
    RANK_OK(me, tutti_object_end(mine, &me->error));
    RANK_OK(me,
            tutti_all_gather_object(me->group, mine, NULL, NULL, got, me->size, NULL, &me->error));
    for (int32_t rank = 0; rank < me->size; ++rank) given[rank] = mine;
    RANK_OK(me, tutti_scatter_object_list(me->group, me->rank == 0 ? given : NULL,
                                          me->rank == 0 ? me->size : 0, 0, NULL, NULL, &part, NULL,
                                          &me->error));
    tutti_object_release(mine);
    memset(memory, 0x55, SIZE);
    free(memory);
    for (int32_t rank = 0; rank < me->size; ++rank) {
        RANK_EXPECT(me, is_object_of(got[rank], rank, SIZE));
    }
    RANK_EXPECT(me, is_object_of(part, 0, SIZE));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void what_a_rank_gives_itself_outlives_the_memory_it_lay_in(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, give_borrowed);
}

/* Results belong to the work until they are taken, once; a work that is released discards them. */
static void take_results(rank_context* me) {
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    tutti_object *mine = object_of(me->rank, 10), *got[MOST_RANKS] = {NULL};
    tutti_bytes* bytes = NULL;
    tutti_work *work = NULL, *dropped = NULL, *waiting = NULL;
    RANK_STATUS(
        me, tutti_all_gather_object(me->group, mine, NULL, NULL, got, me->size, &work, &me->error),
        bad);
    RANK_SAYS(me, "out_objects must be NULL with a work");
    RANK_STATUS(me,
                tutti_recv_bytes(me->group, me->rank, 0, 0, NULL, &bytes, NULL, &work, &me->error),
                bad);
    RANK_SAYS(me, "out_bytes must be NULL with a work");
    RANK_OK(me,
            tutti_recv_bytes(me->group, me->rank, 0, 0, NULL, NULL, NULL, &waiting, &me->error));
    RANK_STATUS(me, tutti_work_take_bytes(waiting, &bytes, 1, &me->error), TUTTI_ERR_PENDING);
    RANK_OK(me, tutti_all_gather_object(me->group, mine, NULL, NULL, NULL, 0, &work, &me->error));
    RANK_OK(me,
            tutti_all_gather_object(me->group, mine, NULL, NULL, NULL, 0, &dropped, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    RANK_STATUS(me, tutti_work_take_objects(work, got, me->size + 1, &me->error), bad);
    RANK_SAYS(me, "count is ");
    RANK_STATUS(me, tutti_work_take_objects(work, got, -1, &me->error), bad);
    RANK_STATUS(me, tutti_work_take_objects(work, NULL, me->size, &me->error), bad);
    RANK_SAYS(me, "out_objects is NULL");
    RANK_STATUS(me, tutti_work_take_bytes(work, &bytes, me->size, &me->error), bad);
    RANK_SAYS(me, "work is of all_gather_object, which receives no bytes");
    RANK_OK(me, tutti_work_take_objects(work, got, me->size, &me->error));
    RANK_STATUS(me, tutti_work_take_objects(work, got, me->size, &me->error), bad);
    RANK_SAYS(me, "taken before");
    for (int32_t rank = 0; rank < me->size; ++rank) {
        RANK_EXPECT(me, is_object_of(got[rank], rank, 10));
    }
    tutti_work_release(work);
    RANK_OK(me, tutti_work_wait(dropped, 0, &me->error));
    tutti_work_release(dropped);
    tutti_work_release(waiting);
    tutti_object_release(mine);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void results_belong_to_the_work_until_they_are_taken(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, take_results);
}

static void move_bytes(rank_context* me) {
    for (int round = 0; round < ROUNDS; ++round) {
        tutti_work* started = NULL;
        tutti_work** const work = WORK_OF(round);
        const int32_t root = round % me->size;
        const int here = me->rank == root;
        const size_t size = size_of(me->rank, round);
        unsigned char* data[MOST_RANKS];
        size_t data_sizes[MOST_RANKS];
        tutti_bytes *one = NULL, *all[MOST_RANKS];
        for (int32_t rank = 0; rank < me->size; ++rank) {
            data_sizes[rank] = size_of(rank, round);
            data[rank] = bytes_of(rank, data_sizes[rank]);
        }
        RANK_OK(me, finish_bytes(me,
                                 tutti_broadcast_bytes(
                                     me->group, here ? data[root] : NULL, here ? size : 0, root, 0,
                                     NULL, here ? NULL : OUT(work, &one), work, &me->error),
                                 work, &one, here ? 0 : 1));
        RANK_EXPECT(me, here || is_bytes_of(one, root, size_of(root, round)));
        RANK_OK(me, finish_bytes(me,
                                 tutti_all_gather_bytes(me->group, data[me->rank], size, 0, NULL,
                                                        OUT(work, all), work == NULL ? me->size : 0,
                                                        work, &me->error),
                                 work, all, me->size));
        for (int32_t rank = 0; rank < me->size; ++rank) {
            RANK_EXPECT(me, is_bytes_of(all[rank], rank, size_of(rank, round)));
        }
        RANK_OK(me, finish_bytes(
                        me,
                        tutti_gather_bytes(me->group, data[me->rank], size, root, 0, NULL,
                                           here ? OUT(work, all) : NULL,
                                           here && work == NULL ? me->size : 0, work, &me->error),
                        work, all, here ? me->size : 0));
        for (int32_t rank = 0; here && rank < me->size; ++rank) {
            RANK_EXPECT(me, is_bytes_of(all[rank], rank, size_of(rank, round)));
        }
        RANK_OK(me,
                finish_bytes(me,
                             tutti_scatter_bytes(me->group, here ? (const void* const*)data : NULL,
                                                 here ? data_sizes : NULL, here ? me->size : 0,
                                                 root, 0, NULL, OUT(work, &one), work, &me->error),
                             work, &one, 1));
        RANK_EXPECT(me, is_bytes_of(one, me->rank, size));
        for (int32_t rank = 0; rank < me->size; ++rank) free(data[rank]);
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void bytes_move_as_objects_do(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, move_bytes);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(broadcast_reaches_all),
        TEST(all_gather_gives_all_to_all),
        TEST(gather_gives_all_to_one),
        TEST(scatter_gives_each_its_own),
        TEST(what_a_rank_gives_itself_outlives_the_memory_it_lay_in),
        TEST(results_belong_to_the_work_until_they_are_taken),
        TEST(bytes_move_as_objects_do),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
