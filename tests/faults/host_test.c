/* Ranks of one host, of which one watches the others through the kernel: what becomes of those that
 * stop, freeze or end, watchers too; and of those that nobody can watch. Hosts are namespaces of
 * process numbers here. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "support/freezer.h"

/* Mounts a /proc of its own; the rest stays as it is, which also works below chroot. */
#define UNSHARE "/usr/bin/unshare"
#define WITH_PROC "--mount", "--propagation", "unchanged", "--mount-proc"

/* How many others that rank watches: it has their files of scheduling counts open. */
static int watched_by(const team* all, int32_t index) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)all->ranks[index].pid);
    DIR* const folder = opendir(path);
    if (folder == NULL) return 0;
    for (const struct dirent* one = readdir(folder); one != NULL; one = readdir(folder)) {
        char target[256];
        const ssize_t length = readlinkat(dirfd(folder), one->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strstr(target, "/schedstat") != NULL) ++count;
    }
    closedir(folder);
    return count;
}

static void await_watch(team* all, int32_t index, int others) {
    while (watched_by(all, index) != others) {
        team_look_again(all, "a rank does not watch as many others as it should");
    }
}

/* Whether ranks can watch each other on this system at all. */
static int can_watch(void) {
    char counts[64] = "";
    FILE* const file = fopen("/proc/self/schedstat", "r");
    if (file == NULL || fgets(counts, sizeof counts, file) == NULL) counts[0] = '\0';
    if (file != NULL) fclose(file);
    if (counts[0] != '\0' && strcmp(counts, "0 0 0\n") != 0) return 1;
    print_message("skipped: this system lets nobody watch a process\n");
    return 0;
}

/* Another namespace of process numbers, for as long as its first process lives. */
typedef struct place {
    pid_t first;
    int there, here;
} place;

static int make_place(place* other) {
    char path[64];
    other->here = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    other->there = -1;
    if (other->here < 0 || unshare(CLONE_NEWPID) != 0) return 0;
    other->first = fork();
    if (other->first == 0) {
        for (;;) pause();
    }
    if (setns(other->here, CLONE_NEWPID) != 0) return 0;
    snprintf(path, sizeof path, "/proc/%ld/ns/pid", (long)other->first);
    other->there = open(path, O_RDONLY | O_CLOEXEC);
    return other->there >= 0;
}

static void remove_place(const place* other) {
    kill(other->first, SIGKILL);
    waitpid(other->first, NULL, 0);
    close(other->there);
    close(other->here);
}

/* With a /proc of that namespace, or the one that is here, whose numbers are others. */
static void start_there(team* all, const place* other, int32_t rank, int has_proc) {
    const char* const program = worker_program;
    assert_int_equal(setns(other->there, CLONE_NEWPID), 0);
    if (has_proc) {
        worker_program = UNSHARE;
        team_start(all, rank, rank, WATCHFUL,
                   LIST(WITH_PROC, program, "init", "loop all_reduce", "destroy"));
        worker_program = program;
    } else {
        team_start(all, rank, rank, WATCHFUL, LIST("init", "loop all_reduce", "destroy"));
    }
    assert_int_equal(setns(other->here, CLONE_NEWPID), 0);
}

static void expect_silence_of(team* all, int32_t victim, int32_t index) {
    char rank[64];
    snprintf(rank, sizeof rank, "rank %d has not answered for 3000 ms", (int)victim);
    EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, victim, rank);
    EXPECT_DONE(all, index, "destroy");
}

/* The victim has stopped in a loop of calls: the others end, then it wakes and does, too. */
static void expect_all_to_notice(team* all, int32_t victim) {
    for (int32_t index = 0; index < all->size; ++index) {
        if (index != victim) expect_silence_of(all, victim, index);
    }
    for (int32_t index = 0; index < all->size; ++index) {
        if (index != victim) assert_int_equal(team_await_end(all, index), 0);
    }
    team_signal(all, victim, SIGCONT);
    expect_silence_of(all, victim, victim);
    assert_int_equal(team_await_end(all, victim), 0);
}

static int can_mount_proc(void) {
    static const char* const program[] = {UNSHARE, WITH_PROC, "true", NULL};
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        execv(UNSHARE, (char* const*)program);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Two ranks here, two there; returns 0 where that cannot be. */
static int on_two_hosts(team* all, int has_proc, int32_t victim) {
    place other;
    if ((has_proc && !can_mount_proc()) || !make_place(&other)) {
        print_message("skipped: no namespaces of process numbers here\n");
        return 0;
    }
    all->size = 4;
    for (int32_t rank = 0; rank < 2; ++rank) {
        team_start(all, rank, rank, WATCHFUL, LIST("init", "loop all_reduce", "destroy"));
    }
    for (int32_t rank = 2; rank < 4; ++rank) start_there(all, &other, rank, has_proc);
    for (int32_t rank = 0; rank < 4; ++rank) EXPECT_DONE(all, rank, "init");
    for (int32_t rank = 0; rank < 4; ++rank) await_watch(all, rank, rank < 2 || has_proc);
    team_await_progress(all, victim, 20);
    team_stop(all, victim);
    expect_all_to_notice(all, victim);
    team_expect_ends(all, -1);
    remove_place(&other);
    return 1;
}

static void each_victim_on_two_hosts(void** state, int has_proc) {
    if (!can_watch()) skip();
    for (int32_t victim = 0; victim < 4; ++victim) {
        if (!on_two_hosts((team*)*state, has_proc, victim)) skip();
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

/* The coordinator, who watches rank 1; the watcher of the other host, and who is watched there. */
static void whoever_stops_on_two_hosts_is_named_by_all_others(void** state) {
    each_victim_on_two_hosts(state, 1);
}

/* They ping. */
static void whoever_stops_is_named_where_ranks_cannot_watch_each_other(void** state) {
    each_victim_on_two_hosts(state, 0);
}

/* Its state looks like that of one that sleeps. */
static void a_rank_whose_control_group_is_frozen_is_named(void** state) {
    team* all = (team*)*state;
    const freezer group = freezer_make();
    if (group.version == 0) {
        print_message("skipped: no control group can be made here\n");
        skip();
    }
    team_start_all(all, 3, WATCHFUL, LIST("init", "loop all_reduce", "destroy"));
    for (int32_t rank = 0; rank < 3; ++rank) EXPECT_DONE(all, rank, "init");
    assert_true(freezer_take(&group, all->ranks[2].pid));
    team_await_progress(all, 2, 20);
    assert_true(freezer_freeze(&group, 1));
    for (int32_t rank = 0; rank < 2; ++rank) expect_silence_of(all, 2, rank);
    assert_true(freezer_freeze(&group, 0));
    expect_silence_of(all, 2, 2);
    team_expect_ends(all, -1);
    while (!freezer_remove(&group)) team_look_again(all, "the control group is not empty");
}

/* Ranks 1 to 3 are a group, so it goes on without rank 0, which watched all of them. */
static void without_the_watcher(team* all, int kill) {
    all->size = 4;
    team_start(all, 0, 0, WATCHFUL, LIST("init", "group from=1", "pause", "destroy"));
    for (int32_t rank = 1; rank < 4; ++rank) {
        team_start(all, rank, rank, WATCHFUL,
                   LIST("init", "group from=1", "loop barrier", "destroy"));
    }
    for (int32_t rank = 0; rank < 4; ++rank) {
        EXPECT_DONE(all, rank, "init");
        EXPECT_DONE(all, rank, "group");
    }
    EXPECT_DONE(all, 0, "pause");
    if (can_watch()) await_watch(all, 0, 3);
    if (kill) {
        team_signal(all, 0, SIGKILL);
    } else {
        team_resume(all, 0);
        EXPECT_DONE(all, 0, "destroy");
    }
    (void)team_await_end(all, 0);
    if (can_watch()) {
        await_watch(all, 1, 2);
        await_watch(all, 2, 1);
        await_watch(all, 3, 1);
    }
    team_await_progress(all, 3, 20);
    team_stop(all, 3);
    /* It may stop before it has connected to the new coordinator, or after. */
    for (int32_t rank = 1; rank < 3; ++rank) {
        EXPECT_STEP(all, rank, "barrier", TUTTI_ERR_PEER_LOST, 2, "rank 3 has not ");
        EXPECT_DONE(all, rank, "destroy");
        assert_int_equal(team_await_end(all, rank), 0);
    }
    team_signal(all, 3, SIGKILL);
    (void)team_await_end(all, 3);
}

static void when_the_watcher_leaves_the_next_rank_watches(void** state) {
    without_the_watcher((team*)*state, 0);
}

static void when_the_watcher_dies_the_next_rank_watches(void** state) {
    without_the_watcher((team*)*state, 1);
}

/* Its connections stay open: a child has them as well. */
static void a_rank_that_ends_is_named_though_its_connections_do_not_end(void** state) {
    team* all = (team*)*state;
    if (!can_watch()) skip();
    team_start_all(all, 3, PATIENT, LIST("init", "heir", "pause", "call barrier", "destroy"));
    for (int32_t rank = 0; rank < 3; ++rank) {
        EXPECT_DONE(all, rank, "init");
        EXPECT_DONE(all, rank, "heir");
        EXPECT_DONE(all, rank, "pause");
    }
    await_watch(all, 0, 2);
    team_signal(all, 2, SIGKILL);
    (void)team_await_end(all, 2);
    for (int32_t rank = 0; rank < 2; ++rank) {
        team_resume(all, rank);
        EXPECT_STEP(all, rank, "barrier", TUTTI_ERR_PEER_LOST, 2, "rank 2 died",
                    "its process ended");
        EXPECT_DONE(all, rank, "destroy");
    }
    team_expect_ends(all, 2);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(whoever_stops_on_two_hosts_is_named_by_all_others),
        TEAM_TEST(whoever_stops_is_named_where_ranks_cannot_watch_each_other),
        TEAM_TEST(a_rank_whose_control_group_is_frozen_is_named),
        TEAM_TEST(when_the_watcher_leaves_the_next_rank_watches),
        TEAM_TEST(when_the_watcher_dies_the_next_rank_watches),
        TEAM_TEST(a_rank_that_ends_is_named_though_its_connections_do_not_end),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
