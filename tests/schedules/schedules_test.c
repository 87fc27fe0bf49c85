/* Does all of it work together? schedules_test BACKEND [processes] [seed N] [steps N] [ranks N]
 * [threads N] plays a random schedule: every rank has several threads, and every thread so many
 * steps. The schedule is a function of the seed, which is printed; what happens at the same time is
 * not. Ranks are threads of this process, or processes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schedule.h"
#include "support/draw.h"
#include "support/seed.h"

uint64_t draw(const settings* of, uint64_t thread, uint64_t step, uint64_t what) {
    return draw_at(of->seed, thread, step, what);
}

uint64_t chance(const player* one, uint64_t what, uint64_t below) {
    return draw(one->life->of, one->thread + 1, one->step, what) % below;
}

void fail_schedule(const player* one, const char* file, int line, const char* what,
                   const char* message) {
    fprintf(stderr, "%s:%d: rank %d, thread %d, step %llu of seed %llu: %s: %s\n", file, line,
            (int)one->life->me->rank, (int)one->thread, (unsigned long long)one->step,
            (unsigned long long)one->life->of->seed, what, message);
    abort();
}

/* A group of a group, while other threads make and use others. */
static void make_and_use(player* one, tutti_group* group) {
    int32_t ranks[MOST_RANKS];
    size_t count = 0;
    tutti_group* inner = NULL;
    const uint64_t bits = chance(one, 10, 1u << 20);
    for (int32_t rank = 0; rank < tutti_get_world_size(group); ++rank) {
        if (bits >> rank & 1) ranks[count++] = rank;
    }
    PLAY(one, tutti_new_group(group, count > 0 ? ranks : NULL, count, NULL, NULL, NULL, &inner,
                              &one->error));
    for (uint64_t i = 0; i < 3 && inner != TUTTI_GROUP_NON_MEMBER; ++i) {
        call_something(one, inner, 100 + 20 * i, 0);
    }
    if (bits >> 10 & 1) PLAY(one, tutti_destroy_process_group(inner, NULL, &one->error));
    tutti_group_release(inner);
}

static void* play(void* argument) {
    player* const one = (player*)argument;
    const rank_life* const life = one->life;
    const uint64_t threads = (uint64_t)life->of->threads;
    const uint64_t mine = ((uint64_t)life->group_count - 1 - one->thread) / threads + 1;
    for (one->step = 0; one->step < life->of->steps; ++one->step) {
        tutti_group* const group = life->groups[one->thread + threads * chance(one, 1, mine)];
        const uint64_t kind = chance(one, 2, 100);
        if (group == TUTTI_GROUP_NON_MEMBER) continue;
        if (kind < 70) {
            call_something(one, group, 40, 1);
        } else if (kind < 95) {
            send_something(one, group);
        } else if (kind < 98) {
            finish_turns(one);
            finish_mails(one);
        } else {
            make_and_use(one, group);
        }
    }
    finish_turns(one);
    finish_mails(one);
    return NULL;
}

static void live(rank_context* me) {
    rank_life life;
    pthread_t threads[MOST_THREADS];
    player* const players = (player*)calloc(MOST_THREADS, sizeof *players);
    if (players == NULL) abort();
    life.of = (const settings*)me->user;
    life.me = me;
    make_groups(&life);
    for (int i = 0; i < life.of->threads; ++i) {
        players[i].life = &life;
        players[i].thread = (uint64_t)i;
        tutti_error_init(&players[i].error, sizeof players[i].error);
        if (pthread_create(&threads[i], NULL, play, &players[i]) != 0) abort();
    }
    for (int i = 0; i < life.of->threads; ++i) pthread_join(threads[i], NULL);
    release_groups(&life);
    free(players);
}

static tutti_status live_alone(int32_t local_rank, void* user, tutti_error* error) {
    rank_context me;
    tutti_status status =
        tutti_init_process_group(((settings*)user)->backend, NULL, NULL, -1, -1, NULL, error);
    if (status != TUTTI_OK) return status;
    memset(&me, 0, sizeof me);
    tutti_error_init(&me.error, sizeof me.error);
    me.group = TUTTI_GROUP_WORLD;
    me.rank = local_rank;
    me.size = ((settings*)user)->ranks;
    me.user = user;
    live(&me);
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, error);
}

static settings read_arguments(int argc, char** argv) {
    settings chosen = {NULL, test_seed(), 400, 4, 3, 0};
    for (int i = 1; i < argc; ++i) {
        const uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;
        if (strcmp(argv[i], "processes") == 0) {
            chosen.processes = 1;
        } else if (strcmp(argv[i], "seed") == 0) {
            chosen.seed = value, ++i;
        } else if (strcmp(argv[i], "steps") == 0) {
            chosen.steps = value, ++i;
        } else if (strcmp(argv[i], "ranks") == 0) {
            chosen.ranks = (int32_t)value, ++i;
        } else if (strcmp(argv[i], "threads") == 0) {
            chosen.threads = (int)value, ++i;
        } else {
            chosen.backend = argv[i];
        }
    }
    if (chosen.backend == NULL || chosen.ranks < 1 || chosen.ranks > MOST_RANKS ||
        chosen.threads < 1 || chosen.threads > MOST_THREADS || chosen.steps >= 1u << 24) {
        fprintf(stderr,
                "schedules_test BACKEND [processes] [seed N] [steps N] [ranks 1..%d] "
                "[threads 1..%d]\n",
                MOST_RANKS, MOST_THREADS);
        exit(2);
    }
    return chosen;
}

int main(int argc, char** argv) {
    settings chosen = read_arguments(argc, argv);
    printf("%llu steps on %d threads of %d ranks over %s, %s, seed %llu\n",
           (unsigned long long)chosen.steps, chosen.threads, (int)chosen.ranks, chosen.backend,
           chosen.processes ? "processes" : "threads", (unsigned long long)chosen.seed);
    (void)fflush(stdout);
    /* A halted machine must not look like a stopped rank, unless the environment says so. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 0);
    if (!chosen.processes) return run_ranks(chosen.backend, chosen.ranks, live, &chosen) != 0;
    tutti_error error = TUTTI_ERROR_INIT;
    if (tutti_spawn(live_alone, &chosen, chosen.ranks, NULL, NULL, &error) == TUTTI_OK) return 0;
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
