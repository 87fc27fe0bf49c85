/* See processes.h. The processes have a group of their own, over gloo, which no test harms. */
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t group_timeout_ms = 60000;
static tutti_error error = TUTTI_ERROR_INIT;

static void must(tutti_status status, const char* what) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(1);
}

void processes_begin(void) {
    must(tutti_init_process_group("gloo", NULL, "processes", -1, -1, NULL, &error), "meeting");
}

void processes_end(void) {
    must(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error), "the end");
    must(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), "the end");
}

int32_t process_rank(void) {
    return tutti_get_rank(TUTTI_GROUP_WORLD);
}

int32_t process_ranks(void) {
    return tutti_get_world_size(TUTTI_GROUP_WORLD);
}

uint64_t processes_agree(uint64_t value) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_UINT64);
    must(tutti_broadcast(TUTTI_GROUP_WORLD, &buffer, 0, NULL, NULL, &error), "agreeing");
    return value;
}

void processes_share(void* all, size_t bytes) {
    const size_t ranks = (size_t)process_ranks();
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(all, ranks * bytes, TUTTI_UINT8);
    must(tutti_all_gather_into_tensor(TUTTI_GROUP_WORLD, NULL, &buffer, NULL, NULL, &error),
         "sharing");
}

int run_ranks_of_processes(const char* backend, rank_function function, void* user) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    rank_context me;
    memset(&me, 0, sizeof me);
    tutti_error_init(&me.error, sizeof me.error);
    me.rank = process_rank();
    me.size = process_ranks();
    me.user = user;
    options.timeout_ms = group_timeout_ms;
    must(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, NULL, &options, &me.group, &error),
         backend);
    function(&me);
    if (!me.failed) {
        const tutti_status status = tutti_destroy_process_group(me.group, NULL, &me.error);
        if (status != TUTTI_OK) rank_failed(&me, __FILE__, __LINE__, "destroy", status);
    }
    tutti_group_release(me.group);
    return (int)rank_sum(&me, TUTTI_GROUP_WORLD, me.failed);
}
