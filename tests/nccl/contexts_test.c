/* The other GPUs of a host are left alone: a rank asks for the context of its own devices only,
 * and every call leaves the calling thread the context that it had. Each context that a process
 * makes beside that costs hundreds of megabytes of that device. Ranks are processes, of two GPUs
 * each; the first GPU and the last are nobody's.
 *   nccl_contexts_test BACKEND bound|unbound leaves|aborts|dies */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/memory.h>
#include <tutti/mesh.h>
#include <tutti/multigpu.h>
#include <tutti/reducer.h>

#include "rank_program.h"

enum { GPUS = 2, COUNT = 3000, PASSES = 2 };

static const char* backend;
static int is_bound;
static int own_devices;      /* of this process so far */
static void* current = NULL; /* context of the thread that calls; one thread calls at a time */

static int retentions(int32_t index) {
    int (*ask)(int);
    void* const found = cuda_function("fake_cuda_retentions");
    memcpy(&ask, &found, sizeof found);
    return ask(index);
}

static void* context_of_thread(void) {
    int (*ask)(void**);
    void* const found = cuda_function("cuCtxGetCurrent");
    void* context = NULL;
    memcpy(&ask, &found, sizeof found);
    EXPECT(ask(&context) == 0);
    return context;
}

static void set_context(void* context) {
    int (*set)(void*);
    void* const found = cuda_function("cuCtxSetCurrent");
    memcpy(&set, &found, sizeof found);
    EXPECT(set(context) == 0);
}

static void look(const char* call, int line) {
    EXPECT(context_of_thread() == current);
    for (int32_t index = 0; index < device_count(); ++index) {
        const int is_mine = index >= device && index < device + own_devices;
        if (is_mine || retentions(index) == 0) continue;
        fprintf(stderr, "line %d: rank %d is on cuda:%d, and has a context on cuda:%d after %s\n",
                line, (int)me.rank, (int)device, (int)index, call);
        exit(1);
    }
}
#define DO(call)                                               \
    do {                                                       \
        expect((call) == TUTTI_OK, #call, __FILE__, __LINE__); \
        look(#call, __LINE__);                                 \
    } while (0)
#define AFTER(call)            \
    do {                       \
        call;                  \
        look(#call, __LINE__); \
    } while (0)

/* The program's own work has the device current, and no call of tutti's. */
static tutti_buffer make_buffer(int which) {
    cuda_use(device + which);
    const tutti_buffer made = on_cuda(device + which, numbers_of(COUNT, 1), COUNT, TUTTI_INT32);
    set_context(current);
    return made;
}
static void end_buffer(int which, const tutti_buffer* one) {
    cuda_use(device + which);
    cuda_free(one->data);
    set_context(current);
}
static void* make_stream(void) {
    cuda_use(device);
    void* const made = cuda_make_stream();
    set_context(current);
    return made;
}
static void end_stream(void* stream) {
    cuda_use(device);
    cuda_wait(stream);
    cuda_end_stream(stream);
    set_context(current);
}

static void leave(tutti_group* group) {
    DO(tutti_destroy_process_group(group, NULL, &me.error));
    AFTER(tutti_group_release(group));
}

static tutti_group* make_group(const char* description) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* made = NULL;
    if (is_bound) options.device_type = TUTTI_CUDA, options.device_index = device;
    DO(tutti_new_group(me.group, NULL, 0, backend, description, &options, &made, &me.error));
    return made;
}

static void groups_come_and_go(tutti_group* group) {
    const int32_t ranks[] = {1, 0};
    const int64_t sizes[] = {2};
    tutti_group* made = make_group("unused");
    DO(tutti_barrier(made, NULL, NULL, &me.error));
    leave(made);
    DO(tutti_split_group(group, ranks, 2, sizes, 1, NULL, NULL, &made, &me.error));
    DO(tutti_barrier(made, NULL, NULL, &me.error));
    leave(made);
}

static void groups_have_calls(tutti_group* group) {
    const int32_t ranks[] = {1, 0};
    const int64_t sizes[] = {2};
    tutti_group* made = make_group("used");
    const tutti_buffer buffer = make_buffer(0);
    DO(tutti_all_reduce(made, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    leave(made);
    DO(tutti_split_group(group, ranks, 2, sizes, 1, NULL, NULL, &made, &me.error));
    DO(tutti_all_reduce(made, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    leave(made);
    end_buffer(0, &buffer);
}

static void calls_of_all_kinds(tutti_group* group) {
    const tutti_buffer from = make_buffer(0), to = make_buffer(0);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_p2p_op ops[] = {TUTTI_P2P_OP_INIT(TUTTI_ISEND, NULL, 0, TUTTI_INT32, 1 - me.rank, 0),
                          TUTTI_P2P_OP_INIT(TUTTI_IRECV, NULL, 0, TUTTI_INT32, 1 - me.rank, 0)};
    tutti_work* work = NULL;
    DO(tutti_all_reduce(group, &from, &to, TUTTI_SUM, NULL, NULL, &me.error));
    options.stream = make_stream();
    DO(tutti_all_reduce(group, &from, &to, TUTTI_SUM, &options, NULL, &me.error));
    DO(tutti_all_reduce(group, &from, &to, TUTTI_MAX, &options, &work, &me.error));
    DO(tutti_work_synchronize(work, options.stream, &me.error));
    DO(tutti_work_wait(work, 0, &me.error));
    AFTER(tutti_work_release(work));
    DO(tutti_broadcast(group, &to, 0, NULL, NULL, &me.error));
    ops[0].buffer = from, ops[1].buffer = to;
    DO(tutti_batch_isend_irecv(group, ops, 2, NULL, NULL, &me.error));
    DO(tutti_monitored_barrier(group, 1, NULL, &me.error));
    end_stream(options.stream);
    end_buffer(0, &from);
    end_buffer(0, &to);
}

static void calls_come_together(tutti_group* group) {
    const tutti_buffer buffer = make_buffer(0);
    tutti_coalescing_options options = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_group* together = NULL;
    options.device_type = TUTTI_CUDA, options.device_index = device;
    DO(tutti_coalescing_begin(group, &options, &together, &me.error));
    DO(tutti_all_reduce(together, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    DO(tutti_coalescing_end(together, NULL, NULL, &me.error));
    end_buffer(0, &buffer);
}

static void memory_is_allocated(tutti_group* group) {
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    void* memory = NULL;
    options.device_type = TUTTI_CUDA, options.device_index = device;
    DO(tutti_memory_alloc(group, COUNT * sizeof(int32_t), &options, &memory, &me.error));
    const tutti_buffer buffer = on_cuda(device, memory, COUNT, TUTTI_INT32);
    DO(tutti_broadcast(group, &buffer, 1, NULL, NULL, &me.error));
    AFTER(tutti_memory_release(memory));
}

static void a_mesh_is_laid_out(tutti_group* group) {
    const int64_t shape[] = {2};
    tutti_mesh* mesh = NULL;
    DO(tutti_init_device_mesh(group, shape, 1, NULL, TUTTI_CUDA, NULL, &mesh, &me.error));
    AFTER(tutti_mesh_release(mesh));
}

static void gradients_are_reduced(tutti_group* group) {
    tutti_buffer parameters[] = {make_buffer(0)}, gradients[] = {make_buffer(0)};
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_reducer* reducer = NULL;
    parameters[0].dtype = gradients[0].dtype = TUTTI_FLOAT32;
    options.stream = make_stream();
    DO(tutti_reducer_create(group, parameters, NULL, NULL, 1, &options, &reducer, &me.error));
    for (int pass = 0; pass < PASSES; ++pass) {
        DO(tutti_reducer_begin(reducer, 1, &me.error));
        DO(tutti_reducer_mark_ready(reducer, 0, &gradients[0], &me.error));
        DO(tutti_reducer_finish(reducer, NULL, &me.error));
    }
    AFTER(tutti_reducer_release(reducer));
    end_stream(options.stream);
    end_buffer(0, &parameters[0]);
    end_buffer(0, &gradients[0]);
}

static void all_calls(tutti_group* group) {
    groups_come_and_go(group);
    groups_have_calls(group);
    calls_of_all_kinds(group);
    calls_come_together(group);
    memory_is_allocated(group);
    a_mesh_is_laid_out(group);
    gradients_are_reduced(group);
}

/* Now the second device is this rank's, too. Groups of a bound one are bound to its device. */
static void calls_on_two_devices(void) {
    if (is_bound) return;
    tutti_group* group = NULL;
    tutti_buffer buffers[GPUS];
    own_devices = GPUS;
    DO(tutti_new_group(me.group, NULL, 0, backend, "two", NULL, &group, &me.error));
    for (int which = 0; which < GPUS; ++which) buffers[which] = make_buffer(which);
    DO(tutti_all_reduce_multigpu(group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error));
    leave(group);
    for (int which = 0; which < GPUS; ++which) end_buffer(which, &buffers[which]);
}

static void* on_another_thread(void* group) {
    all_calls((tutti_group*)group);
    return NULL;
}

static void from_another_thread(tutti_group* group) {
    pthread_t thread;
    void* const own = current;
    current = NULL;
    EXPECT(pthread_create(&thread, NULL, on_another_thread, group) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    current = own;
}

/* Rank 0 alone comes to a call, so its time is up there, and the group ends on all ranks. */
static void end_by_abort(const char* description, int is_used) {
    tutti_call_options soon = TUTTI_CALL_OPTIONS_INIT;
    tutti_group* const group = make_group(description);
    const tutti_buffer buffer = make_buffer(0);
    if (is_used) DO(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    soon.timeout_ms = 50;
    if (me.rank == 0) {
        const tutti_status status =
            is_used ? tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, &soon, NULL, &me.error)
                    : tutti_barrier(group, &soon, NULL, &me.error);
        EXPECT(status == TUTTI_ERR_TIMEOUT);
        look("a call whose time is up", __LINE__);
    }
    DO(tutti_barrier(me.group, NULL, NULL, &me.error));
    (void)tutti_destroy_process_group(group, NULL, &me.error);
    AFTER(tutti_group_release(group));
    end_buffer(0, &buffer);
}

/* With one group that has had a call and one that has none. */
static void end_by_death(void) {
    tutti_group *const unused = make_group("unused"), *const used = make_group("used");
    const tutti_buffer buffer = make_buffer(0);
    DO(tutti_all_reduce(used, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    /* Rank 1 dies when rank 0 has the sum, whose barrier may end by that. */
    const tutti_status met = tutti_barrier(me.group, NULL, NULL, &me.error);
    if (me.rank == 1) {
        EXPECT(met == TUTTI_OK);
        raise(SIGKILL);
    }
    EXPECT(tutti_all_reduce(used, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error) ==
           TUTTI_ERR_PEER_LOST);
    look("a call that a rank died in", __LINE__);
    EXPECT(tutti_barrier(unused, NULL, NULL, &me.error) == TUTTI_ERR_PEER_LOST);
    AFTER(tutti_group_release(used));
    AFTER(tutti_group_release(unused));
    AFTER(tutti_group_release(me.group));
    printf("left alone\n");
    exit(0);
}

int main(int count, char** arguments) {
    const int skip = without_device();
    if (skip != 0) return skip;
    if (!on_the_double()) {
        printf("skipped: only the double of the driver tells who asked for a context\n");
        return 77;
    }
    EXPECT(count == 4);
    backend = arguments[1];
    is_bound = strcmp(arguments[2], "bound") == 0;
    const char* const rank = getenv("RANK");
    EXPECT(rank != NULL);
    me.rank = atoi(rank);
    device = 1 + me.rank * GPUS;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    if (is_bound) options.device_type = TUTTI_CUDA, options.device_index = device;
    own_devices = is_bound ? 1 : 0;
    /* All has ended before any device is of use. */
    DO(tutti_init_process_group(backend, NULL, NULL, -1, -1, &options, &me.error));
    me.group = TUTTI_GROUP_WORLD;
    me.size = tutti_get_world_size(me.group);
    EXPECT(me.size == 2 && device_count() > GPUS * me.size + 1);
    groups_come_and_go(me.group);
    DO(tutti_destroy_process_group(me.group, NULL, &me.error));
    DO(tutti_init_process_group(backend, NULL, NULL, -1, -1, &options, &me.error));
    own_devices = 1;
    all_calls(me.group);
    from_another_thread(me.group);
    cuda_use(device);
    current = context_of_thread();
    all_calls(me.group);
    from_another_thread(me.group);
    calls_on_two_devices();
    if (strcmp(arguments[3], "aborts") == 0) {
        end_by_abort("unused", 0);
        end_by_abort("used", 1);
    }
    if (strcmp(arguments[3], "dies") == 0) end_by_death();
    DO(tutti_destroy_process_group(me.group, NULL, &me.error));
    return 0;
}
