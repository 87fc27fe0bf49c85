/* breakpoint RANK: the ranks of a launcher add up, meet at a breakpoint in which RANK stops, and
 * add up again. "breakpoint -": they add up until a byte comes from the pipe of rank 0's standard
 * input. "breakpoint silence": rank 1 stops, and rank 0 hears so when the limit of silence has
 * passed. "breakpoint apart": rank 1 calls what the others do not. A failure is printed, and ends
 * it with 3. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000 };

static tutti_error error = TUTTI_ERROR_INIT;

static void must(tutti_status status, const char* call) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s: %s\n", call, tutti_status_name(status), error.message);
    exit(3);
}

static int32_t add_up(int32_t value) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    must(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, &options, NULL, &error),
         "all_reduce");
    return value;
}

/* Seen in the call stacks of errors. */
void call_apart(int32_t rank);
void call_apart(int32_t rank) {
    int32_t values[2] = {1, 1};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, rank == 1 ? 2 : 1, TUTTI_INT32);
    must(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error),
         "all_reduce");
}

static void where_the_user_stops(int32_t rank) {
    must(tutti_breakpoint(TUTTI_GROUP_WORLD, rank, NULL, &error), "breakpoint");
}

/* Rank 0 has got a byte. */
static int32_t is_over(int32_t rank) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return rank == 0 && poll(&input, 1, 1) == 1;
}

int main(int count, char** arguments) {
    const char* const what = count == 2 ? arguments[1] : "";
    must(tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error),
         "init_process_group");
    const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    (void)add_up(1);
    if (strcmp(what, "silence") == 0) {
        if (rank == 1) raise(SIGSTOP);
    } else if (strcmp(what, "-") == 0) {
        fprintf(stderr, "rank %d is process %d\n", (int)rank, (int)getpid());
        while (add_up(is_over(rank)) == 0) {
        }
    } else if (strcmp(what, "apart") == 0) {
        call_apart(rank);
    } else {
        where_the_user_stops((int32_t)atoi(what));
    }
    if (add_up(1) != size) return 4;
    fprintf(stderr, "rank %d is done\n", (int)rank);
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), "destroy_process_group");
    return 0;
}
