/* tutti_group_reconfigure among processes that are started one by one, as a user's own program
 * would start them: a first group, deaths and newcomers, lists that do not agree, processes that
 * are not there.
 *   reconfigure_test WORKER */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"

enum { MOST = 6, LINE = 1 << 13, LONG_MS = 60000, SHORT_MS = 400 };

typedef struct process {
    pid_t pid;
    FILE* commands;
    FILE* answers;
    char handle[512];
    char answer[LINE];
} process;

static const char* worker;
static process all[MOST];
static uint64_t next_id = 1;

static void start(int index) {
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    fflush(NULL);
    process* const one = &all[index];
    one->pid = fork();
    if (one->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 64; ++fd) close(fd);
        execl(worker, worker, getenv("TUTTI_FAULTS_BACKEND"), (char*)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    one->commands = fdopen(in[1], "w");
    one->answers = fdopen(out[0], "r");
}

static void command(int index, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(all[index].commands, format, values);
    va_end(values);
    fputc('\n', all[index].commands);
    fflush(all[index].commands);
}

/* The status that answers a command; `text` must be in the rest of the line. */
static int await(int index, const char* text) {
    process* const one = &all[index];
    assert_non_null(fgets(one->answer, LINE, one->answers));
    print_message("process %d: %s", index, one->answer);
    assert_non_null(strstr(one->answer, text));
    return atoi(one->answer);
}

static int error_rank(int index) {
    int status = 0, rank = -1;
    sscanf(all[index].answer, "%d %d", &status, &rank);
    return rank;
}

static void start_and_ask(int index) {
    start(index);
    command(index, "handle");
    assert_int_equal(await(index, "/"), TUTTI_OK);
    sscanf(all[index].answer, "%*d %*d %511s", all[index].handle);
}

static void end(int index) {
    process* const one = &all[index];
    if (one->pid <= 0) return;
    fclose(one->commands);
    fclose(one->answers);
    kill(one->pid, SIGKILL);
    waitpid(one->pid, NULL, 0);
    one->pid = 0;
}

/* "0,2" as handles; -1 ends the list. */
static const char* handles(const int* members) {
    static char list[MOST * sizeof all[0].handle];
    list[0] = '\0';
    for (; *members >= 0; ++members) {
        strcat(list, " ");
        strcat(list, all[*members].handle);
    }
    return list;
}

#define MEMBERS(...) ((const int[]){__VA_ARGS__, -1})

static void call_world(const int* members, const int* listed, int timeout_ms) {
    for (; *members >= 0; ++members) {
        command(*members, "world %llu %d%s", (unsigned long long)next_id, timeout_ms,
                handles(listed));
    }
}

static void expect_world(const int* members) {
    int size = 0;
    while (members[size] >= 0) ++size;
    for (int rank = 0; rank < size; ++rank) {
        char text[32];
        snprintf(text, sizeof text, "%d of %d", rank, size);
        assert_int_equal(await(members[rank], text), TUTTI_OK);
    }
    for (int rank = 0; rank < size; ++rank) command(members[rank], "sum");
    for (int rank = 0; rank < size; ++rank) {
        char text[32];
        snprintf(text, sizeof text, "-1 %d\n", (1 << size) - 1);
        assert_int_equal(await(members[rank], text), TUTTI_OK);
    }
    ++next_id;
}

static void make_world(const int* members) {
    call_world(members, members, LONG_MS);
    expect_world(members);
}

static int open_three(void** state) {
    (void)state;
    for (int index = 0; index < 3; ++index) start_and_ask(index);
    return 0;
}

static int close_all(void** state) {
    (void)state;
    for (int index = 0; index < MOST; ++index) end(index);
    return 0;
}

static void processes_make_a_first_group_in_the_order_of_the_list(void** state) {
    (void)state;
    make_world(MEMBERS(2, 0, 1));
    make_world(MEMBERS(1));
}

static void a_newcomer_takes_the_place_of_a_dead_rank(void** state) {
    (void)state;
    make_world(MEMBERS(0, 1, 2));
    end(0);
    command(1, "sum");
    command(2, "sum");
    assert_int_equal(await(1, "rank 0"), TUTTI_ERR_PEER_LOST);
    assert_int_equal(await(2, "rank 0"), TUTTI_ERR_PEER_LOST);
    start_and_ask(3);
    start_and_ask(4);
    make_world(MEMBERS(1, 2, 3, 4));
    end(2);
    make_world(MEMBERS(4, 1, 3));
}

static void a_rank_that_is_not_listed_is_told(void** state) {
    (void)state;
    make_world(MEMBERS(0, 1, 2));
    make_world(MEMBERS(0, 2));
    command(1, "sum");
    assert_int_equal(await(1, "has reconfigured the group"), TUTTI_ERR_ABORTED);
}

static void groups_of_their_own_are_made_and_replaced(void** state) {
    (void)state;
    for (int round = 0; round < 3; ++round, ++next_id) {
        for (int index = 0; index < 3; ++index) {
            command(index, "group %llu %d%s", (unsigned long long)next_id, LONG_MS,
                    handles(MEMBERS(2, 1, 0)));
        }
        for (int index = 0; index < 3; ++index) assert_int_equal(await(index, " of 3"), TUTTI_OK);
    }
}

static void different_lists_are_shown_to_both_sides(void** state) {
    (void)state;
    make_world(MEMBERS(0, 1, 2));
    call_world(MEMBERS(0), MEMBERS(0, 1), LONG_MS);
    call_world(MEMBERS(1), MEMBERS(1, 0), LONG_MS);
    for (int index = 0; index < 2; ++index) {
        assert_int_equal(await(index, "list different members: handles[0]"), TUTTI_ERR_MISMATCH);
    }
    ++next_id;
    call_world(MEMBERS(0, 1), MEMBERS(0, 1, 2), LONG_MS);
    call_world(MEMBERS(2), MEMBERS(2, 1), LONG_MS);
    for (int index = 0; index < 3; ++index) {
        assert_int_equal(await(index, "list different members"), TUTTI_ERR_MISMATCH);
    }
    for (int index = 0; index < 3; ++index) command(index, "sum");
    for (int index = 0; index < 3; ++index) assert_int_equal(await(index, "-1 7\n"), TUTTI_OK);
    ++next_id;
    make_world(MEMBERS(1, 2, 0));
}

static void a_process_that_has_ended_is_named(void** state) {
    (void)state;
    make_world(MEMBERS(0, 1, 2));
    for (int dead = 2; dead >= 0; dead -= 2) {
        end(dead);
        const int living = dead == 0 ? 3 : 0;
        if (dead == 0) start_and_ask(3);
        call_world(MEMBERS(1, living), MEMBERS(0, 1, dead == 0 ? 3 : 2), LONG_MS);
        ++next_id;
        char name[32];
        snprintf(name, sizeof name, "rank %d", dead);
        assert_int_equal(await(1, name), TUTTI_ERR_NETWORK);
        assert_int_equal(error_rank(1), dead);
        assert_int_equal(await(living, name), TUTTI_ERR_NETWORK);
        assert_int_equal(error_rank(living), dead);
    }
    make_world(MEMBERS(3, 1));
}

static void a_process_that_ends_before_it_calls_is_named(void** state) {
    (void)state;
    for (int dead = 0; dead < 3; dead += 2) {
        call_world(dead == 0 ? MEMBERS(1, 2) : MEMBERS(0, 1), MEMBERS(0, 1, 2), LONG_MS);
        end(dead);
        for (int index = 0; index < 3; ++index) {
            if (index == dead) continue;
            const int status = await(index, dead == 0 ? "rank 0" : "rank 2");
            assert_true(status == TUTTI_ERR_PEER_LOST || status == TUTTI_ERR_NETWORK);
            assert_int_equal(error_rank(index), dead);
        }
        start_and_ask(dead);
        ++next_id;
    }
}

static void a_process_that_does_not_call_is_named(void** state) {
    (void)state;
    call_world(MEMBERS(0, 1), MEMBERS(0, 1, 2), SHORT_MS);
    for (int index = 0; index < 2; ++index) {
        assert_int_equal(await(index, "waiting for rank 2, which has not called"),
                         TUTTI_ERR_TIMEOUT);
        assert_int_equal(error_rank(index), 2);
    }
    ++next_id;
    call_world(MEMBERS(1), MEMBERS(0, 1), SHORT_MS);
    assert_int_equal(await(1, "waiting for rank 0, which has not called"), TUTTI_ERR_TIMEOUT);
    ++next_id;
    make_world(MEMBERS(2, 1, 0));
}

static void bad_arguments_are_refused(void** state) {
    (void)state;
    make_world(MEMBERS(0, 1));
    --next_id;
    call_world(MEMBERS(0), MEMBERS(0, 1), LONG_MS);
    assert_int_equal(await(0, "which this process has used before"), TUTTI_ERR_INVALID_ARGUMENT);
    ++next_id;
    call_world(MEMBERS(0), MEMBERS(0, 1, 0), LONG_MS);
    assert_int_equal(await(0, "handles[2] is the same as handles[0]"), TUTTI_ERR_INVALID_ARGUMENT);
    call_world(MEMBERS(0), MEMBERS(1), LONG_MS);
    assert_int_equal(await(0, "does not have this process's own"), TUTTI_ERR_INVALID_ARGUMENT);
    command(0, "world 77 0 nonsense");
    assert_int_equal(await(0, "handles[0] is \"nonsense\""), TUTTI_ERR_INVALID_ARGUMENT);
    command(0, "world 77 0");
    assert_int_equal(await(0, "count is 0"), TUTTI_ERR_INVALID_ARGUMENT);
    command(0, "sum");
    command(1, "sum");
    assert_int_equal(await(0, "-1 3\n"), TUTTI_OK);
    assert_int_equal(await(1, "-1 3\n"), TUTTI_OK);
}

#define ROW(function) cmocka_unit_test_setup_teardown(function, open_three, close_all)

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    worker = argv[1];
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        ROW(processes_make_a_first_group_in_the_order_of_the_list),
        ROW(a_newcomer_takes_the_place_of_a_dead_rank),
        ROW(a_rank_that_is_not_listed_is_told),
        ROW(groups_of_their_own_are_made_and_replaced),
        ROW(different_lists_are_shown_to_both_sides),
        ROW(a_process_that_has_ended_is_named),
        ROW(a_process_that_ends_before_it_calls_is_named),
        ROW(a_process_that_does_not_call_is_named),
        ROW(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
