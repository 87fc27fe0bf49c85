/* The remains of groups on devices, and a child of fork's part of them. The first argument is
 * the backend; with "groups" as the second one it is the process that makes them. */
#include <dirent.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi/on_ranks.h"
#include "on_devices.h"
#include "support/sanitizers.h"

extern char** environ;

enum { COUNT = 100, GROUPS = SANITIZED ? 60 : 500 };

static const char* program;

static void call_each_way(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 1);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_work *work = NULL, *sending = NULL;
    options.stream = cuda_make_stream();
    RANK_OK(me, add_up(me, &buffer, &options, NULL));
    RANK_OK(me, add_up(me, &buffer, &options, &work));
    RANK_OK(me, tutti_work_synchronize(work, options.stream, &me->error));
    RANK_OK(me, tutti_send(me->group, &buffer, 1 - me->rank, 0, &options, &sending, &me->error));
    cuda_wait(options.stream);
    tutti_work_release(work);
    int32_t* const received = numbers_of(COUNT, 0);
    const tutti_buffer place = on_cuda(device, received, COUNT, TUTTI_INT32);
    RANK_OK(me, tutti_recv(me->group, &place, 1 - me->rank, 0, NULL, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    RANK_OK(me, tutti_work_wait(sending, 0, &me->error));
    tutti_work_release(work);
    tutti_work_release(sending);
    RANK_EXPECT(me, all_are(received, COUNT, me->size * me->size));
    cuda_end_stream(options.stream);
    cuda_free(numbers);
    cuda_free(received);
}

static int count_descriptors(void) {
    int found = 0;
    DIR* const all = opendir("/proc/self/fd");
    if (all == NULL) return -1;
    while (readdir(all) != NULL) ++found;
    (void)closedir(all);
    return found;
}

/* In a process of its own: what it leaves is told at its end. */
static int make_groups(void) {
    for (int i = 0; i < 3; ++i) {
        if (run_ranks(backend, 2, call_each_way, NULL) != 0) return 1;
    }
    const int before = count_descriptors();
    for (int i = 0; i < GROUPS; ++i) {
        if (run_ranks(backend, 2, call_each_way, NULL) != 0) return 1;
    }
    for (int i = 0; count_descriptors() > before; ++i) { /* some end in the background */
        if (i == 1000000) return 2;
        sched_yield();
    }
    return 0;
}

static int count_in(const char* text, const char* word) {
    int found = 0;
    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word)) ++found;
    return found;
}

static void many_groups_leave_no_more_than_a_few(void** state) {
    (void)state;
    static char left[1 << 20];
    char path[] = "/tmp/tutti.life.XXXXXX", variable[64];
    char* const arguments[] = {(char*)(uintptr_t)program, (char*)(uintptr_t)backend,
                               (char*)(uintptr_t) "groups", NULL};
    pid_t child = 0;
    int ended = -1;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    (void)snprintf(variable, sizeof variable, "%s", path);
    setenv("TUTTI_FAKE_CUDA_REPORT", variable, 1);
    setenv("TUTTI_FAKE_CUDA_LEAKS", "1", 1);
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    assert_true(waitpid(child, &ended, 0) == child);
    FILE* const report = fopen(path, "r");
    assert_non_null(report);
    left[fread(left, 1, sizeof left - 1, report)] = '\0';
    fclose(report);
    unlink(path);
    if (ended != 0) print_error("%s\n", left);
    assert_int_equal(ended, 0);
    if (!on_the_double()) return;
    print_message("%d events, %d streams, %d pieces of pinned memory are left\n",
                  count_in(left, "event "), count_in(left, "stream "), count_in(left, "pinned "));
    assert_true(count_in(left, "event ") < 40);
    assert_true(count_in(left, "stream ") < 20);
    assert_true(count_in(left, "pinned ") < 40);
    assert_int_equal(count_in(left, "device memory"), 0);
    assert_int_equal(count_in(left, "\n"), 1); /* nothing else is told */
}

static void fork_among_ranks(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 1);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    void* memory = NULL;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    RANK_OK(me, tutti_memory_alloc(me->group, 4096, &options, &memory, &me->error));
    RANK_OK(me, add_up(me, &buffer, NULL, NULL));
    if (me->rank == 0) {
        int ended = -1;
        const pid_t child = fork();
        if (child == 0) {
            const tutti_status status = add_up(me, &buffer, NULL, NULL);
            tutti_memory_release(memory);
            tutti_group_release(me->group);
            exit(status == TUTTI_ERR_UNSUPPORTED && rank_says(me, "fork") ? 0 : 1);
        }
        RANK_EXPECT(me, waitpid(child, &ended, 0) == child && ended == 0);
    }
    RANK_OK(me, add_up(me, &buffer, NULL, NULL)); /* the parent lost nothing */
    RANK_EXPECT(me, all_are(numbers, COUNT, me->size * me->size));
    tutti_memory_release(memory);
    cuda_free(numbers);
}

static void a_child_of_fork_says_so_and_ends(void** state) {
    (void)state;
    if (SANITIZED) skip(); /* exit in it would look for leaks of threads that it does not have */
    RUN(2, fork_among_ranks);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(many_groups_leave_no_more_than_a_few),
        TEST(a_child_of_fork_says_so_and_ends),
    };
    program = argv[0];
    if (argc > 1) backend = argv[1];
    if (argc > 2) return make_groups();
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
