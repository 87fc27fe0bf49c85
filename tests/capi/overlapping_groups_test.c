/* Random groups that share ranks, used and made on several threads at once; ranks are threads, too,
 * over the backend that the argument names.
 *   overlapping_groups_test [BACKEND [SEED]] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "support/draw.h"
#include "support/seed.h"

enum { RANKS = 5, GROUPS = 9, THREADS = 3, ROUNDS = 300, LONGEST = 20000 };

static uint64_t seed;

/* The same numbers on every rank: what happens in a round of a group. */
static uint64_t draw(uint64_t group, uint64_t round, uint64_t what) {
    return draw_at(seed, group, round, what);
}

typedef struct player {
    rank_context* me;
    tutti_group** groups;
    int thread;
    int failed;
    int64_t* data;
    int64_t* other;
    tutti_error error;
} player;

#define PLAY(call)                                                                             \
    do {                                                                                       \
        if ((call) != TUTTI_OK) {                                                              \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, one->error.message); \
            one->failed = 1;                                                                   \
            return;                                                                            \
        }                                                                                      \
    } while (0)
#define HOLDS(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            one->failed = 1;                                                \
            return;                                                         \
        }                                                                   \
    } while (0)

static void reduce(player* one, tutti_group* group, int64_t count) {
    int32_t ranks[RANKS];
    int64_t sum = 0;
    const int32_t size = tutti_get_world_size(group);
    PLAY(tutti_get_process_group_ranks(group, ranks, RANKS, &one->error));
    for (int32_t i = 0; i < size; ++i) sum += ranks[i];
    for (int64_t i = 0; i < count; ++i) one->data[i] = one->me->rank + i;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(one->data, count, TUTTI_INT64);
    PLAY(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &one->error));
    for (int64_t i = 0; i < count; ++i) HOLDS(one->data[i] == sum + i * size);
}

static void copy(player* one, tutti_group* group, int64_t count, int32_t root) {
    for (int64_t i = 0; i < count; ++i) one->data[i] = tutti_get_rank(group) == root ? 3 * i : -1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(one->data, count, TUTTI_INT64);
    PLAY(tutti_broadcast(group, &buffer, root, NULL, NULL, &one->error));
    for (int64_t i = 0; i < count; ++i) HOLDS(one->data[i] == 3 * i);
}

/* To the next rank, from the one before, or from whichever sends. */
static void pass_on(player* one, tutti_group* group, int64_t count, int any) {
    tutti_work* works[2] = {NULL, NULL};
    int32_t source = -1;
    const int32_t rank = tutti_get_rank(group), size = tutti_get_world_size(group);
    const int32_t before = (rank + size - 1) % size;
    if (size == 1) any = 0; /* any other */
    const tutti_buffer out = TUTTI_BUFFER_INIT(one->data, count, TUTTI_INT64);
    const tutti_buffer in = TUTTI_BUFFER_INIT(one->other, count, TUTTI_INT64);
    for (int64_t i = 0; i < count; ++i) one->data[i] = rank * 7 + i;
    PLAY(tutti_recv(group, &in, any ? -1 : before, 4, NULL, NULL, &works[0], &one->error));
    PLAY(tutti_send(group, &out, (rank + 1) % size, 4, NULL, &works[1], &one->error));
    PLAY(tutti_work_wait_all(works, 2, 0, &one->error));
    PLAY(tutti_work_source_rank(works[0], &source, &one->error));
    HOLDS(source == before);
    for (int64_t i = 0; i < count; ++i) HOLDS(one->other[i] == before * 7 + i);
    for (int i = 0; i < 2; ++i) tutti_work_release(works[i]);
}

/* A group of a group, made while other threads make others. */
static void make_and_use(player* one, tutti_group* group, uint64_t bits) {
    int32_t ranks[RANKS];
    size_t count = 0;
    tutti_group* inner = NULL;
    const int32_t size = tutti_get_world_size(group);
    for (int32_t rank = 0; rank < size; ++rank) {
        if (bits >> rank & 1) ranks[count++] = rank;
    }
    if (count == 0) ranks[count++] = 0;
    PLAY(tutti_new_group(group, ranks, count, NULL, NULL, NULL, &inner, &one->error));
    if (inner != TUTTI_GROUP_NON_MEMBER) {
        reduce(one, inner, 100);
        if (bits & 256) PLAY(tutti_destroy_process_group(inner, NULL, &one->error));
    }
    tutti_group_release(inner);
}

static void play_round(player* one, uint64_t index, uint64_t round) {
    tutti_group* group = one->groups[index];
    const int64_t count = (int64_t)(draw(index, round, 1) % LONGEST) >> draw(index, round, 2) % 14;
    const int32_t root = (int32_t)(draw(index, round, 3) % (uint64_t)tutti_get_world_size(group));
    const uint64_t kind = draw(index, round, 4) % 6;
    if (kind == 0) copy(one, group, count, root);
    if (kind == 1 || kind == 2) pass_on(one, group, count, kind == 2);
    if (kind == 3) make_and_use(one, group, draw(index, round, 5));
    if (kind > 3) reduce(one, group, count);
}

static void* play(void* argument) {
    player* one = (player*)argument;
    for (uint64_t round = 0; round < ROUNDS && !one->failed; ++round) {
        for (int index = one->thread; index < GROUPS && !one->failed; index += THREADS) {
            if (one->groups[index] == TUTTI_GROUP_NON_MEMBER) continue;
            play_round(one, (uint64_t)index, round);
        }
    }
    return NULL;
}

static void make_groups(rank_context* me, tutti_group** groups) {
    for (uint64_t index = 0; index < GROUPS; ++index) {
        int32_t ranks[RANKS];
        size_t count = 0;
        const uint64_t bits = draw(index, 0, 77);
        for (int32_t rank = 0; rank < RANKS; ++rank) {
            if (bits >> rank & 1) ranks[count++] = rank;
        }
        if (count == 0) ranks[count++] = (int32_t)(index % RANKS);
        RANK_OK(me, tutti_new_group(me->group, ranks, count, NULL, NULL, NULL, &groups[index],
                                    &me->error));
    }
}

static void live(rank_context* me) {
    tutti_group* groups[GROUPS];
    player players[THREADS];
    pthread_t threads[THREADS];
    make_groups(me, groups);
    if (me->failed) return;
    for (int i = 0; i < THREADS; ++i) {
        player* one = &players[i];
        memset(one, 0, sizeof *one);
        one->me = me;
        one->groups = groups;
        one->thread = i;
        one->data = (int64_t*)calloc(LONGEST, sizeof *one->data);
        one->other = (int64_t*)calloc(LONGEST, sizeof *one->other);
        tutti_error_init(&one->error, sizeof one->error);
        if (pthread_create(&threads[i], NULL, play, one) != 0) abort();
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        me->failed |= players[i].failed;
        free(players[i].data);
        free(players[i].other);
    }
    for (int i = 0; i < GROUPS; ++i) tutti_group_release(groups[i]);
}

static void groups_that_share_ranks_do_not_disturb_each_other(void** state) {
    (void)state;
    RUN(RANKS, live);
}

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    seed = count > 2 ? strtoull(arguments[2], NULL, 10) : test_seed();
    print_message("over %s, seed %llu\n", backend, (unsigned long long)seed);
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(groups_that_share_ranks_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
