/* Ranks that may have few descriptors, little address space or small files: their group is not
 * made, or without shared memory, or ends when they are to connect to each other, and the error
 * says which limit of which rank it was. */
#include "faults.h"
#include "support/sanitizers.h"

enum { MOST_SPARE = 200 };

static int skipped(const char* why) {
    print_message("skipped: %s\n", why);
    return 1;
}

static void start_pair(team* all, const char* backend, const char* limit) {
    char variable[64];
    snprintf(variable, sizeof variable, "TUTTI_FAULTS_BACKEND=%s", backend);
    const char* const* variables = LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", variable);
    all->size = 2;
    team_start(all, 0, 0, variables, LIST("init", "call barrier", "destroy"));
    team_start(all, 1, 1, variables, LIST(limit, "init", "call barrier", "destroy"));
}

/* The outcome on rank 1, which the limit is for. */
static outcome first_end(team* all) {
    outcome made = team_next(all, 1); /* of the step that sets the limit */
    assert_int_equal(made.status, TUTTI_OK);
    return team_next(all, 1);
}

static void end_pair(void** state) {
    team* all = (team*)*state;
    for (int32_t index = 0; index < 2; ++index) {
        team_signal(all, index, SIGKILL);
        team_await_end(all, index);
    }
    assert_int_equal(team_close(state), 0);
    assert_int_equal(team_open(state), 0);
}

static void expect_own(team* all, const outcome* end, const char* limit) {
    if (end->status == TUTTI_ERR_OUT_OF_MEMORY && end->rank == 1 &&
        strstr(end->message, limit) != NULL) {
        return;
    }
    print_error("%s: status %d, rank %d: %s\n", end->step, (int)end->status, (int)end->rank,
                end->message);
    team_fail(all, __FILE__, __LINE__, "not the limit of rank 1");
}

/* With ever more, until there are enough. */
static void sweep_descriptors(void** state, const char* backend) {
    for (int spare = 0;; ++spare) {
        team* all = (team*)*state;
        char limit[32];
        assert_true(spare < MOST_SPARE);
        snprintf(limit, sizeof limit, "limit spare=%d", spare);
        start_pair(all, backend, limit);
        const outcome end = first_end(all);
        if (end.status != TUTTI_OK) expect_own(all, &end, "open files (ulimit -n)");
        end_pair(state);
        if (end.status == TUTTI_OK) return;
    }
}

static void a_rank_with_too_few_descriptors_says_so_over_gloo(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    sweep_descriptors(state, "gloo");
}

static void a_rank_with_too_few_descriptors_says_so_over_tcp(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    sweep_descriptors(state, "tcp");
}

static void a_rank_with_too_few_descriptors_says_so_over_shm(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    sweep_descriptors(state, "shm");
}

/* The call that the limit of rank 1 ends, once the group has been made: rank 1 calls then, or rank
 * 0 does, while the other does not; both learn it. */
static void end_with_limit_over(const char* backend, void** state, int32_t caller,
                                const char* limit, const char* named) {
    team* all = (team*)*state;
    char variable[64];
    snprintf(variable, sizeof variable, "TUTTI_FAULTS_BACKEND=%s", backend);
    const char* const* variables = LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", variable);
    all->size = 2;
    team_start(all, 0, 0, variables, LIST("init", "pause", "call barrier", "destroy"));
    team_start(all, 1, 1, variables, LIST("init", limit, "pause", "call barrier", "destroy"));
    for (int32_t index = 0; index < 2; ++index) EXPECT_DONE(all, index, "init");
    EXPECT_DONE(all, 1, "limit");
    for (int32_t index = 0; index < 2; ++index) EXPECT_DONE(all, index, "pause");
    team_resume(all, caller);
    EXPECT_STEP(all, caller, "barrier", TUTTI_ERR_OUT_OF_MEMORY, 1, "rank 1 cannot", named);
    EXPECT_DONE(all, caller, "destroy");
    team_resume(all, 1 - caller);
    EXPECT_STEP(all, 1 - caller, "barrier", TUTTI_ERR_OUT_OF_MEMORY, 1, "rank 1 cannot", named);
    EXPECT_DONE(all, 1 - caller, "destroy");
    team_expect_ends(all, -1);
    assert_int_equal(team_close(state), 0);
    assert_int_equal(team_open(state), 0);
}

static void end_with_limit(void** state, int32_t caller, const char* limit, const char* named) {
    end_with_limit_over("gloo", state, caller, limit, named);
    end_with_limit_over("tcp", state, caller, limit, named);
}

static void a_rank_with_too_few_descriptors_to_connect_says_so(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    end_with_limit(state, 1, "limit spare=0", "open files (ulimit -n)");
    end_with_limit(state, 1, "limit spare=1", "open files (ulimit -n)");
}

static void a_rank_with_too_few_descriptors_to_let_another_connect_says_so(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    end_with_limit(state, 0, "limit spare=0", "open files (ulimit -n)");
    end_with_limit(state, 0, "limit spare=1", "open files (ulimit -n)");
}

static void a_rank_without_memory_for_a_thread_that_connects_says_so(void** state) {
    if (SANITIZED && skipped("sanitizers need more address space than any limit")) skip();
    end_with_limit(state, 1, "limit mebibytes=0", "of address space (ulimit -v)");
}

/* With both at once, and ever more, until there are enough. */
static void too_few_descriptors_for_a_connection_are_that_ranks_lack(void** state) {
    if (TYPES_SANITIZED && skipped("the sanitizer needs descriptors itself")) skip();
    for (int spare = 0, is_enough = 0; !is_enough; ++spare) {
        team* all = (team*)*state;
        char limit[32];
        assert_true(spare < MOST_SPARE);
        snprintf(limit, sizeof limit, "limit spare=%d", spare);
        all->size = 2;
        team_start(all, 0, 0, PATIENT, LIST("init", "pause", "call barrier", "pause", "destroy"));
        team_start(all, 1, 1, PATIENT, LIST("init", limit, "call barrier", "pause", "destroy"));
        EXPECT_DONE(all, 0, "init");
        EXPECT_DONE(all, 1, "init");
        EXPECT_DONE(all, 1, "limit");
        EXPECT_DONE(all, 0, "pause");
        team_resume(all, 0);
        is_enough = 1;
        for (int32_t index = 0; index < 2; ++index) {
            const outcome end = team_next(all, index);
            if (end.status != TUTTI_OK) expect_own(all, &end, "open files (ulimit -n)");
            is_enough = is_enough && end.status == TUTTI_OK;
        }
        end_pair(state);
    }
}

/* A limit under which shm has no room, though there is enough for all else; fails if there is none.
 * Whatever else there is too little for is an OUT_OF_MEMORY that names the limit, too. */
static int64_t find_address_space(void** state) {
    for (int64_t mebibytes = 0; mebibytes < 400; mebibytes += 2) {
        team* all = (team*)*state;
        char limit[32];
        snprintf(limit, sizeof limit, "limit mebibytes=%d", (int)mebibytes);
        start_pair(all, "shm", limit);
        const outcome end = first_end(all);
        if (end.status == TUTTI_OK) break;
        expect_own(all, &end, "of address space (ulimit -v)");
        const int found = strstr(end.message, "shm has no room") != NULL;
        if (found) {
            EXPECT_STEP(all, 0, "init", TUTTI_ERR_OUT_OF_MEMORY, 1,
                        "shm has no room: rank 1: ", "of address space (ulimit -v)");
        }
        end_pair(state);
        if (found) return mebibytes;
    }
    fail_msg("shm never had too little room");
    return 0;
}

/* The substitute for shared memory may want more than there is left, too, to be opened or to
 * connect: then both ranks say so. */
static void expect_group_without_shared_memory(team* all, const char* limit) {
    start_pair(all, "", limit);
    const outcome end = first_end(all);
    if (end.status != TUTTI_OK) {
        expect_own(all, &end, "of address space (ulimit -v)");
        EXPECT_STEP(all, 0, "init", TUTTI_ERR_OUT_OF_MEMORY, 1,
                    "rank 1 gave up: ", "of address space (ulimit -v)");
        return;
    }
    EXPECT_DONE(all, 0, "init");
    const outcome met = team_next(all, 1);
    if (met.status == TUTTI_OK) {
        EXPECT_DONE(all, 0, "barrier");
    } else {
        expect_own(all, &met, "of address space (ulimit -v)");
        EXPECT_STEP(all, 0, "barrier", TUTTI_ERR_OUT_OF_MEMORY, 1, "rank 1 cannot",
                    "of address space (ulimit -v)");
    }
    for (int32_t index = 0; index < 2; ++index) EXPECT_DONE(all, index, "destroy");
    team_expect_ends(all, -1);
}

static void too_little_address_space_ends_shm_on_all_ranks_and_no_other_group(void** state) {
    char limit[32];
    if (SANITIZED && skipped("sanitizers need more address space than any limit")) skip();
    snprintf(limit, sizeof limit, "limit mebibytes=%d", (int)find_address_space(state));
    expect_group_without_shared_memory((team*)*state, limit);
}

/* Messages of one tag, larger and smaller than the files that rank 1 may have: they come as they
 * were sent, in order, and the group ends plainly. */
static void expect_messages_without_shared_memory(team* all) {
    const char* const* variables = LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", "TUTTI_FAULTS_BACKEND=");
    all->size = 2;
    team_start(all, 0, 0, variables,
               LIST("init", "call send to=1 count=100000", "call send to=1 count=3",
                    "call recv from=1 count=50000", "call barrier", "destroy"));
    team_start(
        all, 1, 1, variables,
        LIST("limit kibibytes=8", "init", "call recv from=0 count=100000",
             "call recv from=0 count=3", "call send to=0 count=50000", "call barrier", "destroy"));
    EXPECT_DONE(all, 1, "limit");
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_DONE(all, index, "init");
        for (int message = 0; message < 2; ++message) {
            EXPECT_DONE(all, index, index == 0 ? "send" : "recv");
        }
        EXPECT_DONE(all, index, index == 0 ? "recv" : "send");
        EXPECT_DONE(all, index, "barrier");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

static void a_limit_of_file_sizes_ends_shm_on_all_ranks_and_no_process(void** state) {
    team* all = (team*)*state;
    start_pair(all, "shm", "limit kibibytes=8");
    EXPECT_DONE(all, 1, "limit");
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_STEP(all, index, "init", TUTTI_ERR_OUT_OF_MEMORY, 1,
                    "shm has no room: rank 1: ", "files of 8 KiB (ulimit -f)");
    }
    end_pair(state);
    expect_messages_without_shared_memory((team*)*state);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    worker_program = argv[1];
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_with_too_few_descriptors_says_so_over_gloo),
        TEAM_TEST(a_rank_with_too_few_descriptors_says_so_over_tcp),
        TEAM_TEST(a_rank_with_too_few_descriptors_says_so_over_shm),
        TEAM_TEST(a_rank_with_too_few_descriptors_to_connect_says_so),
        TEAM_TEST(a_rank_with_too_few_descriptors_to_let_another_connect_says_so),
        TEAM_TEST(a_rank_without_memory_for_a_thread_that_connects_says_so),
        TEAM_TEST(too_few_descriptors_for_a_connection_are_that_ranks_lack),
        TEAM_TEST(too_little_address_space_ends_shm_on_all_ranks_and_no_other_group),
        TEAM_TEST(a_limit_of_file_sizes_ends_shm_on_all_ranks_and_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
