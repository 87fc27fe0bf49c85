/* tutti-bench: how fast are tutti's operations? Starts its ranks itself, or is started as ranks by
 * a launcher (RANK is set then). Uses the public interface only. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "tutti_bench.h"

/* Each process of a job has a copy of this. */
typedef struct job {
    const options* asked;
    int ranks;      /* of --ranks; under a launcher 0 */
    int store_only; /* store operations, or all others; under a launcher -1: all */
    FILE* csv;      /* NULL: none */
    int table;
    int allocated; /* tensors lie in memory of tutti_memory_alloc */
} job;

static int barrier(void) {
    return tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &failure) == TUTTI_OK;
}

static int largest(double* values, int64_t count) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, count, TUTTI_FLOAT64);
    return tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_MAX, NULL, NULL, &failure) ==
           TUTTI_OK;
}

static int sum(double* value) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(value, 1, TUTTI_FLOAT64);
    return tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &failure) ==
           TUTTI_OK;
}

/* Gives each rank a processor of its own, if there is one for each: two that share one while
 * another has nothing to do measure the scheduler. Open MPI does the same. */
static void bind_to_processor(int local_rank, int ranks) {
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < ranks) return;
    int processor = 0;
    for (int before = 0; before < local_rank || !CPU_ISSET(processor, &allowed); ++processor)
        before += CPU_ISSET(processor, &allowed) ? 1 : 0;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    (void)sched_setaffinity(0, sizeof own, &own);
}

static const char* size_text(int64_t bytes, char* text, size_t size) {
    static const char* const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    snprintf(text, size, "%lld %s", (long long)bytes, units[unit]);
    return text;
}

/* Overwritten in place where somebody looks on. */
static void show_progress(const job* of, const cell* now, int done, int all) {
    char label[64], size[32];
    if (!isatty(STDERR_FILENO)) return;
    if (now == NULL) {
        fputs("\r\033[K", stderr);
        return;
    }
    cell_label(now, label, sizeof label);
    fprintf(stderr, "\r\033[K%d of %d: %s, %s, %d ranks", done + 1, all, label,
            size_text(now->bytes, size, sizeof size), of->ranks);
}

static void print_head(const cell* of, int ranks, const char* peer, const options* asked) {
    char label[64], content[64] = "";
    cell_label(of, label, sizeof label);
    if (uses_tensor(of))
        snprintf(content, sizeof content, "%s %ss, ", data_kinds[asked->data],
                 element_of(of)->name);
    printf("\n%s, %d rank%s, %s%s\n%12s %14s %14s %10s %11s%s%s\n", label, ranks,
           ranks == 1 ? "" : "s", content, peer, "size", "median us", "least us", "GB/s",
           "iterations", of->form == OVERLAP ? "  overlap" : "", asked->ways ? "  way" : "");
}

/* The share of a blocking call that the caller's computing hid. */
static double overlap_of(const result* measured) {
    const double beside = measured->median_us - measured->blocking_us;
    return 1 - beside / measured->blocking_us;
}

static void print_line(const cell* of, const result* measured, const char* way) {
    char size[32], rate[32] = "-", overlap[32] = "";
    const double speed = bandwidth(of, measured);
    if (speed > 0) snprintf(rate, sizeof rate, "%.4g", speed);
    if (of->form == OVERLAP) snprintf(overlap, sizeof overlap, " %8.2f", overlap_of(measured));
    printf("%12s %14.3f %14.3f %10s %11lld%s%s%s\n",
           of->bytes == 0 ? "-" : size_text(of->bytes, size, sizeof size), measured->median_us,
           measured->min_us, rate, (long long)measured->iterations, overlap,
           way == NULL ? "" : "  ", way == NULL ? "" : way);
    fflush(stdout);
}

static int prepare(cell* of, const library* with, char* why) {
    *why = '\0';
    if (!uses_tensor(of)) {
        if (of->op->kind != BARRIER) return prepare_value(of, with->rank, with->ranks);
        prepare_call(of);
        return 1;
    }
    if (!set_contents(of, with->rank, with->ranks)) {
        snprintf(why, WHY, "there is no memory for %lld bytes of %s among %d ranks",
                 (long long)of->bytes, of->op->name, with->ranks);
        return 0;
    }
    prepare_call(of);
    return 1;
}

/* 0: a call failed, or `why` says what was wrong. */
static int run_cell(const job* todo, cell* of, library* with, int first, char* why) {
    char peer[64], heard[WAY];
    const char* const way = todo->asked->ways ? heard : NULL;
    result measured;
    const int own = !uses_tensor(of) && of->op->kind != BARRIER;
    with->call = own ? call_with_value : call_once;
    with->after = own ? release_values : NULL;
    with->check = own ? check_value : NULL;
    if (!prepare(of, with, why)) return 0;
    const int ok = measure(with, of, &todo->asked->how, &measured, why) &&
                   (way == NULL || find_way(with, of, heard));
    if (own) end_value();
    if (!ok || with->rank != 0) return ok;
    const int ranks = uses_store(of) ? 1 : with->ranks;
    snprintf(peer, sizeof peer, "tutti-%s%s%s", tutti_get_backend(TUTTI_GROUP_WORLD),
             todo->asked->reproducible ? "-reproducible" : "", todo->allocated ? "-alloc" : "");
    show_progress(todo, NULL, 0, 0);
    if (todo->table && first) print_head(of, ranks, uses_store(of) ? "tutti" : peer, todo->asked);
    if (todo->table) print_line(of, &measured, way);
    if (todo->csv != NULL) print_row(todo->csv, peer, of, ranks, &measured, way);
    return 1;
}

static int wanted(const job* todo, const cell* of, int ranks) {
    if (todo->store_only >= 0 && uses_store(of) != todo->store_only) return 0;
    return suits(of, ranks);
}

static int run_cells(const job* todo, library* with, char* why) {
    const options* const asked = todo->asked;
    int all = 0, done = 0;
    for (int i = 0; i < asked->operation_count; ++i)
        if (wanted(todo, &asked->operations[i], with->ranks))
            all += has_size(&asked->operations[i]) ? asked->size_count : 1;
    for (int i = 0; i < asked->operation_count; ++i) {
        cell now = asked->operations[i];
        now.element = asked->element;
        if (!wanted(todo, &now, with->ranks)) {
            if (!suits(&now, with->ranks) && with->rank == 0 && todo->store_only != 1)
                fprintf(stderr, "tutti-bench: %s is for %s, left out for %d\n", now.op->name,
                        ranks_for(&now), with->ranks);
            continue;
        }
        for (int j = 0; j < (has_size(&now) ? asked->size_count : 1); ++j) {
            set_bytes(&now, asked->sizes[j], with->ranks);
            if (with->rank == 0) show_progress(todo, &now, done++, all);
            if (!run_cell(todo, &now, with, j == 0, why)) return 0;
        }
    }
    return 1;
}

static int run_cells_in_alloc(job* todo, library* with, char* why) {
    const options* const asked = todo->asked;
    todo->allocated = 1;
    for (int i = 0; i < asked->operation_count; ++i) {
        cell now = asked->operations[i];
        now.element = asked->element;
        for (int j = 0; j < asked->size_count && wanted(todo, &now, with->ranks); ++j) {
            set_bytes(&now, asked->sizes[j], with->ranks);
            want_memory(&now, with->rank, with->ranks);
        }
    }
    if (!take_memory() || !run_cells(todo, with, why)) return 0;
    give_memory_back();
    return 1;
}

static int run_in_memories(job* todo, library* with, char* why) {
    const int memory = todo->asked->memory;
    return (!(memory & PRIVATE) || run_cells(todo, with, why)) &&
           (!(memory & ALLOCATED) || run_cells_in_alloc(todo, with, why));
}

/* The most ranks among which sums of the type are exact. */
static int max_ranks(int element) {
    return strcmp(element_types[element].name, "bfloat16") == 0 ? 85 : MOST_RANKS;
}

/* A rank of a job. */
static tutti_status run_rank(int32_t local_rank, void* user, tutti_error* error) {
    job* const todo = (job*)user;
    char why[WHY] = "";
    library with = {0, 0, NULL, NULL, NULL, barrier, largest, start_call, finish_call, sum};
    tutti_error_init(&failure, sizeof failure);
    if (todo->ranks > 0 && !todo->asked->unbound) bind_to_processor(local_rank, todo->ranks);
    tutti_group_options group = TUTTI_GROUP_OPTIONS_INIT;
    group.reproducible = todo->asked->reproducible;
    if (tutti_init_process_group(todo->asked->backend, "env://", NULL, -1, -1, &group, error) !=
        TUTTI_OK)
        return error->status;
    with.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    with.ranks = tutti_get_world_size(TUTTI_GROUP_WORLD);
    todo->ranks = with.ranks;
    if (with.ranks > max_ranks(todo->asked->element)) {
        snprintf(why, sizeof why, "%d ranks are more than %d, among which sums of %ss are exact",
                 with.ranks, max_ranks(todo->asked->element),
                 element_types[todo->asked->element].name);
    } else if (run_in_memories(todo, &with, why)) {
        free_contents();
        return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, error);
    }
    if (*why == '\0' && failure.status != TUTTI_OK) {
        *error = failure;
        return error->status;
    }
    if (*why == '\0') snprintf(why, sizeof why, "there is no memory for the value");
    error->status = TUTTI_ERR_INTERNAL;
    snprintf(error->message, sizeof error->message, "%s", why);
    return error->status;
}

static int tell(const tutti_error* error) {
    show_progress(NULL, NULL, 0, 0);
    fprintf(stderr, "tutti-bench: %s: %s\n", tutti_status_name(error->status), error->message);
    return 1;
}

static FILE* open_csv(const char* path, int ways) {
    FILE* const csv = path == NULL ? NULL : strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (path != NULL && csv == NULL) {
        fprintf(stderr, "tutti-bench: --csv %s: ", path);
        perror(NULL);
        exit(2);
    }
    if (csv != NULL) {
        print_columns(csv, ways);
        fflush(csv);
    }
    return csv;
}

static int run_under_launcher(const options* asked) {
    tutti_error error = TUTTI_ERROR_INIT;
    const char* const size = getenv("WORLD_SIZE");
    const int first = strcmp(getenv("RANK"), "0") == 0;
    job all = {asked, 0, -1, NULL, first && (asked->csv == NULL || strcmp(asked->csv, "-") != 0),
               0};
    if (asked->ranks_given &&
        (asked->rank_count != 1 || size == NULL || atoi(size) != asked->ranks[0])) {
        fprintf(stderr, "tutti-bench: --ranks is not what the launcher started, WORLD_SIZE=%s\n",
                size == NULL ? "" : size);
        return 2;
    }
    if (size != NULL) check_ranks(asked, atoi(size));
    if (first) all.csv = open_csv(asked->csv, asked->ways);
    return run_rank(0, &all, &error) == TUTTI_OK ? 0 : tell(&error);
}

int main(int argc, char** argv) {
    static options asked;
    tutti_error error = TUTTI_ERROR_INIT;
    int stores = 0, others = 0;
    read_options(argc, argv, &asked);
    use_data(asked.data);
    if (asked.against != NULL || asked.plot != NULL) become_driver(&asked);
    if (getenv("RANK") != NULL) return run_under_launcher(&asked);
    FILE* const csv = open_csv(asked.csv, asked.ways);
    for (int i = 0; i < asked.operation_count; ++i)
        ++*(uses_store(&asked.operations[i]) ? &stores : &others);
    for (int i = -1; i < asked.rank_count; ++i) {
        /* The store is called by one rank, whatever the number of ranks. */
        job todo = {&asked, i < 0 ? 1 : asked.ranks[i], i < 0, csv, csv != stdout, 0};
        if ((i < 0 ? stores : others) == 0) continue;
        if (tutti_spawn(run_rank, &todo, todo.ranks, NULL, NULL, &error) != TUTTI_OK)
            return tell(&error);
    }
    return 0;
}
