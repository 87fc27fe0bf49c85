/* Ranks as processes: starts them with the environment of a launcher, tells them when to go on,
 * reads what they say, and leaves none behind. Public headers only; C99. One thread.
 * A worker is a program that takes its steps as arguments, prints a line for each, "= ..." when the
 * step is done, "." for progress within it, and goes on after a step "pause" when it reads a line.
 * Whoever waits here fails the test when the limit passes that all ranks share. */
#ifndef TUTTI_TESTS_PROCESSES_H
#define TUTTI_TESTS_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <tutti/tutti.h>

enum { MOST_RANKS = 8, LONGEST_LINE = 1024 };

typedef struct rank_process {
    pid_t pid; /* 0: not started, or ended and reaped */
    int to, from;
    char* said; /* all of it, NUL-terminated */
    size_t length, room, read;
    int wait_status; /* once ended */
} rank_process;

typedef struct team {
    int32_t size;
    tutti_store* store; /* where they meet, served by this process; NULL once it is gone */
    int32_t port;
    rank_process ranks[MOST_RANKS];
    int64_t limit_ms; /* of the monotonic clock */
} team;

/* How a step of a worker ended. */
typedef struct outcome {
    char step[64];
    tutti_status status;
    int32_t rank;
    char message[LONGEST_LINE];
} outcome;

/* The program that team_start runs. */
extern const char* worker_program;

/* For cmocka_unit_test_setup_teardown: *state is a team of no ranks yet, whose store is served. The
 * teardown kills what is left, and fails if something is left that the test should have ended. */
int team_open(void** state);
int team_close(void** state);

#define LIST(...) ((const char* const[]){__VA_ARGS__, NULL})

/* Starts one rank. `variables` ("NAME=value", NULL at the end; NULL: none) come on top of RANK,
 * WORLD_SIZE (team->size) and the store's address. */
void team_start(team* all, int32_t index, int32_t rank, const char* const* variables,
                const char* const* steps);
/* Sets the size and starts every rank with the same. */
void team_start_all(team* all, int32_t size, const char* const* variables,
                    const char* const* steps);

/* Wakes a rank from its step "pause". */
void team_resume(team* all, int32_t index);
/* A short rest before a test looks again for what it waits for; too late, it fails. */
void team_look_again(team* all, const char* failure);
/* Waits for as many lines of progress. */
void team_await_progress(team* all, int32_t index, int count);
/* The next "= " line. */
outcome team_next(team* all, int32_t index);
/* Whichever of the two ends a step first. */
int32_t team_first_to_speak(team* all, int32_t one, int32_t other);
/* SIGSTOP, and returns when the rank has stopped. */
void team_stop(team* all, int32_t index);
/* Waits until a fault point has stopped it. */
void team_await_stop(team* all, int32_t index);
void team_signal(team* all, int32_t index, int signal);
/* Waits until the rank has ended; returns what waitpid says. */
int team_await_end(team* all, int32_t index);
/* Every rank but `except` (-1: none) must end by itself with exit code 0. */
void team_expect_ends(team* all, int32_t except);

/* Fails the test, with what every rank has said. */
void team_fail(team* all, const char* file, int line, const char* what);

/* Waits until a rank listens at so many ports, and returns them. */
void team_await_ports(team* all, int32_t index, int32_t* ports, int count);
/* Waits until so many connections to the store stand. */
void team_await_clients(team* all, int count);

/* Some statuses, or ranks. */
typedef struct among {
    const int32_t* values;
    size_t count;
} among;
#define AMONG(...)                           \
    ((among){(const int32_t[]){__VA_ARGS__}, \
             sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)})

/* Fails unless the next step of the rank is this one, and ended with one of the statuses, blaming
 * one of the ranks. The message must contain all fragments of the LIST. Returns the rank. */
int32_t team_expect(team* all, int32_t index, const char* step, among statuses, among blamed,
                    const char* const* fragments, const char* file, int line);
#define EXPECT_STEP(all, index, step, status, blamed, ...) \
    EXPECT_STEP_AMONG(all, index, step, AMONG(status), AMONG(blamed), __VA_ARGS__)
/* Several are right, for a reason that the caller gives. */
#define EXPECT_STEP_AMONG(all, index, step, statuses, blamed, ...) \
    team_expect(all, index, step, statuses, blamed, LIST(__VA_ARGS__), __FILE__, __LINE__)
#define EXPECT_DONE(all, index, step) \
    team_expect(all, index, step, AMONG(TUTTI_OK), AMONG(-1), NULL, __FILE__, __LINE__)

#endif
