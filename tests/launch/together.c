/* together BACKEND [MORE...]: ranks of a launcher make a group over BACKEND, or "-", the one that
 * they choose, and a group of that over each more; and use them: collectives, messages, and memory
 * that they share, of TOGETHER_BYTES or a few. together spawn BACKEND...: two processes of
 * tutti_spawn do. A failure is printed, and ends it with 3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
#include <unistd.h>

enum { COUNT = 5000, SPAWNED = 2, TIMEOUT_MS = 60000 };

static tutti_error error = TUTTI_ERROR_INIT;
static int backend_count;
static char** backends;

static void must(tutti_status status, const char* call) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s: %s\n", call, tutti_status_name(status), error.message);
    exit(3);
}

static void expect(int is_true, const char* sentence) {
    if (is_true) return;
    fprintf(stderr, "%s\n", sentence);
    exit(3);
}

static tutti_buffer of(double* numbers, int64_t count) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_FLOAT64);
    return buffer;
}

/* `numbers` have place for COUNT. */
static void sum(tutti_group* group, double* numbers) {
    const int32_t rank = tutti_get_rank(group), size = tutti_get_world_size(group);
    const tutti_buffer buffer = of(numbers, COUNT);
    for (int i = 0; i < COUNT; ++i) numbers[i] = rank + i;
    must(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error), "all_reduce");
    for (int i = 0; i < COUNT; ++i) {
        expect(numbers[i] == size * i + size * (size - 1) / 2, "a wrong sum");
    }
}

/* From rank to rank, around. */
static void pass_on(tutti_group* group, double* numbers) {
    const int32_t rank = tutti_get_rank(group), size = tutti_get_world_size(group);
    double taken[2] = {-1, -1};
    const tutti_buffer given = of(numbers, 2), into = of(taken, 2);
    tutti_work* work = NULL;
    numbers[0] = numbers[1] = rank;
    must(tutti_send(group, &given, (rank + 1) % size, 0, NULL, &work, &error), "send");
    must(tutti_recv(group, &into, (rank + size - 1) % size, 0, NULL, NULL, NULL, &error), "recv");
    must(tutti_work_wait(work, 0, &error), "wait");
    tutti_work_release(work);
    expect(taken[1] == (rank + size - 1) % size, "a wrong message");
}

static void use_group(tutti_group* group) {
    static double numbers[COUNT];
    const char* const wanted = getenv("TOGETHER_BYTES");
    const int64_t bytes = wanted != NULL ? strtoll(wanted, NULL, 10) : (int64_t)sizeof numbers;
    void* shared = NULL;
    sum(group, numbers);
    pass_on(group, numbers);
    must(tutti_memory_alloc(group, bytes, NULL, &shared, &error), "memory_alloc");
    sum(group, (double*)shared);
    pass_on(group, (double*)shared);
    tutti_memory_release(shared);
    must(tutti_barrier(group, NULL, NULL, &error), "barrier");
}

static void use_all(void) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    const char* first = strcmp(backends[0], "-") == 0 ? NULL : backends[0];
    must(tutti_init_process_group(first, "env://", NULL, -1, -1, &options, &error), "init");
    use_group(TUTTI_GROUP_WORLD);
    for (int i = 1; i < backend_count; ++i) {
        tutti_group* group = NULL;
        must(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backends[i], NULL, NULL, &group, &error),
             "new_group");
        use_group(group);
        tutti_group_release(group);
    }
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), "destroy");
}

static tutti_status be_spawned(int32_t local_rank, void* user, tutti_error* fault) {
    (void)local_rank, (void)user, (void)fault;
    use_all();
    return TUTTI_OK;
}

static tutti_status fail_or_stay(int32_t local_rank, void* user, tutti_error* fault) {
    (void)user;
    if (local_rank == 0) {
        snprintf(fault->message, sizeof fault->message, "as it was told");
        return TUTTI_ERR_ABORTED;
    }
    for (;;) (void)pause();
}

int main(int argc, char** argv) {
    const int spawns = argc > 1 && strcmp(argv[1], "spawn") == 0;
    backends = argv + 1 + spawns;
    backend_count = argc - 1 - spawns;
    expect(backend_count > 0, "usage: together [spawn] BACKEND [MORE...]");
    if (!spawns) {
        use_all();
        return 0;
    }
    must(tutti_spawn(be_spawned, NULL, SPAWNED, NULL, NULL, &error), "spawn");
    /* One fails: the other is ended. */
    expect(tutti_spawn(fail_or_stay, NULL, SPAWNED, NULL, NULL, &error) == TUTTI_ERR_ABORTED &&
               error.rank == 0 && strstr(error.message, "as it was told") != NULL,
           "spawn does not tell of the process that failed");
    return 0;
}
