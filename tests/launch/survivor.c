/* survivor VICTIM...: ranks of a launcher add up which they are, once for each victim, which kills
 * itself before; the others shrink the group and go on. Victim "-" is whoever somebody else ends:
 * the ranks add up until one is missing. "again" is no victim: the others meet at the store once
 * more, and make a new default group. A failure is printed, and ends it with 3. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

enum { TIMEOUT_MS = 60000 };

static tutti_error error = TUTTI_ERROR_INIT;
static uint64_t own;

static void must(tutti_status status, const char* call) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s: %s\n", call, tutti_status_name(status), error.message);
    exit(3);
}

static void expect(int is_true, const char* sentence) {
    if (is_true) return;
    fprintf(stderr, "%s\n", sentence);
    exit(3);
}

/* A bit for each rank of the launcher that is in the group. */
static tutti_status add_up(uint64_t* members) {
    *members = own;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(members, 1, TUTTI_UINT64);
    return tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error);
}

static void shrink(void) {
    must(tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_ABORT, NULL, NULL, NULL,
                            &error),
         "shrink_group");
}

static uint64_t go_on_without(const char* victim, uint64_t before) {
    uint64_t members = before;
    tutti_status status = TUTTI_OK;
    if (strcmp(victim, getenv("RANK")) == 0) raise(SIGKILL);
    while (status == TUTTI_OK) {
        status = add_up(&members);
        expect(status != TUTTI_OK || members == before, "a wrong sum");
    }
    expect(status == TUTTI_ERR_PEER_LOST || status == TUTTI_ERR_ABORTED, error.message);
    shrink();
    must(add_up(&members), "all_reduce");
    expect((members & own) != 0 && members < before, "a wrong sum of those that are left");
    expect(strcmp(victim, "-") == 0 || members == before - ((uint64_t)1 << atoi(victim)),
           "the wrong ranks are left");
    return members;
}

static void init(int32_t rank, int32_t size) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    must(tutti_init_process_group(NULL, "env://", NULL, rank, size, &options, &error), "init");
}

static void destroy(void) {
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), "destroy");
}

static void meet_again(uint64_t before) {
    const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    uint64_t members = 0;
    destroy();
    init(rank, size);
    must(add_up(&members), "all_reduce");
    expect(members == before, "others have met again");
}

int main(int argc, char** argv) {
    expect(getenv("RANK") != NULL, "RANK is not set");
    own = (uint64_t)1 << atoi(getenv("RANK"));
    init(-1, -1);
    uint64_t members = 0;
    must(add_up(&members), "all_reduce");
    puts("ready");
    fflush(stdout);
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "again") == 0) {
            meet_again(members);
        } else {
            members = go_on_without(argv[i], members);
        }
    }
    printf("%d ranks are left\n", (int)tutti_get_world_size(TUTTI_GROUP_WORLD));
    destroy();
    return 0;
}
