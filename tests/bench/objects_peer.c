/* Measures tutti's object collectives, as objects_peer.py does those of PyTorch and mpi4py: takes
 * commands on the standard input of rank 0, a line each, answers each with a line. The other ranks
 * are forked from it; commands and times go through pipes.
 *     objects_peer WORK BACKEND     WORK: a folder, in which NAME.msgpack are the values
 *   time OPERATION NAME COUNT   ok MICROSECONDS, the median of the calls; of a call, the rank that
 *                               took longest counts
 *   wire OPERATION NAME COUNT   ok BYTES that a call sent, headers included: what the interface lo
 *                               has seen; also checks that what is received is the value */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tutti/tutti.h>
#include <unistd.h>

#include "support/timing.h"

enum { RANKS = 4, MOST_CALLS = 1000, MOST_VALUES = 8 };

typedef struct command {
    char what[16], operation[16], name[32];
    int count;
} command;

typedef struct answer {
    double times[MOST_CALLS];
} answer;

static const char* work_folder;
static int32_t my_rank;
static tutti_error error;

static void die(const char* why) {
    fprintf(stderr, "objects_peer, rank %d: %s\n", my_rank, why);
    _exit(2);
}

static void must(tutti_status status) {
    if (status != TUTTI_OK) die(error.message);
}

static tutti_object* load(const char* name) {
    char path[512];
    tutti_object* value = NULL;
    snprintf(path, sizeof path, "%s/%s.msgpack", work_folder, name);
    FILE* const file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) die(path);
    const size_t size = (size_t)ftell(file);
    char* const bytes = (char*)malloc(size);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) die(path);
    fclose(file);
    must(tutti_object_decode(bytes, size, NULL, &value, &error));
    free(bytes);
    return value;
}

static tutti_object* value_of(const char* name) {
    static char names[MOST_VALUES][32];
    static tutti_object* values[MOST_VALUES];
    int i;
    for (i = 0; i < MOST_VALUES; ++i) {
        if (values[i] == NULL) {
            snprintf(names[i], sizeof names[i], "%s", name);
            values[i] = load(name);
        }
        if (strcmp(names[i], name) == 0) return values[i];
    }
    die("too many values");
    return NULL;
}

/* How many values came in. */
static int collect(const char* operation, tutti_object* value, tutti_object** got) {
    tutti_group* const world = TUTTI_GROUP_WORLD;
    const int at_root = my_rank == 0;
    if (strcmp(operation, "broadcast") == 0) {
        must(tutti_broadcast_object_list(world, at_root ? &value : NULL, 1, 0, NULL, NULL,
                                         at_root ? NULL : got, NULL, &error));
        return at_root ? 0 : 1;
    }
    if (strcmp(operation, "all_gather") == 0) {
        must(tutti_all_gather_object(world, value, NULL, NULL, got, RANKS, NULL, &error));
        return RANKS;
    }
    if (strcmp(operation, "gather") == 0) {
        must(tutti_gather_object(world, value, 0, NULL, NULL, at_root ? got : NULL,
                                 at_root ? RANKS : 0, NULL, &error));
        return at_root ? RANKS : 0;
    }
    if (strcmp(operation, "scatter") == 0) {
        tutti_object* const values[RANKS] = {value, value, value, value};
        must(tutti_scatter_object_list(world, at_root ? values : NULL, at_root ? RANKS : 0, 0, NULL,
                                       NULL, got, NULL, &error));
        return 1;
    }
    die(operation);
    return 0;
}

static void check_once(const char* operation, tutti_object* value) {
    tutti_object* got[RANKS];
    const int count = collect(operation, value, got);
    for (int i = 0; i < count; ++i) {
        int32_t equal = 0;
        must(tutti_object_equal(got[i], 0, value, 0, &equal, &error));
        if (!equal) die("what came is another value");
        tutti_object_release(got[i]);
    }
}

static double time_once(const char* operation, tutti_object* value) {
    tutti_object* got[RANKS];
    must(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
    const double began = now_s();
    const int count = collect(operation, value, got);
    for (int i = 0; i < count; ++i) tutti_object_release(got[i]);
    return now_s() - began;
}

static void run(const command* todo, answer* to) {
    tutti_object* const value = value_of(todo->name);
    for (int i = 0; i < todo->count; ++i) {
        if (strcmp(todo->what, "time") == 0)
            to->times[i] = time_once(todo->operation, value);
        else
            check_once(todo->operation, value);
    }
}

/* Bytes that this network, of local processes alone, has seen. */
static long long sent(void) {
    char line[512];
    long long bytes = -1;
    FILE* const file = fopen("/proc/net/dev", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, " lo: %*d %*d %*d %*d %*d %*d %*d %*d %lld", &bytes) == 1) break;
    }
    if (file == NULL || bytes < 0) die("there is no interface lo");
    fclose(file);
    return bytes;
}

/* The median of the calls; of each, the rank that took longest. */
static double time_of(const answer* answers, int count) {
    static double longest[MOST_CALLS];
    for (int i = 0; i < count; ++i) {
        longest[i] = 0;
        for (int rank = 0; rank < RANKS; ++rank) {
            if (answers[rank].times[i] > longest[i]) longest[i] = answers[rank].times[i];
        }
    }
    return median(longest, count);
}

static void read_all(int from, void* memory, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t got = read(from, (char*)memory + at, size - at);
        if (got <= 0) die("another rank is gone");
        at += (size_t)got;
    }
}

static void lead(const int* commands, const int* answers) {
    static answer all[RANKS];
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        command todo = {{0}, {0}, {0}, 0};
        if (sscanf(line, "%15s %15s %31s %d", todo.what, todo.operation, todo.name, &todo.count) !=
                4 ||
            todo.count < 1 || todo.count > MOST_CALLS) {
            die(line);
        }
        value_of(todo.name);
        const long long before = sent();
        for (int rank = 1; rank < RANKS; ++rank) {
            if (write(commands[rank], &todo, sizeof todo) != sizeof todo) die("a command");
        }
        run(&todo, &all[0]);
        for (int rank = 1; rank < RANKS; ++rank) read_all(answers[rank], &all[rank], sizeof *all);
        if (strcmp(todo.what, "time") == 0)
            printf("ok %.3f\n", time_of(all, todo.count) * 1e6);
        else
            printf("ok %.1f\n", (double)(sent() - before) / todo.count);
        fflush(stdout);
    }
}

static void follow(int commands, int answers) {
    static answer mine;
    command todo;
    while (read(commands, &todo, sizeof todo) == sizeof todo) {
        run(&todo, &mine);
        if (write(answers, &mine, sizeof mine) != sizeof mine) die("the answer");
    }
}

int main(int argc, char** argv) {
    int commands[RANKS] = {-1, -1, -1, -1}, answers[RANKS] = {-1, -1, -1, -1};
    char method[512];
    if (argc != 3) die("usage: objects_peer WORK BACKEND");
    work_folder = argv[1];
    for (int rank = 1; rank < RANKS && my_rank == 0; ++rank) {
        int down[2], up[2];
        if (pipe(down) || pipe(up)) die("pipe");
        if (fork() == 0) {
            for (int other = 1; other < rank; ++other) close(commands[other]);
            my_rank = rank;
        }
        close(down[my_rank == 0 ? 0 : 1]);
        close(up[my_rank == 0 ? 1 : 0]);
        commands[my_rank == 0 ? rank : 0] = down[my_rank == 0 ? 1 : 0];
        answers[my_rank == 0 ? rank : 0] = up[my_rank == 0 ? 0 : 1];
    }
    tutti_error_init(&error, sizeof error);
    snprintf(method, sizeof method, "file://%s/%s.store", work_folder, argv[2]);
    must(tutti_init_process_group(argv[2], method, NULL, my_rank, RANKS, NULL, &error));
    if (my_rank == 0)
        lead(commands, answers);
    else
        follow(commands[0], answers[0]);
    for (int rank = 1; rank < RANKS && my_rank == 0; ++rank) close(commands[rank]);
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    while (my_rank == 0 && wait(NULL) > 0) {
    }
    return 0;
}
