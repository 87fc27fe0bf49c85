/* Where something of CUDA is missing: calls on devices are UNSUPPORTED and say in one sentence what
 * it is; the group is as good as before for memory of the CPU. The arguments are the backend and
 * what the sentence contains. */
#include "capi/on_ranks.h"

static const char* sentence = "";

static int has(const rank_context* me, const char* owner) {
    const char* const message = me->error.message;
    return strstr(message, sentence) != NULL && strstr(message, owner) != NULL &&
           strchr(message, '\n') == NULL && strlen(message) > strlen(sentence);
}

#define UNSUPPORTED(call, owner)                                              \
    do {                                                                      \
        RANK_STATUS(me, call, TUTTI_ERR_UNSUPPORTED);                         \
        if (!has(me, owner)) {                                                \
            rank_failed(me, __FILE__, __LINE__, me->error.message, TUTTI_OK); \
            return;                                                           \
        }                                                                     \
    } while (0)

static void call_without(rank_context* me) {
    int32_t value = 1;
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    tutti_buffer on_cuda = on_cpu;
    tutti_coalescing_options coalescing_there = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_memory_options memory_there = TUTTI_MEMORY_OPTIONS_INIT;
    tutti_new_group_options bound = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group_options bound_mesh = TUTTI_GROUP_OPTIONS_INIT;
    const int64_t shape[] = {2};
    tutti_group* coalescing = NULL;
    tutti_group* group = NULL;
    tutti_mesh* mesh = NULL;
    tutti_work* work = NULL;
    void* memory = NULL;
    on_cuda.device_type = TUTTI_CUDA;
    coalescing_there.device_type = TUTTI_CUDA;
    memory_there.device_type = TUTTI_CUDA;
    bound.device_type = TUTTI_CUDA;
    bound_mesh.device_type = TUTTI_CUDA;
    for (int again = 0; again < 2; ++again) {
        UNSUPPORTED(tutti_all_reduce(me->group, NULL, &on_cuda, TUTTI_SUM, NULL, NULL, &me->error),
                    "tutti_all_reduce: output.device_type is 1 (cuda): ");
        UNSUPPORTED(tutti_recv(me->group, &on_cuda, 0, 0, NULL, NULL, &work, &me->error),
                    "tutti_recv: buffer.device_type is 1 (cuda): ");
        UNSUPPORTED(tutti_coalescing_begin(me->group, &coalescing_there, &coalescing, &me->error),
                    "tutti_coalescing_begin: options.device_type is 1 (cuda): ");
        UNSUPPORTED(tutti_memory_alloc(me->group, 16, &memory_there, &memory, &me->error),
                    "tutti_memory_alloc: options.device_type is 1 (cuda): ");
        UNSUPPORTED(tutti_new_group(me->group, NULL, 0, NULL, NULL, &bound, &group, &me->error),
                    "options.device_type is 1 (cuda): ");
        UNSUPPORTED(tutti_init_device_mesh(me->group, shape, 1, NULL, TUTTI_CPU, &bound_mesh, &mesh,
                                           &me->error),
                    "options.device_type is 1 (cuda): ");
        RANK_EXPECT(me, group == NULL && mesh == NULL);
        RANK_EXPECT(me, work == NULL && coalescing == NULL && memory == NULL && value == 1);
        RANK_OK(me, tutti_all_reduce(me->group, NULL, &on_cpu, TUTTI_SUM, NULL, NULL, &me->error));
        RANK_EXPECT(me, value == me->size);
        value = 1;
    }
}

RANK_TEST(call_without, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {TEST(call_without_on_ranks)};
    if (argc > 1) backend = argv[1];
    if (argc > 2) sentence = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
