/* Groups that cannot be made, and strangers while one is made: nothing hangs, and who is missing,
 * double or gone is named. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "faults.h"
#include "support/sockets.h"

static void ranks_that_never_come_are_named_by_all_who_wait(void** state) {
    team* all = (team*)*state;
    int32_t port;
    all->size = 4;
    team_start(all, 0, 0, PATIENT, LIST("init timeout=3000"));
    team_await_ports(all, 0, &port, 1); /* of its control connections */
    team_start(all, 2, 2, PATIENT, LIST("init timeout=3000"));
    for (int32_t index = 0; index <= 2; index += 2) {
        EXPECT_STEP(all, index, "init", TUTTI_ERR_TIMEOUT, 1, "ranks 1, 3", "have not joined",
                    "group \"world\"");
    }
    team_expect_ends(all, -1);
}

static void whoever_gives_up_first_is_not_taken_for_the_missing_rank(void** state) {
    for (int32_t first = 0; first < 2; ++first) {
        team* all = (team*)*state;
        const int32_t other = 1 - first;
        int32_t port;
        char gave_up[32];
        snprintf(gave_up, sizeof gave_up, "rank %d gave up", (int)first);
        all->size = 3;
        team_start(all, other, other, PATIENT, LIST("init"));
        if (other == 0) {
            team_await_ports(all, other, &port, 1); /* of its control connections */
        } else {
            team_await_clients(all, 2); /* it has asked for rank 0, and waits */
        }
        team_start(all, first, first, PATIENT, LIST("init timeout=3000"));
        EXPECT_STEP(all, first, "init", TUTTI_ERR_TIMEOUT, 2, "rank 2", "has not joined");
        EXPECT_STEP(all, other, "init", TUTTI_ERR_TIMEOUT, 2, gave_up, "rank 2", "has not joined");
        team_expect_ends(all, -1);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

static void a_rank_0_that_never_comes_is_named(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    team_start(all, 1, 1, PATIENT, LIST("init timeout=3000"));
    team_start(all, 2, 2, PATIENT, LIST("init timeout=3000"));
    for (int32_t index = 1; index <= 2; ++index) {
        EXPECT_STEP(all, index, "init", TUTTI_ERR_TIMEOUT, 0, "rank 0", "has not joined");
    }
    team_expect_ends(all, -1);
}

static void a_rank_killed_while_ranks_meet_is_named(void** state) {
    for (int32_t victim = 0; victim < 3; ++victim) {
        team* all = (team*)*state;
        int32_t port;
        char rank[32];
        snprintf(rank, sizeof rank, "rank %d", (int)victim);
        all->size = 4;
        for (int32_t index = 0; index < 3; ++index) {
            team_start(all, index, index, PATIENT, LIST("init timeout=8000"));
        }
        for (int32_t index = 0; index < 3; ++index) {
            team_await_ports(all, index, &port, 1); /* of its control connections */
        }
        team_signal(all, victim, SIGKILL);
        /* PEER_LOST, or TIMEOUT if it had not said hello yet. */
        for (int32_t index = 0; index < 3; ++index) {
            if (index == victim) continue;
            EXPECT_STEP_AMONG(all, index, "init", AMONG(TUTTI_ERR_PEER_LOST, TUTTI_ERR_TIMEOUT),
                              AMONG(victim), rank);
        }
        team_expect_ends(all, victim);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

static void a_rank_that_comes_after_rank_0_has_died_ends_within_its_timeout(void** state) {
    team* all = (team*)*state;
    int32_t port;
    all->size = 2;
    team_start(all, 0, 0, PATIENT, LIST("init"));
    team_await_ports(all, 0, &port, 1);
    team_signal(all, 0, SIGKILL);
    team_await_end(all, 0);
    team_start(all, 1, 1, PATIENT, LIST("init timeout=3000"));
    /* TIMEOUT if rank 0 had not said yet where it listens. */
    EXPECT_STEP_AMONG(all, 1, "init", AMONG(TUTTI_ERR_NETWORK, TUTTI_ERR_TIMEOUT), AMONG(0),
                      "rank 0");
    team_expect_ends(all, 0);
}

/* One of them is refused, and the group is made with the other. */
static void two_processes_of_one_rank_are_told_apart(void** state) {
    enum { SECOND = 4 };
    for (int32_t rank = 0; rank < 2; ++rank) {
        team* all = (team*)*state;
        char reason[64];
        snprintf(reason, sizeof reason, "another process has already joined as rank %d", (int)rank);
        all->size = 3;
        team_start(all, SECOND, rank, PATIENT, LIST("init", "call barrier", "destroy"));
        for (int32_t index = 0; index < 2; ++index) {
            team_start(all, index, index, PATIENT, LIST("init", "call barrier", "destroy"));
        }
        const int32_t refused = team_first_to_speak(all, rank, SECOND);
        EXPECT_STEP(all, refused, "init", TUTTI_ERR_INVALID_ARGUMENT, rank, reason);
        team_start(all, 2, 2, PATIENT, LIST("init", "call barrier", "destroy"));
        for (int32_t index = 0; index < 3; ++index) {
            const int32_t process = index == refused ? SECOND : index;
            EXPECT_DONE(all, process, "init");
            EXPECT_DONE(all, process, "barrier");
        }
        team_await_end(all, refused);
        team_expect_ends(all, -1);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

static void a_process_too_many_is_refused_when_the_group_is_complete(void** state) {
    enum { SECOND = 4 };
    team* all = (team*)*state;
    team_start_all(all, 3, PATIENT, LIST("init", "pause", "call barrier", "destroy"));
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    for (int32_t rank = 0; rank < 3; ++rank) {
        char reason[64];
        snprintf(reason, sizeof reason, "another process has already joined as rank %d", (int)rank);
        team_start(all, SECOND + rank, rank, PATIENT, LIST("init"));
        EXPECT_STEP(all, SECOND + rank, "init", TUTTI_ERR_INVALID_ARGUMENT, rank, reason);
    }
    for (int32_t index = 0; index < 3; ++index) team_resume(all, index);
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "barrier");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

/* Its remains at the store keep no rank from meeting there again. */
static void ranks_meet_again_where_a_rank_0_was_killed(void** state) {
    enum { AGAIN = 4 };
    team* all = (team*)*state;
    int32_t port;
    all->size = 2;
    team_start(all, 0, 0, PATIENT, LIST("init"));
    team_await_ports(all, 0, &port, 1); /* of the control connections */
    team_signal(all, 0, SIGKILL);
    team_await_end(all, 0);
    for (int32_t rank = 0; rank < 2; ++rank) {
        team_start(all, AGAIN + rank, rank, PATIENT, LIST("init", "call barrier", "destroy"));
    }
    for (int32_t rank = 0; rank < 2; ++rank) {
        EXPECT_DONE(all, AGAIN + rank, "init");
        EXPECT_DONE(all, AGAIN + rank, "barrier");
        EXPECT_DONE(all, AGAIN + rank, "destroy");
    }
    team_expect_ends(all, 0);
}

static void the_store_ends(team* all) {
    tutti_store_release(all->store);
    all->store = NULL;
}

static void a_store_that_ends_ends_the_waits_of_its_clients(void** state) {
    team* all = (team*)*state;
    char where[64];
    snprintf(where, sizeof where, "127.0.0.1:%d", (int)all->port);
    all->size = 3;
    team_start(all, 1, 1, PATIENT, LIST("init"));
    team_start(all, 2, 2, PATIENT, LIST("fetch"));
    team_await_clients(all, 4); /* each has one connection to ask, and one to wait */
    the_store_ends(all);
    EXPECT_STEP(all, 1, "init", TUTTI_ERR_STORE, -1, where);
    EXPECT_STEP(all, 2, "fetch", TUTTI_ERR_STORE, -1, where, "never set");
    team_expect_ends(all, -1);
}

static void a_store_whose_process_is_killed_ends_the_waits_of_its_clients(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    the_store_ends(all);
    team_start(all, 0, 0, PATIENT, LIST("serve", "pause"));
    all->port = team_next(all, 0).rank;
    char where[64];
    snprintf(where, sizeof where, "127.0.0.1:%d", (int)all->port);
    for (int32_t index = 1; index < 3; ++index) {
        team_start(all, index, index, PATIENT, LIST("store", "fetch", "fetch"));
        EXPECT_DONE(all, index, "store");
    }
    team_signal(all, 0, SIGKILL);
    for (int32_t index = 1; index < 3; ++index) {
        EXPECT_STEP(all, index, "fetch", TUTTI_ERR_STORE, -1, where, "never set");
        EXPECT_STEP(all, index, "fetch", TUTTI_ERR_STORE, -1, where, "never set");
    }
    team_expect_ends(all, 0);
}

static void a_group_that_is_made_outlives_the_store(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 3, PATIENT, LIST("init", "pause", "call all_reduce", "destroy"));
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    the_store_ends(all);
    for (int32_t index = 0; index < 3; ++index) team_resume(all, index);
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "all_reduce");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

static void a_port_where_nobody_listens_is_named_within_the_timeout(void** state) {
    team* all = (team*)*state;
    struct sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    /* Bound, so that nobody else gets the port, but not listening. */
    const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(bound, (struct sockaddr*)&address, size), 0);
    assert_int_equal(getsockname(bound, (struct sockaddr*)&address, &size), 0);
    all->port = ntohs(address.sin_port);
    char where[64];
    snprintf(where, sizeof where, "127.0.0.1:%d", (int)all->port);
    all->size = 2;
    team_start(all, 1, 1, PATIENT, LIST("init timeout=3000"));
    EXPECT_STEP(all, 1, "init", TUTTI_ERR_NETWORK, -1, "tutti_init_process_group: ", where,
                "Connection refused");
    team_expect_ends(all, -1);
    close(bound);
}

enum { STRANGERS = 4, MOST_STRANGERS = 64 };
typedef struct crowd {
    int sockets[MOST_STRANGERS];
    int count;
} crowd;

/* One sends noise, one half a frame, one hangs up at once, one says nothing. */
static void send_strangers(crowd* strangers, int32_t port) {
    static const unsigned char half[6] = {100, 0, 0, 0, 1, 2};
    static unsigned char noise[70000];
    for (size_t index = 0; index < sizeof noise; ++index) {
        noise[index] = (unsigned char)(index * 7919 >> 3);
    }
    const struct sockaddr_in address = loopback_address(port);
    for (int kind = 0; kind < STRANGERS; ++kind) {
        const int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(one >= 0 && strangers->count < MOST_STRANGERS);
        (void)connect(one, (const struct sockaddr*)&address, sizeof address);
        if (kind == 0) (void)send(one, noise, sizeof noise, MSG_NOSIGNAL);
        if (kind == 1) (void)send(one, half, sizeof half, MSG_NOSIGNAL);
        if (kind == 2) {
            close(one);
        } else {
            strangers->sockets[strangers->count++] = one;
        }
    }
}

static void strangers_disturb_neither_a_group_nor_its_making(void** state) {
    team* all = (team*)*state;
    crowd strangers = {{0}, 0};
    int32_t ports[3];
    all->size = 3;
    for (int32_t rank = 0; rank < 2; ++rank) {
        team_start(all, rank, rank, PATIENT,
                   LIST("init", "pause", "call all_reduce count=100000", "destroy"));
    }
    for (int32_t rank = 0; rank < 2; ++rank) {
        team_await_ports(all, rank, ports + rank, 1); /* of its control connections */
    }
    for (int index = 0; index < 2; ++index) send_strangers(&strangers, ports[index]);
    team_start(all, 2, 2, PATIENT,
               LIST("init", "pause", "call all_reduce count=100000", "destroy"));
    for (int32_t rank = 0; rank < 3; ++rank) {
        EXPECT_DONE(all, rank, "init");
        EXPECT_DONE(all, rank, "pause");
    }
    team_await_ports(all, 0, ports, 3); /* of control and data connections, and Gloo's own */
    for (int index = 0; index < 3; ++index) send_strangers(&strangers, ports[index]);
    for (int32_t rank = 0; rank < 3; ++rank) team_resume(all, rank);
    for (int32_t rank = 0; rank < 3; ++rank) {
        EXPECT_DONE(all, rank, "all_reduce");
        EXPECT_DONE(all, rank, "destroy");
    }
    team_expect_ends(all, -1);
    for (int index = 0; index < strangers.count; ++index) close(strangers.sockets[index]);
}

static void a_malformed_variable_of_shared_memory_is_refused(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 2, LIST("TUTTI_FAULTS_BACKEND=shm", "TUTTI_PLACEMENT=never"), LIST("init"));
    for (int32_t index = 0; index < 2; ++index) {
        /* By itself, or told by the other one, whose variable it is then. */
        EXPECT_STEP_AMONG(all, index, "init", AMONG(TUTTI_ERR_INVALID_ARGUMENT),
                          AMONG(-1, 1 - index), "TUTTI_PLACEMENT", "\"never\"");
    }
    team_expect_ends(all, -1);
}

static void ranks_that_stay_on_their_processors_make_a_group(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 4, LIST("TUTTI_FAULTS_BACKEND=shm", "TUTTI_PLACEMENT=0"),
                   LIST("init", "call all_reduce", "destroy"));
    for (int32_t index = 0; index < 4; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "all_reduce");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(ranks_that_never_come_are_named_by_all_who_wait),
        TEAM_TEST(whoever_gives_up_first_is_not_taken_for_the_missing_rank),
        TEAM_TEST(a_rank_0_that_never_comes_is_named),
        TEAM_TEST(a_rank_killed_while_ranks_meet_is_named),
        TEAM_TEST(a_rank_that_comes_after_rank_0_has_died_ends_within_its_timeout),
        TEAM_TEST(two_processes_of_one_rank_are_told_apart),
        TEAM_TEST(a_process_too_many_is_refused_when_the_group_is_complete),
        TEAM_TEST(ranks_meet_again_where_a_rank_0_was_killed),
        TEAM_TEST(a_store_that_ends_ends_the_waits_of_its_clients),
        TEAM_TEST(a_store_whose_process_is_killed_ends_the_waits_of_its_clients),
        TEAM_TEST(a_group_that_is_made_outlives_the_store),
        TEAM_TEST(a_port_where_nobody_listens_is_named_within_the_timeout),
        TEAM_TEST(strangers_disturb_neither_a_group_nor_its_making),
        TEAM_TEST(a_malformed_variable_of_shared_memory_is_refused),
        TEAM_TEST(ranks_that_stay_on_their_processors_make_a_group),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
