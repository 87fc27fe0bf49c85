/* Ranks as processes; see processes.h. */
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contract.h"
#include "sanitizers.h"
#include "sockets.h"

extern char** environ;

/* Nothing here takes long; this is for what would never end, on the slowest machine. */
static const int64_t grace_ms = SANITIZED ? 180000 : 60000;
/* Between two looks at what only shows itself when it is looked at. */
static const int look_again_ms = 5;

const char* worker_program;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void must(int happened, const char* what) {
    if (happened) return;
    fprintf(stderr, "processes: %s: %s\n", what, strerror(errno));
    abort();
}

/* TUTTI_TEST_PATIENCE times as long; tests/overload sets it, where a minute is short. */
static int64_t patient_ms(void) {
    const char* const given = getenv("TUTTI_TEST_PATIENCE");
    const long times = given == NULL ? 1 : strtol(given, NULL, 10);
    return grace_ms * (times > 1 && times <= 1000 ? times : 1);
}

int team_open(void** state) {
    team* all = (team*)calloc(1, sizeof *all);
    must(all != NULL, "out of memory");
    tutti_error fault = TUTTI_ERROR_INIT;
    if (tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &all->store, &fault) != TUTTI_OK ||
        tutti_tcp_store_port(all->store, &all->port, &fault) != TUTTI_OK) {
        print_error("the store: %s\n", fault.message);
        return -1;
    }
    all->limit_ms = now_ms() + patient_ms();
    *state = all;
    signal(SIGPIPE, SIG_IGN); /* a rank may die before it is told something */
    return 0;
}

static void reap(rank_process* one) {
    if (one->pid == 0) return;
    kill(one->pid, SIGKILL);
    waitpid(one->pid, &one->wait_status, 0);
    one->pid = 0;
}

int team_close(void** state) {
    team* all = (team*)*state;
    for (int index = 0; index < MOST_RANKS; ++index) {
        rank_process* one = &all->ranks[index];
        if (one->said == NULL) continue;
        reap(one);
        close(one->to);
        close(one->from);
        free(one->said);
    }
    tutti_store_release(all->store);
    free(all);
    /* No process has children that we do not know of. */
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

void team_fail(team* all, const char* file, int line, const char* what) {
    print_error("%s:%d: %s\n", file, line, what);
    for (int index = 0; index < MOST_RANKS; ++index) {
        const rank_process* one = &all->ranks[index];
        if (one->said == NULL) continue;
        const size_t shown = one->length < 1500 ? one->length : 1500;
        print_error("-- process %d %s said:\n%s\n", index, one->pid == 0 ? "has ended, and" : "",
                    one->said + one->length - shown);
    }
    _fail(file, line);
}

#define FAIL(all, what) team_fail(all, __FILE__, __LINE__, what)

void team_look_again(team* all, const char* failure) {
    if (now_ms() > all->limit_ms) FAIL(all, failure);
    poll(NULL, 0, look_again_ms);
}

/* The environment that the launcher gives; the caller frees the list and the first `own` strings.
 * */
enum { OWN_VARIABLES = 5, MOST_VARIABLES = 16 };
static char** make_environment(const team* all, int32_t rank, const char* const* variables) {
    size_t inherited = 0;
    while (environ[inherited] != NULL) ++inherited;
    char** list = (char**)calloc(inherited + OWN_VARIABLES + MOST_VARIABLES, sizeof *list);
    must(list != NULL, "out of memory");
    size_t count = 0;
    for (; count < OWN_VARIABLES; ++count) {
        list[count] = (char*)malloc(64);
        must(list[count] != NULL, "out of memory");
    }
    snprintf(list[0], 64, "RANK=%d", (int)rank);
    snprintf(list[1], 64, "WORLD_SIZE=%d", (int)all->size);
    snprintf(list[2], 64, "MASTER_ADDR=127.0.0.1");
    snprintf(list[3], 64, "MASTER_PORT=%d", (int)all->port);
    snprintf(list[4], 64, "TORCHELASTIC_USE_AGENT_STORE=True");
    for (; variables != NULL && *variables != NULL; ++variables) {
        list[count++] = (char*)(uintptr_t)*variables;
    }
    for (size_t index = 0; index < inherited; ++index) list[count++] = environ[index];
    return list; /* of two of one name, the first counts */
}

static void spawn(rank_process* one, char** variables, const char* const* steps) {
    enum { MOST_STEPS = 24 };
    const char* arguments[MOST_STEPS] = {worker_program};
    for (int count = 1; *steps != NULL; ++steps) {
        must(count < MOST_STEPS - 1, "too many steps");
        arguments[count++] = *steps;
    }
    int to[2], from[2];
    must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
    fcntl(from[1], F_SETFL, 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    errno = posix_spawn(&one->pid, worker_program, &actions, NULL,
                        (char* const*)(uintptr_t)arguments, variables);
    must(errno == 0, "posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    one->to = to[1];
    one->from = from[0];
}

void team_start(team* all, int32_t index, int32_t rank, const char* const* variables,
                const char* const* steps) {
    rank_process* one = &all->ranks[index];
    must(one->said == NULL, "that process was started before");
    one->room = 4096;
    one->said = (char*)calloc(1, one->room);
    must(one->said != NULL, "out of memory");
    char** list = make_environment(all, rank, variables);
    spawn(one, list, steps);
    for (int own = 0; own < OWN_VARIABLES; ++own) free(list[own]);
    free(list);
}

void team_start_all(team* all, int32_t size, const char* const* variables,
                    const char* const* steps) {
    all->size = size;
    for (int32_t rank = 0; rank < size; ++rank) team_start(all, rank, rank, variables, steps);
}

void team_resume(team* all, int32_t index) {
    const ssize_t written = write(all->ranks[index].to, "\n", 1);
    if (written != 1) FAIL(all, "a rank that was to go on has ended");
}

/* Returns 0 at the end of what the rank says. */
static int take_in(rank_process* one) {
    for (;;) {
        if (one->room - one->length < 2048) {
            one->room *= 2;
            one->said = (char*)realloc(one->said, one->room);
            must(one->said != NULL, "out of memory");
        }
        const ssize_t got = read(one->from, one->said + one->length, one->room - one->length - 1);
        if (got > 0) {
            one->length += (size_t)got;
            one->said[one->length] = '\0';
        } else if (got == 0) {
            return 0;
        } else if (errno != EINTR) {
            return 1;
        }
    }
}

/* Waits until one of the ranks says something, so that none is held up by a full pipe. Returns 0 if
 * this one has nothing more to say. */
static int listen_to_all(team* all, int32_t wanted) {
    struct pollfd entries[MOST_RANKS];
    int32_t who[MOST_RANKS];
    nfds_t count = 0;
    for (int32_t index = 0; index < MOST_RANKS; ++index) {
        if (all->ranks[index].said == NULL || all->ranks[index].from < 0) continue;
        const struct pollfd entry = {all->ranks[index].from, POLLIN, 0};
        entries[count] = entry;
        who[count++] = index;
    }
    const int64_t left_ms = all->limit_ms - now_ms();
    const int ready = left_ms <= 0 ? 0 : poll(entries, count, (int)left_ms);
    if (ready == 0) FAIL(all, "still waiting after so long: somebody hangs");
    for (nfds_t entry = 0; entry < count; ++entry) {
        rank_process* one = &all->ranks[who[entry]];
        if (entries[entry].revents == 0 || take_in(one)) continue;
        close(one->from);
        one->from = -1;
    }
    return all->ranks[wanted].from >= 0;
}

/* The next line of the rank, without its end; NULL if there is none any more. */
static const char* next_line(team* all, int32_t index) {
    static char line[LONGEST_LINE];
    rank_process* one = &all->ranks[index];
    for (;;) {
        const char* begin = one->said + one->read;
        const char* end = strchr(begin, '\n');
        if (end != NULL) {
            const size_t length = (size_t)(end - begin);
            must(length < sizeof line, "a line is too long");
            memcpy(line, begin, length);
            line[length] = '\0';
            one->read += length + 1;
            return line;
        }
        if (one->from < 0) return NULL;
        listen_to_all(all, index);
    }
}

void team_await_progress(team* all, int32_t index, int count) {
    while (count > 0) {
        const char* line = next_line(all, index);
        if (line == NULL || *line == '=') {
            FAIL(all, "a rank ended before it had got so far");
            return;
        }
        if (*line == '.') --count;
    }
}

int32_t team_first_to_speak(team* all, int32_t one, int32_t other) {
    for (;;) {
        const rank_process* both[2] = {&all->ranks[one], &all->ranks[other]};
        if (strchr(both[0]->said + both[0]->read, '\n') != NULL) return one;
        if (strchr(both[1]->said + both[1]->read, '\n') != NULL) return other;
        listen_to_all(all, one);
    }
}

outcome team_next(team* all, int32_t index) {
    outcome next;
    const char* line = ".";
    while (line != NULL && *line == '.') line = next_line(all, index);
    int status = -1, rank = -1, message = 0;
    if (line == NULL || sscanf(line, "= %63s %d %d %n", next.step, &status, &rank, &message) < 3) {
        FAIL(all, "a rank ended, or said what is not understood");
    }
    next.status = status;
    next.rank = rank;
    snprintf(next.message, sizeof next.message, "%s", line == NULL ? "" : line + message);
    return next;
}

static int is_among(among wanted, int32_t value) {
    for (size_t index = 0; index < wanted.count; ++index) {
        if (wanted.values[index] == value) return 1;
    }
    return 0;
}

int32_t team_expect(team* all, int32_t index, const char* step, among statuses, among blamed,
                    const char* const* fragments, const char* file, int line) {
    const outcome got = team_next(all, index);
    int right = strcmp(got.step, step) == 0 && is_among(statuses, (int32_t)got.status) &&
                is_among(blamed, got.rank);
    for (const char* const* one = fragments; one != NULL && *one != NULL; ++one) {
        if (strstr(got.message, *one) != NULL) continue;
        print_error("its message does not say \"%s\"\n", *one);
        right = 0;
    }
    if (right) return got.rank;
    print_error("process %d: wanted %s to end with", (int)index, step);
    for (size_t one = 0; one < statuses.count; ++one) {
        print_error(" %s", tutti_status_name((tutti_status)statuses.values[one]));
    }
    print_error(", blaming");
    for (size_t one = 0; one < blamed.count; ++one) print_error(" %d", (int)blamed.values[one]);
    print_error("\n");
    print_error("        got %s, which ended with %s, blaming %d: %s\n", got.step,
                tutti_status_name(got.status), (int)got.rank, got.message);
    team_fail(all, file, line, "a step ended otherwise than it should");
    return -1;
}

void team_signal(team* all, int32_t index, int signal) {
    must(kill(all->ranks[index].pid, signal) == 0, "kill");
}

void team_await_stop(team* all, int32_t index) {
    siginfo_t seen;
    for (;;) {
        memset(&seen, 0, sizeof seen);
        const id_t pid = (id_t)all->ranks[index].pid;
        must(waitid(P_PID, pid, &seen, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0, "waitid");
        if (seen.si_pid != 0) break;
        team_look_again(all, "a rank did not stop");
    }
    if (seen.si_code != CLD_STOPPED) FAIL(all, "a rank ended instead of stopping");
}

void team_stop(team* all, int32_t index) {
    team_signal(all, index, SIGSTOP);
    team_await_stop(all, index);
}

int team_await_end(team* all, int32_t index) {
    rank_process* one = &all->ranks[index];
    while (one->from >= 0) listen_to_all(all, index);
    while (one->pid != 0) {
        const pid_t gone = waitpid(one->pid, &one->wait_status, WNOHANG);
        must(gone >= 0, "waitpid");
        if (gone != 0) {
            one->pid = 0;
        } else {
            team_look_again(all, "a rank did not end");
        }
    }
    return one->wait_status;
}

void team_expect_ends(team* all, int32_t except) {
    for (int32_t index = 0; index < MOST_RANKS; ++index) {
        if (index == except || all->ranks[index].said == NULL) continue;
        const int status = team_await_end(all, index);
        if (status == 0) continue;
        print_error("process %d: exit code %d, signal %d\n", (int)index, WEXITSTATUS(status),
                    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        FAIL(all, "a rank did not end well");
    }
}

void team_await_ports(team* all, int32_t index, int32_t* ports, int count) {
    while (listening_ports(all->ranks[index].pid, ports, count) < count) {
        team_look_again(all, "a rank does not listen");
    }
}

void team_await_clients(team* all, int count) {
    while (connections_to(all->port) < count) team_look_again(all, "nobody comes to the store");
}
