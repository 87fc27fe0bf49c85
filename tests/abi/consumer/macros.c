/* Every macro that initialises something, as C and as C++ write it. */
#include <tutti/tutti.h>

void every_macro(void);

void every_macro(void) {
    static const float read_only[3] = {1, 2, 3};
    static double memory[3];
    const size_t count = 3;
    const int few = 3;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_call_options call = TUTTI_CALL_OPTIONS_INIT;
    tutti_coalescing_options coalescing = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_group_options group = TUTTI_GROUP_OPTIONS_INIT;
    tutti_new_group_options new_group = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_destroy_options destroy = TUTTI_DESTROY_OPTIONS_INIT;
    tutti_memory_options memory_options = TUTTI_MEMORY_OPTIONS_INIT;
    tutti_object_options object = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_power_sgd_options power_sgd = TUTTI_POWER_SGD_OPTIONS_INIT;
    tutti_reduce_op_options reduce_op = TUTTI_REDUCE_OP_OPTIONS_INIT;
    tutti_reducer_options reducer = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    tutti_hooks hooks = TUTTI_HOOKS_INIT;
    tutti_shrink_options shrink = TUTTI_SHRINK_OPTIONS_INIT;
    tutti_spawn_options spawn = TUTTI_SPAWN_OPTIONS_INIT;
    tutti_store_call_options store_call = TUTTI_STORE_CALL_OPTIONS_INIT;
    tutti_store_options store = TUTTI_STORE_OPTIONS_INIT;
    tutti_tcp_store_options tcp_store = TUTTI_TCP_STORE_OPTIONS_INIT;
    /* A count of any integer type, and memory that may only be read. */
    tutti_buffer input = TUTTI_BUFFER_INIT(read_only, count, TUTTI_FLOAT32);
    tutti_buffer output = TUTTI_BUFFER_INIT(memory, few, TUTTI_FLOAT64);
    tutti_buffer empty = TUTTI_BUFFER_INIT(NULL, 0, TUTTI_INT8);
    tutti_p2p_op messages[] = {
        TUTTI_P2P_OP_INIT(TUTTI_ISEND, read_only, count, TUTTI_FLOAT32, 1, 0),
        TUTTI_P2P_OP_INIT(TUTTI_IRECV, memory, few, TUTTI_FLOAT64, -1, 7)};
    call.timeout_ms = TUTTI_NO_TIMEOUT;
    store_call.timeout_ms = TUTTI_DEFAULT_TIMEOUT;
    (void)error, (void)call, (void)coalescing, (void)group, (void)new_group, (void)destroy;
    (void)memory_options, (void)object, (void)reduce_op, (void)spawn, (void)store_call, (void)store;
    (void)reducer, (void)bucket, (void)power_sgd, (void)shrink, (void)hooks;
    (void)tcp_store, (void)input, (void)output, (void)empty, (void)messages;
    (void)tutti_all_reduce(TUTTI_GROUP_WORLD, &input, &output, TUTTI_SUM, &call, NULL, &error);
}
