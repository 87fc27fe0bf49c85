/* Functions in new processes: who they are, how they end, and what must not be there before. */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"
#include "support/held_port.h"
#include "support/ranks.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
static const char* program;

/* The results that the processes tell the test. */
enum { MOST = 8 };
typedef struct notes {
    volatile int32_t rank[MOST], count[MOST];
    volatile double sum[MOST];
    volatile int32_t flag[MOST];
} notes;
static notes* shared;

static int32_t number_of(const char* variable) {
    const char* value = getenv(variable);
    return value == NULL ? -1 : (int32_t)atoi(value);
}

static void rest_for_ever(void) {
    for (;;) (void)pause();
}

static tutti_status tell_the_place(int32_t local_rank, void* user, tutti_error* fault) {
    notes* to = (notes*)user;
    to->rank[local_rank] = number_of("RANK");
    to->count[local_rank] = number_of("WORLD_SIZE");
    const int told = number_of("LOCAL_RANK") == local_rank &&
                     number_of("LOCAL_WORLD_SIZE") == number_of("WORLD_SIZE") &&
                     number_of("MASTER_PORT") > 0 && getenv("MASTER_ADDR") != NULL;
    to->flag[local_rank] = told && fault->status == TUTTI_OK && fault->message[0] == '\0';
    return TUTTI_OK;
}

static void each_process_is_told_its_place(void** state) {
    (void)state;
    for (int32_t count = 1; count <= MOST; count += 3) {
        memset(shared, 0x55, sizeof *shared);
        EXPECT_OK(tutti_spawn(tell_the_place, shared, count, NULL, NULL, &error));
        for (int32_t rank = 0; rank < count; ++rank) {
            assert_int_equal(shared->rank[rank], rank);
            assert_int_equal(shared->count[rank], count);
            assert_int_equal(shared->flag[rank], 1);
        }
    }
    assert_null(getenv("RANK"));
}

static void the_environment_can_stay_as_it_is(void** state) {
    (void)state;
    tutti_spawn_options options = TUTTI_SPAWN_OPTIONS_INIT;
    options.keep_environment = 1;
    (void)setenv("RANK", "77", 1);
    EXPECT_OK(tutti_spawn(tell_the_place, shared, 2, &options, NULL, &error));
    (void)unsetenv("RANK");
    for (int32_t rank = 0; rank < 2; ++rank) {
        assert_int_equal(shared->rank[rank], 77);
        assert_int_equal(shared->count[rank], -1);
    }
}

static tutti_status add_ranks(int32_t local_rank, void* user, tutti_error* fault) {
    double value = local_rank + 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
    if (tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, fault) ||
        tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, fault) ||
        tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, fault)) {
        return fault->status;
    }
    ((notes*)user)->sum[local_rank] = value;
    return TUTTI_OK;
}

static void expect_sums(void) {
    memset(shared, 0, sizeof *shared);
    EXPECT_OK(tutti_spawn(add_ranks, shared, 4, NULL, NULL, &error));
    for (int32_t rank = 0; rank < 4; ++rank) assert_true(shared->sum[rank] == 10);
}

static void they_meet_and_reduce(void** state) {
    (void)state;
    expect_sums();
    expect_sums();
}

/* An address of its own choice, where rank 0 serves. */
static tutti_status meet_elsewhere(int32_t local_rank, void* user, tutti_error* fault) {
    (void)setenv("MASTER_PORT", (const char*)user, 1);
    return add_ranks(local_rank, shared, fault);
}

static void the_function_may_choose_another_place(void** state) {
    (void)state;
    const held_port held = hold_port();
    char text[16];
    (void)snprintf(text, sizeof text, "%d", (int)held.number);
    memset(shared, 0, sizeof *shared);
    EXPECT_OK(tutti_spawn(meet_elsewhere, text, 3, NULL, NULL, &error));
    for (int32_t rank = 0; rank < 3; ++rank) assert_true(shared->sum[rank] == 6);
    close(held.holder);
}

static void use_the_group(rank_context* me) {
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void a_program_that_used_tutti_before_may_spawn(void** state) {
    (void)state;
    assert_int_equal(run_ranks("gloo", 3, use_the_group, NULL), 0);
    expect_sums();
    assert_int_equal(run_ranks("gloo", 3, use_the_group, NULL), 0);
}

static tutti_status fail_in_words(int32_t local_rank, void* user, tutti_error* fault) {
    if (local_rank != 1) rest_for_ever();
    (void)user;
    (void)snprintf(fault->message, sizeof fault->message, "the cat is out");
    fault->system_errno = 4;
    return TUTTI_ERR_MISMATCH;
}

static tutti_status fail_wordlessly(int32_t local_rank, void* user, tutti_error* fault) {
    (void)user, (void)fault;
    if (local_rank != 2) rest_for_ever();
    return 4711;
}

static tutti_status leave(int32_t local_rank, void* user, tutti_error* fault) {
    (void)fault;
    if (local_rank == 0 && *(const int*)user != 0) rest_for_ever();
    exit(*(const int*)user);
}

static tutti_status be_killed(int32_t local_rank, void* user, tutti_error* fault) {
    (void)fault;
    if (local_rank != 2) rest_for_ever();
    (void)raise(*(const int*)user);
    return TUTTI_OK;
}

static void a_program_may_have_a_name_that_begins_as_ours_do(void** state) {
    (void)state;
    char name[16];
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(prctl(PR_SET_NAME, "tutti-program"), 0);
    EXPECT_OK(tutti_spawn(tell_the_place, shared, 2, NULL, NULL, &error));
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
}

static void the_first_failure_ends_all_and_is_told(void** state) {
    (void)state;
    EXPECT_ERROR(tutti_spawn(fail_in_words, NULL, 3, NULL, NULL, &error), TUTTI_ERR_MISMATCH,
                 "): the cat is out");
    assert_int_equal(error.rank, 1);
    assert_int_equal(error.system_errno, 4);
    assert_memory_equal(error.message, "tutti_spawn: rank 1 of 3 (pid ", 30);
    EXPECT_ERROR(tutti_spawn(fail_wordlessly, NULL, 3, NULL, NULL, &error), 4711, "returned 4711");
    assert_int_equal(error.rank, 2);
    int code = 3;
    EXPECT_ERROR(tutti_spawn(leave, &code, 2, NULL, NULL, &error), TUTTI_ERR_PEER_LOST,
                 "exited with code 3");
    assert_int_equal(error.rank, 1);
    code = SIGKILL;
    EXPECT_ERROR(tutti_spawn(be_killed, &code, 3, NULL, NULL, &error), TUTTI_ERR_PEER_LOST,
                 "was killed by signal 9 (SIGKILL)");
    assert_int_equal(error.rank, 2);
    code = 0;
    EXPECT_OK(tutti_spawn(leave, &code, 3, NULL, NULL, &error)); /* exit(0) is no failure */
}

static tutti_status lose_a_rank(int32_t local_rank, void* user, tutti_error* fault) {
    (void)user;
    int32_t value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    if (tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, fault)) return fault->status;
    for (;;) {
        if (local_rank == 1) (void)raise(SIGKILL);
        if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, fault)) {
            return fault->status;
        }
    }
}

static void who_died_is_named_not_who_noticed(void** state) {
    (void)state;
    for (int round = 0; round < 5; ++round) {
        EXPECT_ERROR(tutti_spawn(lose_a_rank, NULL, 4, NULL, NULL, &error), TUTTI_ERR_PEER_LOST,
                     "rank 1 of 4");
        assert_int_equal(error.rank, 1);
        assert_non_null(strstr(error.message, "SIGKILL"));
    }
}

static tutti_status say_something(int32_t local_rank, void* user, tutti_error* fault) {
    (void)fault;
    return fprintf((FILE*)user, "child %d\n", (int)local_rank) > 0 ? TUTTI_OK : TUTTI_ERR_INTERNAL;
}

static void output_is_written_once(void** state) {
    (void)state;
    char text[256];
    FILE* file = tmpfile();
    assert_non_null(file);
    (void)fprintf(file, "parent\n");
    EXPECT_OK(tutti_spawn(say_something, file, 4, NULL, NULL, &error));
    (void)fprintf(file, "parent again\n");
    rewind(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    assert_int_equal(size, strlen("parent\nparent again\n") + 4 * strlen("child 0\n"));
    assert_int_equal(strncmp(text, "parent\nchild ", 13), 0);
    assert_string_equal(text + size - 13, "parent again\n");
    (void)fclose(file);
}

static tutti_status read_a_letter(int32_t local_rank, void* user, tutti_error* fault) {
    (void)fault;
    ((notes*)user)->flag[local_rank] = getchar();
    return TUTTI_OK;
}

static void standard_input_is_empty(void** state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int kept = dup(STDIN_FILENO);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(getchar(), 'a');
    EXPECT_OK(tutti_spawn(read_a_letter, shared, 2, NULL, NULL, &error));
    assert_int_equal(shared->flag[0], EOF);
    assert_int_equal(shared->flag[1], EOF);
    assert_int_equal(getchar(), 'b');
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    (void)close(kept);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void bad_arguments_are_named(void** state) {
    (void)state;
    tutti_spawn_options options = TUTTI_SPAWN_OPTIONS_INIT;
    EXPECT_ERROR(tutti_spawn(NULL, NULL, 1, NULL, NULL, &error), bad,
                 "tutti_spawn: function is NULL");
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 0, NULL, NULL, &error), bad, "nprocs is 0");
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, -2, NULL, NULL, &error), bad, "nprocs is -2");
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 4097, NULL, NULL, &error), bad, "nprocs is 4097");
    options.keep_environment = 2;
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 1, &options, NULL, &error), bad,
                 "options.keep_environment is 2");
    tutti_spawn_options_init(&options, sizeof options);
    options.timeout_ms = -2;
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 1, &options, NULL, &error), bad,
                 "options.timeout_ms is -2");
    tutti_spawn_options_init(&options, sizeof options);
    options.grace_period_ms = -1;
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 1, &options, NULL, &error), bad,
                 "options.grace_period_ms is -1");
    options.struct_size = 0;
    EXPECT_ERROR(tutti_spawn(add_ranks, NULL, 1, &options, NULL, &error), bad,
                 "options.struct_size is 0");
}

static void hear(tutti_log_level level, const char* message, void* user) {
    (void)level, (void)message, (void)user;
}

static void what_cannot_be_shared_is_named(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_work* work = NULL;
    void* memory = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_group_create("gloo", store, NULL, 0, 1, NULL, &group, &error));
    EXPECT_OK(tutti_barrier(group, NULL, &work, &error));
    EXPECT_OK(tutti_work_wait(work, 0, &error));
    EXPECT_OK(tutti_memory_alloc(group, 100, NULL, &memory, &error));
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "still has 1 group,");
    tutti_group_release(group);
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "still has 1 work,");
    tutti_work_release(work);
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "still has 1 store,");
    tutti_store_release(store);
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "still has 1 piece of tutti_memory_alloc's memory,");
    tutti_memory_release(memory);
    EXPECT_OK(tutti_set_log_callback(hear, NULL, NULL, TUTTI_LOG_TRACE, &error));
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error), TUTTI_ERR_UNSUPPORTED,
                 "this process has a log callback");
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, 0, &error));
    EXPECT_OK(tutti_spawn(add_ranks, shared, 1, NULL, NULL, &error));
}

static tutti_status wait_for_word(int32_t local_rank, void* user, tutti_error* fault) {
    (void)local_rank, (void)fault;
    char letter = 0;
    return read(*(const int*)user, &letter, 1) == 1 ? TUTTI_OK : TUTTI_ERR_INTERNAL;
}

static void with_a_work_it_returns_at_once(void** state) {
    (void)state;
    int ends[2];
    tutti_work *work = NULL, *another = NULL;
    assert_int_equal(pipe(ends), 0);
    EXPECT_OK(tutti_spawn(wait_for_word, &ends[0], 3, NULL, &work, &error));
    EXPECT_ERROR(tutti_work_wait(work, 1, &error), TUTTI_ERR_PENDING, "still running");
    EXPECT_ERROR(tutti_spawn(add_ranks, shared, 1, NULL, &another, &error), TUTTI_ERR_UNSUPPORTED,
                 "still has 1 work,");
    assert_null(another);
    tutti_store* store = NULL; /* tutti may be used meanwhile */
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    tutti_store_release(store);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    EXPECT_OK(tutti_work_wait(work, 0, &error));
    tutti_work_release(work);
    (void)close(ends[0]);
    (void)close(ends[1]);

    int code = SIGTERM;
    EXPECT_OK(tutti_spawn(be_killed, &code, 3, NULL, &work, &error));
    EXPECT_ERROR(tutti_work_wait(work, 0, &error), TUTTI_ERR_PEER_LOST, "signal 15 (SIGTERM)");
    assert_memory_equal(error.message, "spawn: rank ", 12);
    assert_int_equal(error.rank, 2);
    tutti_work_release(work);
    expect_sums();
}

static tutti_status outlive(int32_t local_rank, void* user, tutti_error* fault) {
    (void)fault;
    if (local_rank == 0) return TUTTI_OK;
    if (*(const int*)user != 0) (void)signal(SIGTERM, SIG_IGN);
    rest_for_ever();
    return TUTTI_OK;
}

static void the_time_they_have_is_limited(void** state) {
    (void)state;
    tutti_spawn_options options = TUTTI_SPAWN_OPTIONS_INIT;
    options.timeout_ms = 50;
    options.grace_period_ms = 50;
    for (int stubborn = 0; stubborn < 2; ++stubborn) {
        EXPECT_ERROR(tutti_spawn(outlive, &stubborn, 3, &options, NULL, &error), TUTTI_ERR_TIMEOUT,
                     "of 3 ranks these still ran and were ended: ");
        assert_non_null(strstr(error.message, "1, 2"));
    }
}

static tutti_status spawn_again(int32_t local_rank, void* user, tutti_error* fault) {
    (void)local_rank;
    return tutti_spawn(add_ranks, user, 2, NULL, NULL, fault);
}

static void a_process_may_spawn_in_turn(void** state) {
    (void)state;
    memset(shared, 0, sizeof *shared);
    EXPECT_OK(tutti_spawn(spawn_again, shared, 2, NULL, NULL, &error));
    assert_true(shared->sum[0] == 3 && shared->sum[1] == 3);
}

static void other_children_are_left_alone(void** state) {
    (void)state;
    int ended = 0, code = 0;
    const pid_t child = fork();
    if (child == 0) _exit(7);
    EXPECT_OK(tutti_spawn(leave, &code, 2, NULL, NULL, &error));
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(WEXITSTATUS(ended), 7);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);

    (void)signal(SIGCHLD, SIG_IGN); /* the kernel forgets how children ended */
    expect_sums();
    code = 3;
    EXPECT_ERROR(tutti_spawn(leave, &code, 2, NULL, NULL, &error), TUTTI_ERR_PEER_LOST, "SIGCHLD");
    EXPECT_ERROR(tutti_spawn(fail_in_words, NULL, 3, NULL, NULL, &error), TUTTI_ERR_MISMATCH,
                 "the cat is out");
    (void)signal(SIGCHLD, SIG_DFL);
}

static void too_few_descriptors_leave_nobody_behind(void** state) {
    (void)state;
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    little = before;
    little.rlim_cur = 24;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &little), 0);
    tutti_error_init(&error, sizeof error);
    const tutti_status status = tutti_spawn(add_ranks, shared, 64, NULL, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, TUTTI_ERR_OUT_OF_MEMORY);
    assert_non_null(strstr(error.message, "cannot watch the process of rank "));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    expect_sums();
}

/* Run by the next test in a program of its own: spawns processes that hold the test's pipe. */
static tutti_status hold(int32_t local_rank, void* user, tutti_error* fault) {
    (void)local_rank, (void)fault;
    if (write(*(const int*)user, "r", 1) != 1) return TUTTI_ERR_INTERNAL;
    rest_for_ever();
    return TUTTI_OK;
}

static int be_a_parent(int descriptor) {
    return tutti_spawn(hold, &descriptor, 3, NULL, NULL, NULL);
}

static void they_die_with_their_parent(void** state) {
    (void)state;
    int ends[2];
    char letters[8], number[16];
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(number, sizeof number, "%d", ends[1]);
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(program, program, number, (char*)NULL);
        _exit(1);
    }
    (void)close(ends[1]);
    for (int ready = 0; ready < 3; ++ready) assert_int_equal(read(ends[0], letters, 1), 1);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(ends[0], letters, sizeof letters), 0); /* nobody holds it any more */
    (void)close(ends[0]);
}

static int forget_launchers(void** state) {
    (void)state;
    const char* const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) (void)unsetenv(names[i]);
    void* memory =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -1;
    shared = (notes*)memory;
    return 0;
}

int main(int count, char** arguments) {
    program = arguments[0];
    if (count > 1) return be_a_parent(atoi(arguments[1]));
    const struct CMUnitTest tests[] = {
        TEST(each_process_is_told_its_place),
        TEST(the_environment_can_stay_as_it_is),
        TEST(they_meet_and_reduce),
        TEST(the_function_may_choose_another_place),
        TEST(a_program_that_used_tutti_before_may_spawn),
        TEST(a_program_may_have_a_name_that_begins_as_ours_do),
        TEST(the_first_failure_ends_all_and_is_told),
        TEST(who_died_is_named_not_who_noticed),
        TEST(output_is_written_once),
        TEST(standard_input_is_empty),
        TEST(bad_arguments_are_named),
        TEST(what_cannot_be_shared_is_named),
        TEST(with_a_work_it_returns_at_once),
        TEST(the_time_they_have_is_limited),
        TEST(a_process_may_spawn_in_turn),
        TEST(other_children_are_left_alone),
        TEST(too_few_descriptors_leave_nobody_behind),
        TEST(they_die_with_their_parent),
    };
    return cmocka_run_group_tests(tests, forget_launchers, NULL);
}
