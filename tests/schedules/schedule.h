/* Random schedules, the same on every rank: collectives, messages and groups made in between, on
 * several threads of a rank at once, over groups that share ranks. Public headers only; C99.
 * groups.c makes the groups, calls.c the collectives, mail.c the messages, schedules_test.c
 * decides. What goes wrong ends the program, for other ranks would wait for what does not come. */
#ifndef TUTTI_TESTS_SCHEDULE_H
#define TUTTI_TESTS_SCHEDULE_H

#include "conformance/conformance.h"

enum { MOST_GROUPS = 16, MOST_THREADS = 8, MOST_PENDING = 6, MOST_MAIL = 6 };

typedef struct settings {
    const char* backend;
    uint64_t seed;
    uint64_t steps; /* of each thread */
    int32_t ranks;
    int threads;
    int processes; /* else the ranks are threads, too */
} settings;

/* The state that all threads of one rank share. A group is used by the thread whose number is its
 * own, modulo the number of threads. */
typedef struct rank_life {
    const settings* of;
    rank_context* me;
    tutti_group* groups[MOST_GROUPS]; /* or TUTTI_GROUP_NON_MEMBER */
    int group_count;
} rank_life;

/* A collective, from its call to the comparison. */
typedef struct turn {
    const collective* what;
    cell cell;
    rank_context rank; /* in the group of the call */
    attempt attempt;
    int runs;
} turn;

/* Messages of one step of one thread. */
typedef struct letter {
    tutti_work* work; /* NULL: done */
    int64_t* data;
    int32_t from; /* of a receive: who it is from; -1: any */
    int order;    /* its number in the plan of the step */
    int is_receive;
} letter;

typedef struct mail {
    letter letters[2 * MOST_MAIL]; /* a message to oneself is two */
    int count;
    int64_t elements;
    uint64_t thread, step; /* of the plan */
    tutti_group* group;
} mail;

typedef struct player {
    rank_life* life;
    uint64_t thread;
    uint64_t step;
    turn turns[MOST_PENDING];
    mail mails[MOST_PENDING];
    uint64_t next_turn, next_mail;
    tutti_error error;
} player;

/* The same number on every rank. */
uint64_t draw(const settings* of, uint64_t thread, uint64_t step, uint64_t what);
/* A number for this step of this player. */
uint64_t chance(const player* one, uint64_t what, uint64_t below);

/* Says where, and ends the program. */
void fail_schedule(const player* one, const char* file, int line, const char* what,
                   const char* message);
#define PLAY(one, call)                                                          \
    do {                                                                         \
        if ((call) != TUTTI_OK)                                                  \
            fail_schedule(one, __FILE__, __LINE__, #call, (one)->error.message); \
    } while (0)
#define HOLDS(one, condition)                                                     \
    do {                                                                          \
        if (!(condition)) fail_schedule(one, __FILE__, __LINE__, #condition, ""); \
    } while (0)

/* groups.c */
void make_groups(rank_life* life);
void release_groups(rank_life* life);

/* calls.c: a random collective on a group; what an earlier one of the player's still has under way
 * may be finished first. */
void call_something(player* one, tutti_group* group, uint64_t salt, int may_be_async);
void finish_turns(player* one);

/* mail.c: random messages between the ranks of a group. */
void send_something(player* one, tutti_group* group);
void finish_mails(player* one);

#endif
