/* A job that does not go on, in one of several ways: hang WAY SEED. Ranks do some calls that are
 * right, and then one of them, by the seed, does what the way says; the others go on as if all were
 * well. Public headers only; C99. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
#include <unistd.h>

static int rank, size, culprit, calls;
static tutti_error error = TUTTI_ERROR_INIT;

static void must(tutti_status status) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(error.status), error.message);
    exit(1);
}

static uint32_t draw(uint32_t* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static tutti_status add(tutti_group* group, int64_t count, tutti_dtype dtype, tutti_reduce_op op) {
    static double data[64];
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, dtype);
    return tutti_all_reduce(group, NULL, &buffer, op, NULL, NULL, &error);
}

static tutti_status send_from(int root) {
    float data[4] = {0};
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    return tutti_broadcast(TUTTI_GROUP_WORLD, &buffer, root, NULL, NULL, &error);
}

static void wait_for_ever(void) {
    for (;;) pause();
}

static void some_right_calls(void) {
    for (int i = 0; i < calls; ++i) {
        if (i % 3 == 2) {
            must(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
        } else {
            must(add(TUTTI_GROUP_WORLD, 10, TUTTI_FLOAT32, TUTTI_SUM));
        }
    }
}

/* The calls that this rank makes now, as the way has it. */
static void go_wrong(const char* way) {
    const int is_it = rank == culprit;
    if (strcmp(way, "missing") == 0) {
        if (is_it) wait_for_ever();
    } else if (strcmp(way, "spin") == 0) {
        volatile uint64_t turns = 0;
        while (is_it) ++turns;
    } else if (strcmp(way, "size") == 0) {
        must(add(TUTTI_GROUP_WORLD, is_it ? 11 : 10, TUTTI_FLOAT32, TUTTI_SUM));
    } else if (strcmp(way, "dtype") == 0) {
        must(add(TUTTI_GROUP_WORLD, 10, is_it ? TUTTI_INT32 : TUTTI_FLOAT32, TUTTI_SUM));
    } else if (strcmp(way, "op") == 0) {
        must(add(TUTTI_GROUP_WORLD, 10, TUTTI_FLOAT32, is_it ? TUTTI_MAX : TUTTI_SUM));
    } else if (strcmp(way, "root") == 0) {
        must(send_from(is_it ? rank : (culprit + 1) % size));
    } else if (strcmp(way, "killed") == 0) {
        if (is_it) raise(SIGKILL);
    } else if (strcmp(way, "stopped") == 0) {
        if (is_it) raise(SIGSTOP);
    } else if (strcmp(way, "exits") == 0) {
        if (is_it) _exit(3);
    } else if (strcmp(way, "memory") == 0) {
        if (is_it) abort(); /* as a program does that gets no memory */
    } else if (strcmp(way, "message") == 0) {
        float data[4] = {0};
        tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
        if (rank == (culprit + 1) % size) {
            must(tutti_recv(TUTTI_GROUP_WORLD, &buffer, culprit, 7, NULL, NULL, NULL, &error));
        }
    } else if (strcmp(way, "crossed") == 0) {
        /* Two groups of the same ranks: one rank calls on them in the other order. */
        tutti_group *one = NULL, *two = NULL;
        must(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, "one", NULL, &one, &error));
        must(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, "two", NULL, &two, &error));
        must(add(is_it ? two : one, 10, TUTTI_FLOAT32, TUTTI_SUM));
        must(add(is_it ? one : two, 10, TUTTI_FLOAT32, TUTTI_SUM));
    } else {
        fprintf(stderr, "there is no way %s\n", way);
        exit(2);
    }
}

int main(int count, char** arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: hang WAY SEED\n");
        return 2;
    }
    must(tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error));
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    uint32_t state = (uint32_t)strtoul(arguments[2], NULL, 10);
    draw(&state);
    culprit = (int)(draw(&state) % (uint32_t)size);
    calls = (int)(draw(&state) % 40);
    if (rank == 0) {
        printf("culprit %d calls %d\n", culprit, calls);
        fflush(stdout);
    }
    some_right_calls();
    go_wrong(arguments[1]);
    must(add(TUTTI_GROUP_WORLD, 10, TUTTI_FLOAT32, TUTTI_SUM));
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    return 0;
}
