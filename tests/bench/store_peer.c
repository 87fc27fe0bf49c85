/* Measures tutti's TCP store, as store_peer.py does PyTorch's: takes commands on its standard
 * input, a line each, answers each with a line. This process itself never uses the library: a
 * command is done by children, forked from it and gone when it is answered, but for the server.
 *   serve                           ok PORT; until this process ends
 *   time OPERATION SIZE COUNT PORT  ok MICROSECONDS, the median of one client's calls
 *   rate CLIENTS MS PORT            ok SETS_AND_GETS_PER_SECOND of all together
 *   connect PROCESSES EACH PORT     ok MS until the last is connected
 *   init RANKS PORT                 ok MS until the last rank is in the group, over gloo */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tutti/tutti.h>
#include <unistd.h>

#include "support/timing.h"

enum { KEYS = 16, MOST_EACH = 64 };

static tutti_error error;

static void die(const char* why) {
    fprintf(stderr, "store_peer: %s\n", why);
    _exit(2);
}

static void must(tutti_status status) {
    if (status != TUTTI_OK) die(error.message);
}

static tutti_store* open_client(int port) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    tutti_store* store = NULL;
    options.no_wait_for_workers = 1;
    tutti_error_init(&error, sizeof error);
    must(tutti_tcp_store_create("127.0.0.1", port, -1, 0, &options, &store, &error));
    return store;
}

/* Children that wait for each other: each says when it is ready, all start at once, and none goes
 * before all have answered with a number. */
typedef struct crew {
    int ready[2], gate[2], answer[2], leave[2];
} crew;

static void crew_open(crew* all) {
    if (pipe(all->ready) || pipe(all->gate) || pipe(all->answer) || pipe(all->leave)) die("pipe");
}

static void child_begins(crew* all) {
    close(all->gate[1]);
    close(all->leave[1]);
}

static void child_is_ready(crew* all) {
    char byte = 0;
    if (write(all->ready[1], &byte, 1) != 1 || read(all->gate[0], &byte, 1) != 0) die("the gate");
}

static void child_answers(crew* all, double number) {
    char byte;
    if (write(all->answer[1], &number, sizeof number) != sizeof number) die("the answer");
    if (read(all->leave[0], &byte, 1) != 0) die("the end");
}

/* Opens the gate when `count` children are ready, and takes their answers; the time of opening. */
static double crew_run(crew* all, int count, double* answers) {
    char byte;
    const int of_children[] = {all->ready[1], all->gate[0], all->answer[1], all->leave[0]};
    for (size_t i = 0; i < sizeof of_children / sizeof *of_children; ++i) close(of_children[i]);
    for (int i = 0; i < count; ++i)
        if (read(all->ready[0], &byte, 1) != 1) die("a child");
    const double began = now_s();
    close(all->gate[1]);
    for (int i = 0; i < count; ++i)
        if (read(all->answer[0], &answers[i], sizeof *answers) != sizeof *answers) die("a child");
    close(all->leave[1]);
    for (int i = 0; i < count; ++i) wait(NULL);
    close(all->ready[0]);
    close(all->answer[0]);
    return began;
}

typedef struct subject {
    tutti_store* store;
    const char* operation;
    void* value;
    size_t size;
    const char* keys[KEYS];
    const void* values[KEYS];
    size_t sizes[KEYS];
} subject;

static void release_all(tutti_bytes** values, size_t count) {
    for (size_t i = 0; i < count; ++i) tutti_bytes_release(values[i]);
}

static tutti_status call_once(const subject* of) {
    tutti_store* const store = of->store;
    const char* const key = of->keys[0];
    tutti_bytes* values[KEYS] = {NULL};
    tutti_status status = TUTTI_ERR_INVALID_ARGUMENT;
    int64_t number;
    int32_t answer;
#define IS(name) (strcmp(of->operation, name) == 0)
    if (IS("set")) status = tutti_store_set(store, key, of->value, of->size, &error);
    if (IS("get")) status = tutti_store_get(store, key, NULL, values, &error);
    if (IS("add")) status = tutti_store_add(store, "counter", 1, &number, &error);
    if (IS("check")) status = tutti_store_check(store, of->keys, 1, &answer, &error);
    if (IS("wait")) status = tutti_store_wait(store, of->keys, 1, NULL, &error);
    if (IS("compare_set"))
        status = tutti_store_compare_set(store, key, of->value, of->size, of->value, of->size,
                                         values, &error);
    if (IS("delete_key")) status = tutti_store_delete_key(store, "none", &answer, &error);
    if (IS("num_keys")) status = tutti_store_num_keys(store, &number, &error);
    if (IS("multi_get"))
        status = tutti_store_multi_get(store, of->keys, KEYS, NULL, values, &error);
    if (IS("multi_set"))
        status = tutti_store_multi_set(store, of->keys, of->values, of->sizes, KEYS, &error);
    if (IS("set_get")) {
        status = tutti_store_set(store, key, of->value, of->size, &error);
        if (status == TUTTI_OK) status = tutti_store_get(store, key, NULL, values, &error);
    }
#undef IS
    release_all(values, KEYS);
    return status;
}

static double median_time(subject* of, int count) {
    double* const times = (double*)malloc((size_t)count * sizeof *times);
    if (times == NULL) die("out of memory");
    must(tutti_store_multi_set(of->store, of->keys, of->values, of->sizes, KEYS, &error));
    for (int i = 0; i < count / 10 + 3; ++i) must(call_once(of));
    for (int i = 0; i < count; ++i) {
        const double began = now_s();
        const tutti_status status = call_once(of);
        times[i] = now_s() - began;
        must(status);
    }
    const double middle = median(times, count);
    free(times);
    return middle;
}

static void do_time(const char* operation, int size, int count, int port) {
    static char names[KEYS][8];
    crew all;
    double answer;
    crew_open(&all);
    if (fork() == 0) {
        child_begins(&all);
        subject of = {open_client(port),
                      operation,
                      calloc(1, (size_t)size + 1),
                      (size_t)size,
                      {NULL},
                      {NULL},
                      {0}};
        for (int i = 0; i < KEYS; ++i) {
            snprintf(names[i], sizeof names[i], "k%d", i);
            of.keys[i] = names[i];
            of.values[i] = of.value;
            of.sizes[i] = (size_t)size;
        }
        child_is_ready(&all);
        child_answers(&all, median_time(&of, count));
        tutti_store_release(of.store);
        exit(0);
    }
    crew_run(&all, 1, &answer);
    printf("ok %.3f\n", answer * 1e6);
}

static double sets_and_gets(tutti_store* store, const char* key, double seconds) {
    const double began = now_s();
    double count = 0;
    for (; now_s() - began < seconds; count += 2) {
        tutti_bytes* value = NULL;
        must(tutti_store_set(store, key, "xxxxxxxx", 8, &error));
        must(tutti_store_get(store, key, NULL, &value, &error));
        tutti_bytes_release(value);
    }
    return count / (now_s() - began);
}

static void do_rate(int clients, double seconds, int port) {
    double* const answers = (double*)calloc((size_t)clients, sizeof *answers);
    double sum = 0;
    crew all;
    crew_open(&all);
    for (int i = 0; i < clients; ++i) {
        if (fork() != 0) continue;
        char key[16];
        child_begins(&all);
        tutti_store* store = open_client(port);
        snprintf(key, sizeof key, "rate%d", i);
        must(tutti_store_set(store, key, "xxxxxxxx", 8, &error));
        child_is_ready(&all);
        child_answers(&all, sets_and_gets(store, key, seconds));
        tutti_store_release(store);
        exit(0);
    }
    crew_run(&all, clients, answers);
    for (int i = 0; i < clients; ++i) sum += answers[i];
    free(answers);
    printf("ok %.0f\n", sum);
}

/* Milliseconds from the start to the last of the children's answers, each its time. */
static void say_last(crew* all, int count) {
    double* const answers = (double*)calloc((size_t)count, sizeof *answers);
    double last = 0;
    const double began = crew_run(all, count, answers);
    for (int i = 0; i < count; ++i)
        if (answers[i] > last) last = answers[i];
    free(answers);
    printf("ok %.3f\n", (last - began) * 1e3);
}

static void do_connect(int processes, int each, int port) {
    crew all;
    if (each > MOST_EACH) die("too many connections each");
    crew_open(&all);
    for (int i = 0; i < processes; ++i) {
        if (fork() != 0) continue;
        tutti_store* stores[MOST_EACH];
        child_begins(&all);
        child_is_ready(&all);
        for (int k = 0; k < each; ++k) stores[k] = open_client(port);
        child_answers(&all, now_s());
        for (int k = 0; k < each; ++k) tutti_store_release(stores[k]);
        exit(0);
    }
    say_last(&all, processes);
}

static void do_init(int ranks, int port) {
    crew all;
    crew_open(&all);
    for (int rank = 0; rank < ranks; ++rank) {
        if (fork() != 0) continue;
        char method[64];
        child_begins(&all);
        snprintf(method, sizeof method, "tcp://127.0.0.1:%d", port);
        tutti_error_init(&error, sizeof error);
        child_is_ready(&all);
        must(tutti_init_process_group("gloo", method, NULL, rank, ranks, NULL, &error));
        const double done = now_s();
        must(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
        child_answers(&all, done);
        must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
        exit(0);
    }
    say_last(&all, ranks);
}

static void do_serve(void) {
    int out[2], end[2], port = 0;
    if (pipe(out) || pipe(end)) die("pipe");
    if (fork() == 0) {
        tutti_store* store = NULL;
        int32_t at = 0;
        char byte;
        close(end[1]);
        tutti_error_init(&error, sizeof error);
        must(tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &store, &error));
        must(tutti_tcp_store_port(store, &at, &error));
        if (write(out[1], &at, sizeof at) != sizeof at) die("the port");
        (void)!read(end[0], &byte, 1); /* until the parent is gone */
        tutti_store_release(store);
        exit(0);
    }
    fcntl(end[1], F_SETFD, FD_CLOEXEC);
    if (read(out[0], &port, sizeof port) != sizeof port) die("the server");
    printf("ok %d\n", port);
}

int main(void) {
    char line[256], operation[32];
    int a, b, c;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "serve\n") == 0)
            do_serve();
        else if (sscanf(line, "time %31s %d %d %d", operation, &a, &b, &c) == 4)
            do_time(operation, a, b, c);
        else if (sscanf(line, "rate %d %d %d", &a, &b, &c) == 3)
            do_rate(a, b * 1e-3, c);
        else if (sscanf(line, "connect %d %d %d", &a, &b, &c) == 3)
            do_connect(a, b, c);
        else if (sscanf(line, "init %d %d", &a, &b) == 2)
            do_init(a, b);
        else
            die(line);
        fflush(stdout);
    }
    return 0;
}
