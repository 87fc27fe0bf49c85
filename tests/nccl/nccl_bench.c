/* What a call costs over NCCL itself and over the backend "nccl", one after the other in each
 * round: nccl_bench, started by tuttirun. Each library has a communicator of its own, and both put
 * their calls on the same stream. "nccl?blocking=1" is compared with a communicator that blocks.
 *
 *   nccl_bench [BACKEND [ROUNDS [MOST_BYTES]]]
 *
 * Prints `op,ranks,bytes,bare_host_us,tutti_host_us,bare_us,tutti_us` by the medians of the rounds:
 * how long a call takes until it returns, and until it has ended, both for one of many in a row. */
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "support/cuda.h"
#include "support/timing.h"

enum { MOST_ROUNDS = 101, ROUNDS = 11, IN_A_ROW = 50, MOST = 64 << 20 };

static tutti_error error = TUTTI_ERROR_INIT;
static int32_t rank, size, device;
static tutti_group* group;
static void* stream;
static char *input, *output;

static struct {
    ncclResult_t (*id)(ncclUniqueId*);
    ncclResult_t (*init)(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
    ncclResult_t (*ask)(ncclComm_t, ncclResult_t*);
    ncclResult_t (*destroy)(ncclComm_t);
    ncclResult_t (*all_reduce)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t);
    ncclResult_t (*all_gather)(const void*, void*, size_t, ncclDataType_t, ncclComm_t,
                               cudaStream_t);
    ncclResult_t (*broadcast)(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t,
                              cudaStream_t);
    ncclComm_t comm;
    int blocks;
} bare;

static void ok(tutti_status status) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "nccl_bench: rank %d: %s\n", (int)rank, error.message);
    exit(1);
}

/* One that does not block may be in progress after its success, too. */
static void fine(ncclResult_t result) {
    if (result == ncclSuccess) result = ncclInProgress;
    while (result == ncclInProgress && bare.comm != NULL && !bare.blocks) {
        const ncclResult_t asked = bare.ask(bare.comm, &result);
        if (asked != ncclSuccess) result = asked;
    }
    if (result == ncclInProgress) result = ncclSuccess;
    if (result == ncclSuccess) return;
    fprintf(stderr, "nccl_bench: rank %d: NCCL gave %d\n", (int)rank, (int)result);
    exit(1);
}

static void find(void* nccl, const char* symbol, void* function) {
    void* const found = dlsym(nccl, symbol);
    if (found == NULL) {
        fprintf(stderr, "nccl_bench: no %s\n", symbol);
        exit(1);
    }
    memcpy(function, &found, sizeof found);
}

static void open_bare(int blocks) {
    const char* const named = getenv("TUTTI_NCCL_LIBRARY");
    void* const nccl = dlopen(named == NULL ? "libnccl.so.2" : named, RTLD_NOW | RTLD_LOCAL);
    if (nccl == NULL) {
        fprintf(stderr, "nccl_bench: %s\n", dlerror());
        exit(1);
    }
    find(nccl, "ncclGetUniqueId", &bare.id);
    find(nccl, "ncclCommInitRankConfig", &bare.init);
    find(nccl, "ncclCommGetAsyncError", &bare.ask);
    find(nccl, "ncclCommDestroy", &bare.destroy);
    find(nccl, "ncclAllReduce", &bare.all_reduce);
    find(nccl, "ncclAllGather", &bare.all_gather);
    find(nccl, "ncclBroadcast", &bare.broadcast);
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    if (rank == 0) fine(bare.id(&id));
    const tutti_buffer bytes = TUTTI_BUFFER_INIT(&id, sizeof id, TUTTI_UINT8);
    ok(tutti_broadcast(TUTTI_GROUP_WORLD, &bytes, 0, NULL, NULL, &error));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = bare.blocks = blocks;
    fine(bare.init(&bare.comm, size, id, rank, &config));
}

static tutti_buffer on_device(char* data, int64_t bytes) {
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, bytes / 4, TUTTI_FLOAT32);
    buffer.device_type = TUTTI_CUDA;
    buffer.device_index = device;
    return buffer;
}

/* By each library, on the stream. */
static void all_reduce(int is_bare, int64_t bytes, const tutti_call_options* options) {
    const tutti_buffer from = on_device(input, bytes), to = on_device(output, bytes);
    if (is_bare) {
        fine(bare.all_reduce(input, output, (size_t)bytes / 4, ncclFloat, ncclSum, bare.comm,
                             (cudaStream_t)stream));
    } else {
        ok(tutti_all_reduce(group, &from, &to, TUTTI_SUM, options, NULL, &error));
    }
}

static void all_gather(int is_bare, int64_t bytes, const tutti_call_options* options) {
    const tutti_buffer from = on_device(input, bytes), to = on_device(output, bytes * size);
    if (is_bare) {
        fine(bare.all_gather(input, output, (size_t)bytes / 4, ncclFloat, bare.comm,
                             (cudaStream_t)stream));
    } else {
        ok(tutti_all_gather_into_tensor(group, &from, &to, options, NULL, &error));
    }
}

static void broadcast(int is_bare, int64_t bytes, const tutti_call_options* options) {
    const tutti_buffer buffer = on_device(input, bytes);
    if (is_bare) {
        fine(bare.broadcast(input, input, (size_t)bytes / 4, ncclFloat, 0, bare.comm,
                            (cudaStream_t)stream));
    } else {
        ok(tutti_broadcast(group, &buffer, 0, options, NULL, &error));
    }
}

static const struct {
    const char* name;
    void (*call)(int is_bare, int64_t bytes, const tutti_call_options* options);
} operations[] = {{"all_reduce", all_reduce}, {"all_gather", all_gather}, {"broadcast", broadcast}};

static void measure(int op, int64_t bytes, int rounds) {
    static double host[2][MOST_ROUNDS], whole[2][MOST_ROUNDS];
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = stream;
    for (int round = -1; round < rounds; ++round) {
        for (int turn = 0; turn < 2; ++turn) {
            const int is_bare = (turn + round) % 2 == 0;
            ok(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
            const double begin = now_us();
            for (int i = 0; i < IN_A_ROW; ++i) operations[op].call(is_bare, bytes, &options);
            const double returned = now_us();
            cuda_wait(stream);
            if (round < 0) continue;
            host[is_bare][round] = (returned - begin) / IN_A_ROW;
            whole[is_bare][round] = (now_us() - begin) / IN_A_ROW;
        }
    }
    const double figures[] = {median(host[1], rounds), median(host[0], rounds),
                              median(whole[1], rounds), median(whole[0], rounds)};
    if (rank == 0) {
        printf("%s,%d,%lld,%.2f,%.2f,%.2f,%.2f\n", operations[op].name, (int)size, (long long)bytes,
               figures[0], figures[1], figures[2], figures[3]);
    }
}

int main(int argc, char** argv) {
    char why[300];
    if (cuda_devices(why, sizeof why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    const char* const backend = argc > 1 ? argv[1] : "nccl";
    const int wanted = argc > 2 ? atoi(argv[2]) : ROUNDS;
    const int rounds = wanted < 1 ? 1 : wanted > MOST_ROUNDS ? MOST_ROUNDS : wanted;
    const int64_t asked = argc > 3 ? atoll(argv[3]) : MOST;
    const int64_t most = asked < MOST ? asked : MOST;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    ok(tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, &error));
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    device = rank % cuda_devices(why, sizeof why);
    cuda_use(device);
    stream = cuda_make_stream();
    input = cuda_alloc(MOST);
    output = cuda_alloc((size_t)MOST * (size_t)size);
    cuda_fill(input, 0, MOST, NULL);
    cuda_wait(NULL);
    ok(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, NULL, NULL, &group, &error));
    open_bare(strstr(backend, "blocking=1") != NULL);
    if (rank == 0) printf("op,ranks,bytes,bare_host_us,tutti_host_us,bare_us,tutti_us\n");
    for (int op = 0; op < (int)(sizeof operations / sizeof *operations); ++op) {
        for (int64_t bytes = 1024; bytes <= most; bytes *= 16) measure(op, bytes, rounds);
    }
    bare.blocks = 1; /* there is nothing to ask any more */
    fine(bare.destroy(bare.comm));
    ok(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    cuda_free(input);
    cuda_free(output);
    cuda_end_stream(stream);
    ok(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    return 0;
}
