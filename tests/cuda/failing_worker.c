/* One rank of failing_test: takes its steps as arguments, does them in order, and prints how each
 * ended, as tests/support/processes.h wants it. Steps:
 *   init     the default group, env://;  "init bound": to this rank's device
 *   call X   one X on a device: all_reduce, ring (a message to the next rank), alloc
 *   share    memory of tutti_memory_alloc takes the place of the calls' own
 *   loop X   until it fails, "." for every one that did not
 *   start    an all_reduce as a work;  wait: for it
 *   cpu      an all_reduce on the CPU
 *   sum      one on a device, with a check of the result
 *   shrink   the default group goes on as what is left of it
 *   pause    until a line comes in
 *   destroy  the default group */
#include <stdlib.h>
#include <string.h>

#include "on_devices.h"

enum { COUNT = 3000000 };

static rank_context me;
static int32_t device;
static int32_t* numbers[2];
static void* stream;
static tutti_work* started;
static int turn;

static void say(const char* step, tutti_status status) {
    const int length = (int)strcspn(step, " ");
    printf("= %.*s %d %d %s\n", length, step, (int)status,
           status == TUTTI_OK ? -1 : (int)me.error.rank,
           status == TUTTI_OK ? "" : me.error.message);
    fflush(stdout);
}

static tutti_status init(const char* what) {
    const char* const backend = getenv("TUTTI_FAULTS_BACKEND");
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    me.rank = atoi(getenv("RANK"));
    device = use_device(&me);
    if (strcmp(what, "bound") == 0) {
        options.device_type = TUTTI_CUDA;
        options.device_index = device;
    }
    const tutti_status status = tutti_init_process_group(
        backend != NULL ? backend : "shm", "env://", NULL, -1, -1, &options, &me.error);
    if (status != TUTTI_OK) return status;
    me.group = TUTTI_GROUP_WORLD;
    me.rank = tutti_get_rank(me.group);
    me.size = tutti_get_world_size(me.group);
    stream = cuda_make_stream();
    for (int i = 0; i < 2; ++i) numbers[i] = numbers_of(COUNT, 0);
    return TUTTI_OK;
}

static tutti_buffer of(const int32_t* memory) {
    return on_cuda(device, memory, COUNT, TUTTI_INT32);
}

static tutti_status pass_on(const tutti_call_options* options) {
    const tutti_buffer from = of(numbers[0]), to = of(numbers[1]);
    tutti_work* sending = NULL;
    tutti_status status =
        tutti_send(me.group, &from, (me.rank + 1) % me.size, 0, options, &sending, &me.error);
    if (status != TUTTI_OK) return status;
    status = tutti_recv(me.group, &to, (me.rank + me.size - 1) % me.size, 0, options, NULL, NULL,
                        &me.error);
    if (status == TUTTI_OK) status = tutti_work_wait(sending, 0, &me.error);
    tutti_work_release(sending);
    return status;
}

static tutti_status alloc(int64_t bytes, void** memory) {
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    return tutti_memory_alloc(me.group, bytes, &options, memory, &me.error);
}

static tutti_status alloc_and_release(void) {
    void* memory = NULL;
    const tutti_status status = alloc(4096, &memory);
    tutti_memory_release(memory);
    return status;
}

static tutti_status share(void) {
    void* memory = NULL;
    const tutti_status status = alloc(COUNT * (int64_t)sizeof(int32_t), &memory);
    if (status == TUTTI_OK) numbers[0] = (int32_t*)memory;
    return status;
}

static tutti_status call(const char* what) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = ++turn % 2 == 0 ? stream : NULL;
    if (strcmp(what, "ring") == 0) return pass_on(&options);
    if (strcmp(what, "alloc") == 0) return alloc_and_release();
    const tutti_buffer buffer = of(numbers[0]);
    return add_up(&me, &buffer, &options, NULL);
}

static tutti_status loop(const char* what) {
    for (;;) {
        const tutti_status status = call(what);
        if (status != TUTTI_OK) return status;
        puts(".");
        fflush(stdout);
    }
}

static tutti_status start(void) {
    const tutti_buffer buffer = of(numbers[0]);
    return add_up(&me, &buffer, NULL, &started);
}

static tutti_status wait_for_it(void) {
    const tutti_status status = tutti_work_wait(started, 0, &me.error);
    tutti_work_release(started);
    return status;
}

static tutti_status add_on_the_cpu(void) {
    int32_t value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    const tutti_status status = add_up(&me, &buffer, NULL, NULL);
    if (status == TUTTI_OK && value != me.size) abort();
    return status;
}

static tutti_status add_and_check(void) {
    int32_t* const ones = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(ones);
    const tutti_status status = add_up(&me, &buffer, NULL, NULL);
    if (status == TUTTI_OK && !all_are(ones, COUNT, me.size)) abort();
    cuda_free(ones);
    return status;
}

static tutti_status shrink(void) {
    const tutti_status status =
        tutti_shrink_group(me.group, NULL, 0, TUTTI_SHRINK_ABORT, NULL, NULL, NULL, &me.error);
    me.rank = tutti_get_rank(me.group);
    me.size = tutti_get_world_size(me.group);
    return status;
}

static tutti_status pause_here(void) {
    char line[16];
    return fgets(line, sizeof line, stdin) != NULL ? TUTTI_OK : TUTTI_ERR_ABORTED;
}

static tutti_status take(const char* step) {
    const char* const what = strchr(step, ' ') != NULL ? strchr(step, ' ') + 1 : "";
    if (strncmp(step, "init", 4) == 0) return init(what);
    if (strncmp(step, "call ", 5) == 0) return call(what);
    if (strncmp(step, "loop ", 5) == 0) return loop(what);
    if (strcmp(step, "start") == 0) return start();
    if (strcmp(step, "share") == 0) return share();
    if (strcmp(step, "wait") == 0) return wait_for_it();
    if (strcmp(step, "cpu") == 0) return add_on_the_cpu();
    if (strcmp(step, "sum") == 0) return add_and_check();
    if (strcmp(step, "shrink") == 0) return shrink();
    if (strcmp(step, "pause") == 0) return pause_here();
    if (strcmp(step, "destroy") == 0) {
        return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error);
    }
    exit(2);
}

int main(int argc, char** argv) {
    tutti_error_init(&me.error, sizeof me.error);
    for (int i = 1; i < argc; ++i) say(argv[i], take(argv[i]));
    return 0;
}
