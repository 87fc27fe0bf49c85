/* One rank of the fault tests: takes its steps as arguments, does them in order, and prints how
 * each ended: "= step status rank message". A failed call is a result, not an end: the steps go on
 * and the exit code is 0. Steps, with what they read as name=number:
 *   init        the default group, env://; prefix=: at a prefix of the store instead; timeout=
 *   call X      X is an operation, as operations.h has them; what was received is checked
 *   loop X      calls X until it fails, "." for every call that did not
 *   start X     starts X as a work, to be ended by one of
 *   wait, wait_any, wait_all
 *   queue       starts works= all_reduces of several sizes, then waits for each in turn: "." for
 *               one that is well, and after die= of them the process dies; a step "start" or
 *               "wait" for one that is not
 *   train       passes of a reducer until one fails, "." for each bucket; after die= of them the
 *               process dies
 *   survive     goes on after deaths until one rank is left: survival.h
 *   failed      the message of this step is "of" and the failed ranks of the group, once there are
 *               count= of them
 *   destroy     the default group
 *   groups      makes, uses and destroys count= groups, then compares descriptors and threads
 *   group       makes a group of the default group's ranks from= to to=, which the calls that
 *               follow are for, if this rank is in it; timeout=; other=1: of another backend;
 *               split=1: splits the default group into halves instead;  world: back to the default
 *   subgroups   makes, uses and destroys count= groups of the default group, then compares
 *               descriptors, threads, memory and keys of the store
 *   shrink      ends the calls of the default group and goes on in what is left of it
 *   serve       serves a store; the rank it prints is the port
 *   store       connects to the store;  fetch: waits there for a key that nobody sets
 *   limit       spare=: as many more descriptors; mebibytes=: as much more address space;
 *               kibibytes=: files no larger
 *   pause       until a line comes in
 *   heir        makes a child that has all connections as well, by means that tutti does not hear
 *               of, and keeps them until nothing comes in any more
 *   exit        without destroying anything
 *   vanish      _exit, as after a crash that nobody catches */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "operations.h"
#include "survival.h"
#include "training.h"

enum { MOST_WORKS = 64 };

static struct {
    tutti_work* works[MOST_WORKS];
    memory borrowed[MOST_WORKS];
    size_t count;
} pending;

static tutti_store* meeting;
static pid_t own_process;

static void say(const char* step, tutti_status status, const tutti_error* error) {
    const int length = (int)strcspn(step, " ");
    printf("= %.*s %d %d %s\n", length, step, (int)status,
           status == TUTTI_OK ? -1 : (int)error->rank, status == TUTTI_OK ? "" : error->message);
    fflush(stdout);
}

/* The step succeeds; its message is "of" and the ranks. */
static void tell_failed_ranks(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    int32_t ranks[MOST_WORKS];
    int64_t count = 0;
    const int64_t wanted = number_in(step, "count", 0);
    tutti_status status =
        tutti_get_failed_ranks(operations_group, ranks, MOST_WORKS, &count, &error);
    for (; status == TUTTI_OK && count < wanted; poll(NULL, 0, 1))
        status = tutti_get_failed_ranks(operations_group, ranks, MOST_WORKS, &count, &error);
    if (status != TUTTI_OK) return say("failed", status, &error);
    printf("= failed 0 -1 of");
    for (int64_t index = 0; index < count; ++index) printf(" %d", (int)ranks[index]);
    printf("\n");
    fflush(stdout);
}

static void call(const char* operation) {
    tutti_error error = TUTTI_ERROR_INIT;
    memory lent;
    const tutti_status status = operate(operation, &lent, NULL, &error);
    if (status == TUTTI_OK) check_received(operation, &lent);
    give_back(&lent);
    say(operation, status, &error);
}

static void loop(const char* operation) {
    tutti_error error = TUTTI_ERROR_INIT;
    for (;;) {
        memory lent;
        const tutti_status status = operate(operation, &lent, NULL, &error);
        give_back(&lent);
        if (status != TUTTI_OK) return say(operation, status, &error);
        puts(".");
        fflush(stdout);
    }
}

static void start(const char* operation) {
    tutti_error error = TUTTI_ERROR_INIT;
    if (pending.count == MOST_WORKS) exit(2);
    memory* lent = &pending.borrowed[pending.count];
    const tutti_status status = operate(operation, lent, &pending.works[pending.count], &error);
    if (status == TUTTI_OK) {
        ++pending.count;
    } else {
        give_back(lent);
    }
    say("start", status, &error);
}

/* It must be done then. */
static tutti_status end_work(size_t index, tutti_error* error) {
    int32_t completed = 0;
    const tutti_status status = tutti_work_wait(pending.works[index], 0, error);
    tutti_work_is_completed(pending.works[index], &completed, NULL);
    if (!completed) exit(4);
    tutti_work_release(pending.works[index]);
    give_back(&pending.borrowed[index]);
    return status;
}

/* Each work with a line of its own. */
static void wait_for_works(void) {
    for (size_t index = 0; index < pending.count; ++index) {
        tutti_error error = TUTTI_ERROR_INIT;
        const tutti_status status = end_work(index, &error);
        say("wait", status, &error);
    }
    pending.count = 0;
}

static void queue(const char* step) {
    static const int counts[] = {64, 3000, 200000, 1, 40000, 500000};
    const int64_t works = number_in(step, "works", 1);
    const size_t last = (size_t)number_in(step, "die", 0);
    tutti_error error = TUTTI_ERROR_INIT;
    for (int64_t index = 0; index < works && pending.count < MOST_WORKS; ++index) {
        memory* lent = &pending.borrowed[pending.count];
        char call[64];
        snprintf(call, sizeof call, "all_reduce count=%d",
                 counts[(size_t)index % (sizeof counts / sizeof *counts)]);
        const tutti_status status = operate(call, lent, &pending.works[pending.count], &error);
        if (status == TUTTI_OK) {
            ++pending.count;
        } else {
            give_back(lent);
            say("start", status, &error);
        }
    }
    for (size_t index = 0; index < pending.count; ++index) {
        const tutti_status status = end_work(index, &error);
        if (status != TUTTI_OK) {
            say("wait", status, &error);
            continue;
        }
        puts(".");
        fflush(stdout);
        if (index + 1 == last) kill(getpid(), SIGKILL);
    }
    pending.count = 0;
    say(step, TUTTI_OK, &error);
}

static void wait_any(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    int64_t first = 0;
    tutti_status status =
        tutti_work_wait_any(pending.works, (int64_t)pending.count, 0, &first, &error);
    if (status == TUTTI_OK) status = tutti_work_error(pending.works[first], &error);
    say("wait_any", status, &error);
}

static void wait_all(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    say("wait_all", tutti_work_wait_all(pending.works, (int64_t)pending.count, 0, &error), &error);
}

static const char* variable(const char* name) {
    const char* value = getenv(name);
    if (value == NULL) exit(2);
    return value;
}

static const char* backend(void) {
    const char* name = getenv("TUTTI_FAULTS_BACKEND");
    if (name == NULL) return "gloo";
    return *name == '\0' ? NULL : name; /* empty: whichever is best */
}

static tutti_status connect_store(tutti_error* error) {
    if (meeting != NULL) return TUTTI_OK;
    return tutti_tcp_store_create(variable("MASTER_ADDR"), atoi(variable("MASTER_PORT")), -1, 0,
                                  NULL, &meeting, error);
}

/* A store at which no group has been made yet. */
static tutti_status make_prefix(int64_t prefix, tutti_store** store, tutti_error* error) {
    char name[32];
    snprintf(name, sizeof name, "again/%" PRId64, prefix);
    const tutti_status status = connect_store(error);
    return status != TUTTI_OK ? status : tutti_prefix_store_create(meeting, name, store, error);
}

static void init(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = number_in(step, "timeout", 0);
    const int64_t prefix = number_in(step, "prefix", -1);
    tutti_status status;
    if (prefix < 0) {
        status = tutti_init_process_group(backend(), "env://", NULL, -1, -1, &options, &error);
    } else {
        tutti_store* store = NULL;
        status = make_prefix(prefix, &store, &error);
        if (status == TUTTI_OK) {
            status =
                tutti_init_process_group_with_store(backend(), store, NULL, atoi(variable("RANK")),
                                                    atoi(variable("WORLD_SIZE")), &options, &error);
        }
        tutti_store_release(store);
    }
    say(step, status, &error);
}

static void destroy(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    say("destroy", tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), &error);
}

static void lower(int resource, rlim_t value) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) exit(2);
    limit.rlim_cur = value;
    if (setrlimit(resource, &limit) != 0) exit(2);
}

/* Address space that is in use. */
static rlim_t used_bytes(void) {
    unsigned long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) exit(2);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit(const char* step) {
    const int64_t spare = number_in(step, "spare", -1);
    const int64_t mebibytes = number_in(step, "mebibytes", -1);
    const int64_t kibibytes = number_in(step, "kibibytes", -1);
    const int lowest = dup(0);
    close(lowest);
    if (spare >= 0) lower(RLIMIT_NOFILE, (rlim_t)(lowest + spare));
    if (mebibytes >= 0) lower(RLIMIT_AS, used_bytes() + (rlim_t)mebibytes * 1024 * 1024);
    if (kibibytes >= 0) lower(RLIMIT_FSIZE, (rlim_t)kibibytes * 1024);
    say("limit", TUTTI_OK, NULL);
}

static int entries_of(const char* path) {
    int count = 0;
    DIR* folder = opendir(path);
    if (folder == NULL) return -1;
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count;
}

static tutti_status use_group(int64_t prefix, tutti_error* error) {
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_work* work = NULL;
    float value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT32);
    tutti_status status = make_prefix(prefix, &store, error);
    tutti_store_release(meeting); /* and its connections */
    meeting = NULL;
    if (status == TUTTI_OK) {
        status = tutti_group_create(backend(), store, NULL, atoi(variable("RANK")),
                                    atoi(variable("WORLD_SIZE")), NULL, &group, error);
    }
    if (status == TUTTI_OK) {
        status = tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, &work, error);
    }
    if (status == TUTTI_OK) status = tutti_work_wait(work, 0, error);
    if (status == TUTTI_OK) status = tutti_destroy_process_group(group, NULL, error);
    tutti_work_release(work);
    tutti_group_release(group);
    tutti_store_release(store);
    return status;
}

/* Descriptors and threads. If a thread ends meanwhile, the system may list too few: the most of
 * several looks counts. */
static int open_descriptors(void) {
    int most = 0;
    for (int look = 0; look < 20; ++look) {
        const int count = entries_of("/proc/self/fd") + entries_of("/proc/self/task");
        if (count > most) most = count;
    }
    return most;
}

/* The first group leaves behind what a process makes once. The last objects of a group go in the
 * background, so what is too much now may be gone at the next look. */
static void use_groups(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    const int64_t count = number_in(step, "count", 1);
    tutti_status status = use_group(0, &error);
    const int before = open_descriptors();
    for (int64_t prefix = 1; prefix <= count && status == TUTTI_OK; ++prefix) {
        status = use_group(prefix, &error);
    }
    int after = open_descriptors();
    for (int look = 0; look < 2000 && after > before; ++look) {
        poll(NULL, 0, 5);
        after = open_descriptors();
    }
    if (status == TUTTI_OK && after > before) {
        status = TUTTI_ERR_INTERNAL;
        snprintf(error.message, sizeof error.message, "%d descriptors and threads, then %d", before,
                 after);
    }
    say(step, status, &error);
}

static tutti_status make_subgroup(int32_t from, int32_t to, const char* its_backend,
                                  int64_t timeout_ms, tutti_group** group, tutti_error* error) {
    int32_t ranks[64];
    int64_t count = 0;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    for (int32_t rank = from; rank <= to; ++rank) ranks[count++] = rank;
    return tutti_new_group(TUTTI_GROUP_WORLD, ranks, count, its_backend, "some", &options, group,
                           error);
}

static tutti_status split_in_halves(int32_t size, tutti_group** group, tutti_error* error) {
    int32_t ranks[64];
    for (int32_t rank = 0; rank < size; ++rank) ranks[rank] = rank;
    const int64_t sizes[2] = {size / 2, size - size / 2};
    return tutti_split_group(TUTTI_GROUP_WORLD, ranks, size, sizes, 2, "half", NULL, group, error);
}

static const char* other_backend(void) {
    const char* const own = backend();
    return own != NULL && strcmp(own, "shm") == 0 ? "gloo" : "shm";
}

static void make_group(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group* group = NULL;
    const int32_t last = tutti_get_world_size(TUTTI_GROUP_WORLD) - 1;
    const char* const its_backend = number_in(step, "other", 0) != 0 ? other_backend() : NULL;
    const tutti_status status =
        number_in(step, "split", 0) != 0
            ? split_in_halves(last + 1, &group, &error)
            : make_subgroup((int32_t)number_in(step, "from", 0),
                            (int32_t)number_in(step, "to", last), its_backend,
                            number_in(step, "timeout", 0), &group, &error);
    if (status == TUTTI_OK && group != TUTTI_GROUP_NON_MEMBER) operations_group = group;
    say(step, status, &error);
}

/* One of all ranks, one of all but the last, by turns. */
static tutti_status use_subgroup(int64_t number, tutti_error* error) {
    int64_t value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const int32_t last = tutti_get_world_size(TUTTI_GROUP_WORLD) - 1 - (int32_t)(number % 2);
    tutti_group* group = NULL;
    tutti_status status = make_subgroup(0, last, NULL, 0, &group, error);
    if (status != TUTTI_OK || group == TUTTI_GROUP_NON_MEMBER) return status;
    status = tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, error);
    const int32_t rank = tutti_get_rank(group);
    const int32_t to = rank ^ 1;
    if (status == TUTTI_OK && to <= last) {
        status = rank < to ? tutti_send(group, &buffer, to, 0, NULL, NULL, error)
                           : tutti_recv(group, &buffer, to, 0, NULL, NULL, NULL, error);
    }
    if (status == TUTTI_OK && value != last + 1) exit(3);
    if (status == TUTTI_OK) status = tutti_destroy_process_group(group, NULL, error);
    tutti_group_release(group);
    return status;
}

/* The memory that malloc has given out, all its arenas; not what the sanitizers give. */
static size_t memory_in_use(void) {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static void use_subgroups(const char* step) {
    enum { WARM_UP = 50, SLACK = 128 * 1024 };
    tutti_error error = TUTTI_ERROR_INIT;
    const int64_t count = number_in(step, "count", 1);
    int64_t keys[2] = {0, 0};
    int things[2] = {0, 0};
    size_t bytes[2] = {0, 0};
    tutti_status status = connect_store(&error);
    for (int64_t number = 0; number < count && status == TUTTI_OK; ++number) {
        if (number == WARM_UP) {
            status = tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error);
            if (status == TUTTI_OK) status = tutti_store_num_keys(meeting, &keys[0], &error);
            things[0] = open_descriptors();
            bytes[0] = memory_in_use();
            if (status == TUTTI_OK) status = tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error);
        }
        if (status == TUTTI_OK) status = use_subgroup(number, &error);
    }
    if (status == TUTTI_OK) status = tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error);
    if (status == TUTTI_OK) status = tutti_store_num_keys(meeting, &keys[1], &error);
    for (int look = 0; look < 2000; ++look, poll(NULL, 0, 5)) {
        things[1] = open_descriptors();
        bytes[1] = memory_in_use();
        if (things[1] <= things[0] && bytes[1] <= bytes[0] + SLACK) break;
    }
    if (status == TUTTI_OK &&
        (things[1] > things[0] || bytes[1] > bytes[0] + SLACK || keys[1] > keys[0])) {
        status = TUTTI_ERR_INTERNAL;
        snprintf(error.message, sizeof error.message,
                 "%d descriptors and threads, then %d; %zu bytes, then %zu; %" PRId64
                 " keys, then %" PRId64,
                 things[0], things[1], bytes[0], bytes[1], keys[0], keys[1]);
    }
    if (status == TUTTI_OK) {
        fprintf(stderr, "worker: %zu bytes, then %zu\n", bytes[0], bytes[1]);
    }
    say(step, status, &error);
}

static void shrink(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    const tutti_status status = tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_ABORT,
                                                   NULL, NULL, NULL, &error);
    say(step, status, &error);
}

static void use_store(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_bytes* bytes = NULL;
    tutti_status status = connect_store(&error);
    if (status == TUTTI_OK && begins(step, "fetch")) {
        status = tutti_store_get(meeting, "never set", NULL, &bytes, &error);
    }
    tutti_bytes_release(bytes);
    say(step, status, &error);
}

static void serve(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_status status = tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &meeting, &error);
    int32_t port = -1;
    if (status == TUTTI_OK) status = tutti_tcp_store_port(meeting, &port, &error);
    printf("= %s %d %d\n", step, (int)status, (int)port);
    fflush(stdout);
}

static void leave_an_heir(const char* step) {
    tutti_error error = TUTTI_ERROR_INIT;
    const long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) { /* system calls only: other threads may have held locks */
        char byte;
        syscall(SYS_close, STDOUT_FILENO);
        while (syscall(SYS_ppoll, NULL, 0, &(struct timespec){0, 1000000}, NULL, 0) == 0 &&
               syscall(SYS_getppid) == own_process) {
        }
        while (syscall(SYS_read, STDIN_FILENO, &byte, 1) > 0) {
        }
        syscall(SYS_exit_group, 0);
    }
    say(step, child > 0 ? TUTTI_OK : TUTTI_ERR_INTERNAL, &error);
}

static void do_step(const char* step) {
    const char* rest = strchr(step, ' ');
    rest = rest == NULL ? "" : rest + 1;
    if (begins(step, "init")) return init(step);
    if (begins(step, "call")) return call(rest);
    if (begins(step, "loop")) return loop(rest);
    if (begins(step, "start")) return start(rest);
    if (begins(step, "wait")) return wait_for_works();
    if (begins(step, "wait_any")) return wait_any();
    if (begins(step, "wait_all")) return wait_all();
    if (begins(step, "queue")) return queue(step);
    if (begins(step, "survive")) {
        tutti_error error = TUTTI_ERROR_INIT;
        return say(step, survive(step, &error), &error);
    }
    if (begins(step, "shrink")) return shrink(step);
    if (begins(step, "train")) {
        tutti_error error = TUTTI_ERROR_INIT;
        const tutti_status status = train(step, &error);
        return say(step, status, &error);
    }
    if (begins(step, "failed")) return tell_failed_ranks(step);
    if (begins(step, "destroy")) return destroy();
    if (begins(step, "groups")) return use_groups(step);
    if (begins(step, "group")) return make_group(step);
    if (begins(step, "subgroups")) return use_subgroups(step);
    if (begins(step, "world")) {
        tutti_group_release(operations_group);
        operations_group = TUTTI_GROUP_WORLD;
        return say(step, TUTTI_OK, NULL);
    }
    if (begins(step, "serve")) return serve(step);
    if (begins(step, "store") || begins(step, "fetch")) return use_store(step);
    if (begins(step, "limit")) return limit(step);
    if (begins(step, "heir")) return leave_an_heir(step);
    if (begins(step, "exit")) exit(0);
    if (begins(step, "vanish")) _exit(0);
    if (begins(step, "pause")) {
        say(step, TUTTI_OK, NULL);
        if (getchar() == EOF) exit(5);
        return;
    }
    fprintf(stderr, "worker: no step \"%s\"\n", step);
    exit(2);
}

int main(int argc, char** argv) {
    own_process = getpid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no test, no ranks */
    for (int index = 1; index < argc; ++index) do_step(argv[index]);
    tutti_store_release(meeting);
    return 0;
}
