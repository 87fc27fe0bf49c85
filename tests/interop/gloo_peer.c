/* A rank of tutti's in a group with PyTorch's ranks: runs a plan, and compares every result with
 * what it must be. The same calls and values as gloo_peer.py; see gloo. Public headers only.
 *   tutti_gloo_interop_peer PLAN RANK SIZE PORT BACKEND init|store|plugin */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "interop/gloo_values.h"

enum { MOST_RANKS = 8, MOST_GROUPS = 64, MOST_PENDING = 8, MOST_PIECES = MOST_RANKS };

static tutti_error error;
static int failures, calls;
static tutti_group* groups[MOST_GROUPS] = {TUTTI_GROUP_WORLD};
static int group_count = 1;
static tutti_store* plugin_store; /* where ranks meet whose PyTorch has the backend "tutti" */

static void die(const char* what) {
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(2);
}

#define MUST(what)                          \
    do {                                    \
        if ((what) != TUTTI_OK) die(#what); \
    } while (0)

/* PyTorch gives its backends complex numbers as pairs of real ones, except in the calls that are
 * named here. Backend "gloo" does that by itself. */
static int64_t reals(const call* of) {
    const int is_complex = of->dtype == TUTTI_COMPLEX64 || of->dtype == TUTTI_COMPLEX128;
    const int stays_complex = strcmp(of->kind, "reduce") == 0 || strcmp(of->kind, "gather") == 0 ||
                              strncmp(of->kind, "reduce_scatter", 14) == 0;
    return plugin_store != NULL && is_complex && !stays_complex ? 2 : 1;
}

static tutti_buffer buffer(const call* of, char* data, int64_t first, int64_t count) {
    tutti_buffer made = TUTTI_BUFFER_INIT(data + first * (int64_t)of->element, count, of->dtype);
    if (reals(of) == 2) {
        made.count = 2 * count;
        made.dtype = of->dtype == TUTTI_COMPLEX64 ? TUTTI_FLOAT32 : TUTTI_FLOAT64;
    }
    return made;
}

static void make(call* of, int64_t in_count, int64_t out_count) {
    of->in = calloc((size_t)in_count + 1, of->element);
    of->out = calloc((size_t)out_count + 1, of->element);
    of->out_count = out_count;
    for (int64_t i = 0; i < in_count; ++i) {
        store(of, of->in + i * (int64_t)of->element, value(of, of->me, i));
    }
}

static void pieces(const call* of, char* data, tutti_buffer* list) {
    for (int rank = 0; rank < of->ranks; ++rank) {
        list[rank] = buffer(of, data, rank * of->count, of->count);
    }
}

static void begin_reduction(call* of, tutti_work** work) {
    const int64_t count = of->count, all = count * of->ranks;
    const int is_scatter = strncmp(of->kind, "reduce_scatter", 14) == 0;
    const int has_result = strcmp(of->kind, "reduce") != 0 || of->me == of->root;
    make(of, is_scatter ? all : count, has_result ? count : 0);
    const tutti_buffer in = buffer(of, of->in, 0, is_scatter ? all : count);
    const tutti_buffer out = buffer(of, of->out, 0, count);
    tutti_buffer list[MOST_PIECES];
    if (strcmp(of->kind, "all_reduce") == 0) {
        MUST(tutti_all_reduce(of->group, &in, &out, of->op, NULL, work, &error));
    } else if (strcmp(of->kind, "reduce") == 0) {
        MUST(tutti_reduce(of->group, &in, has_result ? &out : NULL, of->op, of->root, NULL, work,
                          &error));
    } else if (strcmp(of->kind, "reduce_scatter") == 0) {
        pieces(of, of->in, list);
        MUST(tutti_reduce_scatter(of->group, list, of->ranks, &out, of->op, NULL, work, &error));
    } else {
        MUST(tutti_reduce_scatter_tensor(of->group, &in, &out, of->op, NULL, work, &error));
    }
}

static void begin_coalesced(call* of, tutti_work** work) {
    const int64_t count = of->count;
    tutti_group* list = NULL;
    make(of, 2 * count + 1, 2 * count + 1);
    for (int64_t i = 0; i <= count; ++i) {
        store(of, of->in + (count + i) * (int64_t)of->element, value(of, of->me, i));
    }
    MUST(tutti_coalescing_begin(of->group, NULL, &list, &error));
    for (int64_t one = 0; one < 2; ++one) {
        const tutti_buffer in = buffer(of, of->in, one * count, count + one);
        const tutti_buffer out = buffer(of, of->out, one * count, count + one);
        MUST(tutti_all_reduce(list, &in, &out, of->op, NULL, NULL, &error));
    }
    MUST(tutti_coalescing_end(list, NULL, work, &error));
}

static void begin_move(call* of, tutti_work** work) {
    const int64_t count = of->count, all = count * of->ranks;
    const int is_root = of->me == of->root;
    tutti_buffer in_list[MOST_PIECES], out_list[MOST_PIECES];
    const char* const kind = of->kind;
    if (strcmp(kind, "broadcast") == 0) {
        make(of, count, count);
        if (is_root && count > 0) memcpy(of->out, of->in, (size_t)count * of->element);
    } else if (strcmp(kind, "scatter") == 0) {
        make(of, is_root ? all : 0, count);
    } else if (strcmp(kind, "gather") == 0) {
        make(of, count, is_root ? all : 0);
    } else {
        make(of, strstr(kind, "gather") != NULL ? count : all, all);
    }
    const tutti_buffer one_in = buffer(of, of->in, 0, count), all_in = buffer(of, of->in, 0, all);
    const tutti_buffer one_out = buffer(of, of->out, 0, count);
    const tutti_buffer all_out = buffer(of, of->out, 0, all);
    pieces(of, of->in, in_list);
    pieces(of, of->out, out_list);
    if (strcmp(kind, "broadcast") == 0) {
        MUST(tutti_broadcast(of->group, &one_out, of->root, NULL, work, &error));
    } else if (strcmp(kind, "all_gather") == 0) {
        MUST(tutti_all_gather(of->group, &one_in, out_list, of->ranks, NULL, work, &error));
    } else if (strcmp(kind, "all_gather_into_tensor") == 0) {
        MUST(tutti_all_gather_into_tensor(of->group, &one_in, &all_out, NULL, work, &error));
    } else if (strcmp(kind, "gather") == 0) {
        MUST(tutti_gather(of->group, &one_in, is_root ? out_list : NULL, is_root ? of->ranks : 0,
                          of->root, NULL, work, &error));
    } else if (strcmp(kind, "scatter") == 0) {
        MUST(tutti_scatter(of->group, is_root ? in_list : NULL, is_root ? of->ranks : 0, &one_out,
                           of->root, NULL, work, &error));
    } else if (strcmp(kind, "all_to_all") == 0) {
        MUST(tutti_all_to_all(of->group, in_list, of->ranks, out_list, of->ranks, NULL, work,
                              &error));
    } else {
        MUST(tutti_all_to_all_single(of->group, &all_in, NULL, 0, &all_out, NULL, 0, NULL, work,
                                     &error));
    }
}

static void begin_uneven(call* of, tutti_work** work) {
    int64_t sends[MOST_RANKS], receives[MOST_RANKS], in_count = 0, out_count = 0;
    for (int rank = 0; rank < of->ranks; ++rank) {
        in_count += sends[rank] = split(of, of->me, rank);
        out_count += receives[rank] = split(of, rank, of->me);
    }
    make(of, in_count, out_count);
    const tutti_buffer in = buffer(of, of->in, 0, in_count);
    const tutti_buffer out = buffer(of, of->out, 0, out_count);
    for (int rank = 0; rank < of->ranks; ++rank) {
        sends[rank] *= reals(of);
        receives[rank] *= reals(of);
    }
    MUST(tutti_all_to_all_single(of->group, &in, sends, of->ranks, &out, receives, of->ranks, NULL,
                                 work, &error));
}

static void begin_message(call* of) {
    const int is_any = strcmp(of->kind, "any_source") == 0;
    const int32_t after = (of->me + 1) % of->ranks, before = (of->me + of->ranks - 1) % of->ranks;
    const int32_t tag = (int32_t)(of->step % 50) + (is_any ? 1000 : 0);
    make(of, of->count, of->count);
    const tutti_buffer in = buffer(of, of->in, 0, of->count);
    const tutti_buffer out = buffer(of, of->out, 0, of->count);
    MUST(tutti_send(of->group, &in, after, tag, NULL, &of->works[0], &error));
    MUST(tutti_recv(of->group, &out, is_any ? -1 : before, tag, NULL, NULL, &of->works[1], &error));
    of->work_count = 2;
}

static void begin(call* of) {
    tutti_work** const work = of->is_async ? of->works : NULL;
    of->work_count = of->is_async;
    if (strcmp(of->kind, "barrier") == 0) {
        MUST(tutti_barrier(of->group, NULL, work, &error));
    } else if (strcmp(of->kind, "coalesced") == 0) {
        begin_coalesced(of, work);
    } else if (is_reduction(of)) {
        begin_reduction(of, work);
    } else if (strcmp(of->kind, "uneven") == 0) {
        begin_uneven(of, work);
    } else if (strcmp(of->kind, "message") == 0 || strcmp(of->kind, "any_source") == 0) {
        begin_message(of);
    } else {
        begin_move(of, work);
    }
}

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

/* 0: this rank has no part in it. */
static int read_call(const char* line, call* of) {
    char dtype[16], op[16];
    int group = 0, is_async = 0;
    memset(of, 0, sizeof *of);
    snprintf(of->line, sizeof of->line, "%.*s", (int)strcspn(line, "\n"), line);
    long long step = 0, count = 0;
    if (sscanf(line, "%lld %31s %15s %15s %lld %d %d %d", &step, of->kind, dtype, op, &count,
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
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; ++i) {
        if (strcmp(op, op_names[i]) == 0) of->op = (tutti_reduce_op)i;
    }
    if (of->group == TUTTI_GROUP_NON_MEMBER) return 0;
    of->me = tutti_get_rank(of->group);
    of->ranks = tutti_get_world_size(of->group);
    return 1;
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
