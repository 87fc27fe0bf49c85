/* A rank of tutti's in a group with PyTorch's ranks: runs a plan, and compares every result with
 * what it must be. The same calls and values as gloo_peer.py; see gloo. Public headers only.
 *   tutti_gloo_interop_peer PLAN RANK SIZE PORT BACKEND init|store|plugin */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "interop/gloo_calls.h"

enum { MOST_GROUPS = 256, MOST_PENDING = 8 };

static int failures, calls;
static tutti_group* groups[MOST_GROUPS] = {TUTTI_GROUP_WORLD};
static int group_count = 1;

static void end(call* of) {
    for (int i = 0; i < of->work_count; ++i) {
        if (tutti_work_wait(of->works[i], 0, &error) != TUTTI_OK) die(of->line);
        tutti_work_release(of->works[i]);
    }
    int has_failed = 0;
    for (int64_t i = 0; i < of->out_count && !has_failed; ++i) {
        has_failed = !is_right(of, of->out + i * (int64_t)of->element, wanted(of, i));
        if (has_failed) fprintf(stderr, "%s: element %lld is wrong\n", of->line, (long long)i);
    }
    failures += has_failed;
    free(of->in);
    free(of->out);
    ++calls;
}

/* PyTorch's groups meet one by one, each under its number. */
static void make_plugin_group(const int32_t* ranks, int count) {
    char prefix[64];
    tutti_store* part = NULL;
    tutti_group** const made = &groups[group_count];
    *made = TUTTI_GROUP_NON_MEMBER;
    snprintf(prefix, sizeof prefix, "default_pg/0//%d//cpu/", group_count++);
    for (int32_t i = 0; i < count; ++i) {
        if (ranks[i] != tutti_get_rank(TUTTI_GROUP_WORLD)) continue;
        MUST(tutti_prefix_store_create(plugin_store, prefix, &part, &error));
        MUST(tutti_group_create(NULL, part, NULL, i, count, NULL, made, &error));
        tutti_store_release(part);
    }
}

static void make_group(char* words) {
    int32_t ranks[MOST_RANKS];
    int count = 0;
    for (char* word = strtok(words, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        ranks[count++] = (int32_t)strtol(word, NULL, 10);
    }
    if (plugin_store != NULL) {
        make_plugin_group(ranks, count);
        return;
    }
    MUST(tutti_new_group(TUTTI_GROUP_WORLD, ranks, count, NULL, NULL, NULL, &groups[group_count++],
                         &error));
}

/* PREMUL_SUM of twice each number. */
static tutti_reduce_op doubling(void) {
    static tutti_reduce_op op;
    static int is_made;
    double two = 2;
    const tutti_buffer factor = TUTTI_BUFFER_INIT(&two, 1, TUTTI_FLOAT64);
    if (!is_made) MUST(tutti_reduce_op_create_premul_sum(&factor, &op, &error));
    is_made = 1;
    return op;
}

/* 0: this rank has no part in it. */
static int read_call(const char* line, call* of) {
    char dtype[16], op[16];
    int group = 0, is_async = 0;
    memset(of, 0, sizeof *of);
    snprintf(of->line, sizeof of->line, "%.*s", (int)strcspn(line, "\n"), line);
    long long step = 0, count = 0;
    if (sscanf(line, "%lld %39s %15s %15s %lld %d %d %d", &step, of->kind, dtype, op, &count,
               &of->root, &group, &is_async) != 8) {
        die(line);
    }
    of->step = step;
    of->count = count;
    of->is_async = is_async & 1;
    of->group = groups[group];
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        if (strcmp(dtype, dtypes[i].name) != 0) continue;
        of->dtype = dtypes[i].dtype;
        of->element = dtypes[i].size;
    }
    if (strcmp(op, "PREMUL_SUM") == 0) of->op = doubling();
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; ++i) {
        if (strcmp(op, op_names[i]) == 0) of->op = (tutti_reduce_op)i;
    }
    if (of->group == TUTTI_GROUP_NON_MEMBER) return 0;
    of->me = tutti_get_rank(of->group);
    of->ranks = tutti_get_world_size(of->group);
    return 1;
}

/* A rank and a signal: that rank ends. */
static void maybe_end(const char* words) {
    int rank = -1, number = 0;
    if (sscanf(words, "%d %d", &rank, &number) != 2 || rank != tutti_get_rank(TUTTI_GROUP_WORLD))
        return;
    printf("died %.6f\n", now_s());
    fflush(stdout);
    raise(number);
}

static void run(FILE* plan) {
    static call pending[MOST_PENDING];
    int first = 0, count = 0;
    char line[256];
    while (fgets(line, sizeof line, plan) != NULL) {
        char* const name = strchr(line, ' ');
        if (name != NULL && strncmp(name, " group ", 7) == 0) {
            make_group(name + 7);
            continue;
        }
        if (name != NULL && strncmp(name, " die ", 5) == 0) {
            maybe_end(name + 5);
            continue;
        }
        call* const next = &pending[(first + count) % MOST_PENDING];
        if (!read_call(line, next)) continue;
        begin(next);
        ++count;
        while (count > (next->is_async ? 4 : 0)) {
            end(&pending[first]);
            first = (first + 1) % MOST_PENDING;
            --count;
        }
    }
    for (; count > 0; --count, first = (first + 1) % MOST_PENDING) end(&pending[first]);
}

/* "init": at the init method; "store": at a prefix store of the program's own; "plugin": where
 * PyTorch's ranks meet with backend "tutti". */
static void meet(const char* how, const char* backend, int32_t rank, int32_t size, int32_t port,
                 const tutti_group_options* options) {
    char method[64];
    tutti_store *whole = NULL, *part = NULL;
    const int is_plugin = strcmp(how, "plugin") == 0;
    if (strcmp(how, "init") == 0) {
        snprintf(method, sizeof method, "tcp://127.0.0.1:%d", (int)port);
        MUST(tutti_init_process_group(backend, method, NULL, rank, size, options, &error));
        return;
    }
    MUST(tutti_tcp_store_create("127.0.0.1", port, size, rank == 0, NULL, &whole, &error));
    MUST(tutti_prefix_store_create(whole, is_plugin ? "default_pg/0//cpu/" : "weights", &part,
                                   &error));
    MUST(tutti_init_process_group_with_store(is_plugin ? NULL : backend, part, NULL, rank, size,
                                             options, &error));
    tutti_store_release(part);
    if (is_plugin) {
        plugin_store = whole;
        return;
    }
    tutti_store_release(whole);
}

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = 60000;
    tutti_error_init(&error, sizeof error);
    meet(argv[6], argv[5], (int32_t)strtol(argv[2], NULL, 10), (int32_t)strtol(argv[3], NULL, 10),
         (int32_t)strtol(argv[4], NULL, 10), &options);
    FILE* const plan = fopen(argv[1], "r");
    if (plan == NULL) return 2;
    run(plan);
    fclose(plan);
    MUST(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    tutti_store_release(plugin_store);
    printf("%d calls, %d wrong\n", calls, failures);
    return failures > 0;
}
