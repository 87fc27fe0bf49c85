/* One rank of the traffic test: traffic METHOD INTERFACE COUNT BACKEND PLACEMENT [judge]. Runs some
 * collectives of COUNT numbers over BACKEND ("any": none named), looks at what they give, and
 * counts what goes over the INTERFACE meanwhile. PLACEMENT says which host each rank is on: "0011".
 * The first rank of each host prints, for each collective, how much went out and came in, and how
 * much may: with "judge", more is a failure. What TCP sent again is shown, and is not the
 * collective's: a slow machine takes its own delays for losses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tutti/tutti.h>

enum { MOST_RANKS = 9 };

typedef struct site {
    int32_t rank, size;
    int32_t hosts;
    int32_t on_host[MOST_RANKS]; /* how many ranks */
    const char* placement;
    const char* interface;
    int64_t count;
    double *input, *output; /* of count numbers; of reduce_scatter and all_gather, of all parts */
    tutti_error error;
} site;

typedef struct traffic {
    int64_t sent, received;
    int64_t again; /* of what was sent: by TCP once more, at most */
} traffic;

static int32_t host_of(const site* here, int32_t rank) {
    return here->placement[rank] - '0';
}

static int64_t counter(const site* here, const char* name) {
    char path[200];
    int64_t value = -1;
    (void)snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", here->interface, name);
    FILE* const file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%" SCNd64, &value) != 1) value = -1;
    if (file != NULL) (void)fclose(file);
    return value;
}

/* Bytes of the segments that this network namespace's TCP has sent again, as full ones. */
static int64_t sent_again(void) {
    enum { FRAME = 1514 };
    char names[1000], values[1000];
    int64_t bytes = -1;
    FILE* const file = fopen("/proc/self/net/snmp", "r");
    while (file != NULL && fgets(names, sizeof names, file) != NULL) {
        if (strncmp(names, "Tcp:", 4) != 0) continue;
        if (fgets(values, sizeof values, file) == NULL) break;
        char *name_end = NULL, *value_end = NULL;
        const char* name = strtok_r(names, " \n", &name_end);
        const char* value = strtok_r(values, " \n", &value_end);
        while (name != NULL && value != NULL) {
            if (strcmp(name, "RetransSegs") == 0) bytes = strtoll(value, NULL, 10) * FRAME;
            name = strtok_r(NULL, " \n", &name_end);
            value = strtok_r(NULL, " \n", &value_end);
        }
        break;
    }
    if (file != NULL) (void)fclose(file);
    return bytes;
}

static traffic count_traffic(const site* here) {
    const traffic now = {counter(here, "tx_bytes"), counter(here, "rx_bytes"), sent_again()};
    return now;
}

static tutti_status all_reduce(site* here) {
    const tutti_buffer in = TUTTI_BUFFER_INIT(here->input, here->count, TUTTI_FLOAT64);
    const tutti_buffer out = TUTTI_BUFFER_INIT(here->output, here->count, TUTTI_FLOAT64);
    return tutti_all_reduce(TUTTI_GROUP_WORLD, &in, &out, TUTTI_SUM, NULL, NULL, &here->error);
}

static tutti_status broadcast(site* here) {
    if (here->rank == 1) memcpy(here->output, here->input, (size_t)here->count * sizeof(double));
    const tutti_buffer data = TUTTI_BUFFER_INIT(here->output, here->count, TUTTI_FLOAT64);
    return tutti_broadcast(TUTTI_GROUP_WORLD, &data, 1, NULL, NULL, &here->error);
}

static tutti_status reduce(site* here) {
    const tutti_buffer in = TUTTI_BUFFER_INIT(here->input, here->count, TUTTI_FLOAT64);
    const tutti_buffer out = TUTTI_BUFFER_INIT(here->output, here->count, TUTTI_FLOAT64);
    return tutti_reduce(TUTTI_GROUP_WORLD, &in, &out, TUTTI_SUM, 1, NULL, NULL, &here->error);
}

static tutti_status all_gather(site* here) {
    const int64_t part = here->count / here->size;
    const tutti_buffer in = TUTTI_BUFFER_INIT(here->input, part, TUTTI_FLOAT64);
    const tutti_buffer out = TUTTI_BUFFER_INIT(here->output, part * here->size, TUTTI_FLOAT64);
    return tutti_all_gather_into_tensor(TUTTI_GROUP_WORLD, &in, &out, NULL, NULL, &here->error);
}

static tutti_status reduce_scatter(site* here) {
    const int64_t part = here->count / here->size;
    const tutti_buffer in = TUTTI_BUFFER_INIT(here->input, part * here->size, TUTTI_FLOAT64);
    const tutti_buffer out = TUTTI_BUFFER_INIT(here->output, part, TUTTI_FLOAT64);
    return tutti_reduce_scatter_tensor(TUTTI_GROUP_WORLD, &in, &out, TUTTI_SUM, NULL, NULL,
                                       &here->error);
}

static tutti_status give_numbers(site* here) {
    tutti_object* given = NULL;
    tutti_status status = tutti_object_create(&given, &here->error);
    if (!status) {
        status = tutti_object_add_array(given, here->input, TUTTI_FLOAT64, &here->count, 1,
                                        TUTTI_OBJECT_BORROW, &here->error);
    }
    if (!status) {
        status = tutti_broadcast_object_list(TUTTI_GROUP_WORLD, &given, 1, 1, NULL, NULL, NULL,
                                             NULL, &here->error);
    }
    tutti_object_release(given);
    return status;
}

static tutti_status take_numbers(site* here) {
    tutti_object* got = NULL;
    const void* data = NULL;
    const int64_t* shape = NULL;
    tutti_dtype dtype = 0;
    int32_t dimensions = 0;
    tutti_status status = tutti_broadcast_object_list(TUTTI_GROUP_WORLD, NULL, 1, 1, NULL, NULL,
                                                      &got, NULL, &here->error);
    if (!status) {
        status = tutti_object_get_array(got, 0, &data, &dtype, &shape, &dimensions, &here->error);
    }
    if (!status && dtype == TUTTI_FLOAT64 && dimensions == 1 && shape[0] == here->count) {
        memcpy(here->output, data, (size_t)here->count * sizeof(double));
    }
    tutti_object_release(got);
    return status;
}

static tutti_status broadcast_object(site* here) {
    if (here->rank != 1) return take_numbers(here);
    memcpy(here->output, here->input, (size_t)here->count * sizeof(double));
    return give_numbers(here);
}

/* The bytes that may go out of a host and come in, when `whole` bytes are reduced, or given to all,
 * or cut into parts for the ranks. Of more than two hosts some pass on what is not theirs. */
static traffic all_of_it(const site* here, int32_t host, int64_t whole) {
    (void)host;
    const int64_t each = 2 * whole * (here->hosts - 1) / here->hosts;
    const traffic most = {each, each, 0};
    return most;
}

static traffic from_rank_1(const site* here, int32_t host, int64_t whole) {
    const int is_source = host == host_of(here, 1);
    const traffic most = {is_source || here->hosts > 2 ? whole * (here->hosts - 1) : 0,
                          is_source ? 0 : whole, 0};
    return most;
}

static traffic to_rank_1(const site* here, int32_t host, int64_t whole) {
    const int is_destination = host == host_of(here, 1);
    const traffic most = {is_destination && here->hosts == 2 ? 0 : whole,
                          is_destination || here->hosts > 2 ? whole * (here->hosts - 1) : 0, 0};
    return most;
}

static traffic parts_to_all(const site* here, int32_t host, int64_t whole) {
    const int64_t own = whole * here->on_host[host] / here->size;
    const traffic most = {here->hosts > 2 ? whole : own, whole - own, 0};
    return most;
}

static traffic parts_combined(const site* here, int32_t host, int64_t whole) {
    const traffic back = parts_to_all(here, host, whole);
    const traffic most = {back.received, back.sent, 0};
    return most;
}

/* The numbers shrink to less than half, and between hosts all of them are compressed. */
static traffic half_from_rank_1(const site* here, int32_t host, int64_t whole) {
    return from_rank_1(here, host, whole / 2);
}

typedef struct operation {
    const char* name;
    tutti_status (*call)(site* here);
    traffic (*most)(const site* here, int32_t host, int64_t whole);
} operation;

static const operation operations[] = {
    {"all_reduce", all_reduce, all_of_it},
    {"broadcast", broadcast, from_rank_1},
    {"reduce", reduce, to_rank_1},
    {"all_gather_into_tensor", all_gather, parts_to_all},
    {"reduce_scatter_tensor", reduce_scatter, parts_combined},
    {"broadcast_object_list", broadcast_object, half_from_rank_1},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Rank r gives r + 1 + index: what stands at the places of its output that are looked at. */
static int is_right(const site* here, int which, int64_t index) {
    const int64_t part = here->count / here->size;
    const double ranks = here->size, all = ranks * (ranks + 1) / 2;
    switch (which) {
        case 0:
            return here->output[index] == all + ranks * (double)index;
        case 1:
            return here->output[index] == 2 + (double)index;
        case 2:
            return here->rank != 1 || here->output[index] == all + ranks * (double)index;
        case 3:
            return index >= part * here->size ||
                   here->output[index] == (double)(index / part + 1 + index % part);
        case 4:
            return index >= part ||
                   here->output[index] == all + ranks * (double)(index + part * here->rank);
        default:
            return here->output[index] == 2 + (double)index;
    }
}

static int fail(const site* here, const char* what) {
    printf("FAILED: rank %d: %s: %s: %s\n", (int)here->rank, what,
           tutti_status_name(here->error.status), here->error.message);
    return 0;
}

static int is_first_of_host(const site* here) {
    for (int32_t rank = 0; rank < here->rank; ++rank) {
        if (host_of(here, rank) == host_of(here, here->rank)) return 0;
    }
    return 1;
}

/* The bytes that all hosts sent again. Every rank calls it. */
static int64_t sent_again_by_all(site* here, int64_t by_this_host) {
    int64_t again = is_first_of_host(here) ? by_this_host : 0;
    const tutti_buffer sum = TUTTI_BUFFER_INIT(&again, 1, TUTTI_INT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, &sum, &sum, TUTTI_SUM, NULL, NULL, &here->error)) {
        return -1;
    }
    return again;
}

/* Headers, acknowledgements, heartbeats; the barriers around. */
static int is_within(int64_t bytes, int64_t most) {
    return bytes <= most + most / 16 + 100000;
}

static int try_one(site* here, int which, int judges) {
    const operation* const one = &operations[which];
    const int32_t host = host_of(here, here->rank);
    struct timespec begin, end;
    if (tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &here->error)) return fail(here, "barrier");
    memset(here->output, 0, (size_t)here->count * sizeof(double));
    const traffic before = count_traffic(here);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    if (one->call(here)) return fail(here, one->name);
    if (tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &here->error)) return fail(here, "barrier");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    const traffic after = count_traffic(here);
    if (tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &here->error)) return fail(here, "barrier");
    const traffic was = {after.sent - before.sent, after.received - before.received,
                         after.again - before.again};
    const int64_t again = sent_again_by_all(here, was.again);
    if (again < 0) return fail(here, "all_reduce of what was sent again");
    for (int64_t index = 0; index < here->count; ++index) {
        if (is_right(here, which, index)) continue;
        printf("FAILED: rank %d: %s: element %" PRId64 " is %g\n", (int)here->rank, one->name,
               index, here->output[index]);
        return 0;
    }
    if (!is_first_of_host(here)) return 1;
    const traffic most = one->most(here, host, here->count * (int64_t)sizeof(double));
    const int is_good = before.sent >= 0 && before.again >= 0 &&
                        is_within(was.sent - was.again, most.sent) &&
                        is_within(was.received - (again - was.again), most.received);
    const double ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    printf(
        "%-23s host %d: sent %7.0f KiB of %7.0f, received %7.0f KiB of %7.0f, "
        "again %4.0f, %4.0f ms%s\n",
        one->name, (int)host, (double)was.sent / 1024, (double)most.sent / 1024,
        (double)was.received / 1024, (double)most.received / 1024, (double)was.again / 1024, ms,
        is_good  ? ""
        : judges ? "  FAILED: more than it needs"
                 : "  (more than it needs)");
    return is_good || !judges;
}

int main(int argc, char** argv) {
    site here;
    memset(&here, 0, sizeof here);
    tutti_error_init(&here.error, sizeof here.error);
    if (argc < 6 || strlen(argv[5]) > MOST_RANKS) return 2;
    here.interface = argv[2];
    here.count = strtoll(argv[3], NULL, 10);
    here.placement = argv[5];
    const char* const backend = strcmp(argv[4], "any") == 0 ? NULL : argv[4];
    const int judges = argc > 6 && strcmp(argv[6], "judge") == 0;
    if (tutti_init_process_group(backend, argv[1], NULL, -1, -1, NULL, &here.error)) {
        return fail(&here, "init"), 1;
    }
    here.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    here.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    for (int32_t rank = 0; rank < here.size; ++rank) {
        const int32_t host = host_of(&here, rank);
        ++here.on_host[host];
        if (host >= here.hosts) here.hosts = host + 1;
    }
    here.input = (double*)malloc((size_t)here.count * sizeof(double));
    here.output = (double*)calloc((size_t)here.count, sizeof(double));
    if (here.input == NULL || here.output == NULL) return 2;
    for (int64_t index = 0; index < here.count; ++index) {
        here.input[index] = here.rank + 1 + (double)index;
    }
    int good = 1;
    for (int which = 0; which < OPERATIONS && good; ++which) good = try_one(&here, which, judges);
    free(here.input);
    free(here.output);
    printf("rank %d of %d over %s: %s\n", (int)here.rank, (int)here.size,
           tutti_get_backend(TUTTI_GROUP_WORLD), good ? "done" : "FAILED");
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &here.error))
        good = fail(&here, "destroy");
    return good ? 0 : 1;
}
