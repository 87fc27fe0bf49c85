/* A process of reconfigure_test. Each line of standard input is a command; the answer is a line
 * "STATUS ERROR-RANK TEXT", whose text is the error's message, or what is said below:
 *   handle                     TEXT is this process's handle
 *   world ID TIMEOUT HANDLE…   tutti_group_reconfigure of TUTTI_GROUP_WORLD; "RANK of SIZE"
 *   group ID TIMEOUT HANDLE…   the same of a group of its own, which is kept; "RANK of SIZE"
 *   sum                        of 2 to the power of the rank, over the default group; the sum
 *   exit                       without destroying anything; no answer
 * The backend is the argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

enum { MOST_RANKS = 8, LINE = 1 << 16 };

static const char* backend;
static tutti_group* kept = TUTTI_GROUP_NON_MEMBER;

static void answer(tutti_status status, const tutti_error* error, const char* text) {
    printf("%d %d %s\n", (int)status, status == TUTTI_OK ? -1 : (int)error->rank,
           status == TUTTI_OK ? text : error->message);
    fflush(stdout);
}

static void tell_handle(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_bytes* handle = NULL;
    const tutti_status status = tutti_get_reconfigure_handle(&handle, &error);
    char text[1024] = "";
    if (status == TUTTI_OK) {
        snprintf(text, sizeof text, "%.*s", (int)tutti_bytes_size(handle),
                 (const char*)tutti_bytes_data(handle));
    }
    tutti_bytes_release(handle);
    answer(status, &error, text);
}

static void reconfigure(int is_world, char* rest) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    const char* handles[MOST_RANKS];
    int64_t count = 0;
    char* place = NULL;
    const uint64_t id = strtoull(strtok_r(rest, " ", &place), NULL, 10);
    options.timeout_ms = strtoll(strtok_r(NULL, " ", &place), NULL, 10);
    for (char* one; (one = strtok_r(NULL, " ", &place)) != NULL;) handles[count++] = one;
    tutti_group* const before = is_world ? TUTTI_GROUP_WORLD : kept;
    tutti_group* made = NULL;
    const tutti_status status = tutti_group_reconfigure(before, id, handles, count, backend, NULL,
                                                        &options, is_world ? NULL : &made, &error);
    char text[64];
    tutti_group* const group = is_world ? TUTTI_GROUP_WORLD : made;
    snprintf(text, sizeof text, "%d of %d", (int)tutti_get_rank(group),
             (int)tutti_get_world_size(group));
    if (status == TUTTI_OK && !is_world) {
        tutti_group_release(kept);
        kept = made;
    }
    answer(status, &error, text);
}

static void sum(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    int64_t number = (int64_t)1 << tutti_get_rank(TUTTI_GROUP_WORLD);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT64);
    const tutti_status status =
        tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error);
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    answer(status, &error, text);
}

int main(int argc, char** argv) {
    static char line[LINE];
    backend = argc > 1 ? argv[1] : NULL;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "handle") == 0) tell_handle();
        if (strncmp(line, "world ", 6) == 0) reconfigure(1, line + 6);
        if (strncmp(line, "group ", 6) == 0) reconfigure(0, line + 6);
        if (strcmp(line, "sum") == 0) sum();
        if (strcmp(line, "exit") == 0) _Exit(0);
    }
    tutti_group_release(kept);
    if (tutti_is_initialized()) tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, NULL);
    return 0;
}
