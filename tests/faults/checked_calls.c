#include "checked_calls.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 50000, MESSAGE = 20000, BROADCAST_BYTES = 3000, WRONG_RESULT = 9 };

data_place checked_data;

void check(int is_right) {
    if (!is_right) exit(WRONG_RESULT);
}

/* Memory of the calls, made once; on the CPU it is used as it is. */
typedef struct place {
    void* device;
    size_t bytes;
} place;

static tutti_buffer put(place* one, void* host, int64_t count, tutti_dtype dtype) {
    tutti_buffer buffer = TUTTI_BUFFER_INIT(host, count, dtype);
    if (checked_data.alloc == NULL) return buffer;
    const size_t bytes = (size_t)count * (size_t)tutti_dtype_size(dtype);
    if (one->device == NULL) one->device = checked_data.alloc(one->bytes);
    checked_data.copy_in(one->device, host, bytes);
    buffer.data = one->device;
    buffer.device_type = checked_data.device_type;
    buffer.device_index = checked_data.device_index;
    return buffer;
}

static void get(const place* one, void* host, size_t bytes) {
    if (checked_data.alloc != NULL) checked_data.copy_out(host, one->device, bytes);
}

uint64_t members_number(void) {
    int32_t ranks[MOST_MEMBERS];
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    check(tutti_get_process_group_ranks(TUTTI_GROUP_WORLD, ranks, MOST_MEMBERS, NULL) == TUTTI_OK);
    uint64_t number = 0;
    for (int32_t rank = 0; rank < size; ++rank) number = number * 131 + (uint64_t)ranks[rank] + 1;
    return number;
}

tutti_status compare_members(uint64_t own, tutti_error* error) {
    static place from = {NULL, sizeof(uint64_t)}, to = {NULL, MOST_MEMBERS * sizeof(uint64_t)};
    uint64_t all[MOST_MEMBERS] = {0};
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    const tutti_buffer input = put(&from, &own, 1, TUTTI_UINT64);
    const tutti_buffer output = put(&to, all, size, TUTTI_UINT64);
    const tutti_status status =
        tutti_all_gather_into_tensor(TUTTI_GROUP_WORLD, &input, &output, NULL, NULL, error);
    if (status != TUTTI_OK) return status;
    get(&to, all, (size_t)size * sizeof *all);
    for (int32_t rank = 0; rank < size; ++rank) check(all[rank] == own);
    return TUTTI_OK;
}

static tutti_status sum(tutti_group* group, int64_t count, tutti_error* error) {
    static float numbers[LARGE];
    static place data = {NULL, sizeof numbers};
    for (int64_t index = 0; index < count; ++index) numbers[index] = 1;
    const tutti_buffer buffer = put(&data, numbers, count, TUTTI_FLOAT32);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, error);
    if (status != TUTTI_OK) return status;
    get(&data, numbers, (size_t)count * sizeof *numbers);
    const float size = (float)tutti_get_world_size(group);
    for (int64_t index = 0; index < count; ++index) check(numbers[index] == size);
    return TUTTI_OK;
}

static tutti_status sum_in_new_group(tutti_error* error) {
    tutti_group* group = NULL;
    tutti_status status =
        tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, NULL, NULL, &group, error);
    if (status != TUTTI_OK) return status;
    status = sum(group, 1, error);
    tutti_destroy_process_group(group, NULL, NULL);
    tutti_group_release(group);
    return status;
}

static tutti_status pass_round(tutti_error* error) {
    static char out[MESSAGE], in[MESSAGE];
    static place from = {NULL, sizeof out}, to = {NULL, sizeof in};
    const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    const int32_t before = (rank + size - 1) % size;
    memset(out, 1 + rank, sizeof out);
    const tutti_buffer sent = put(&from, out, MESSAGE, TUTTI_INT8);
    const tutti_buffer received = put(&to, in, MESSAGE, TUTTI_INT8);
    tutti_work* work = NULL;
    tutti_status status =
        tutti_send(TUTTI_GROUP_WORLD, &sent, (rank + 1) % size, 5, NULL, &work, error);
    if (status != TUTTI_OK) return status;
    status = tutti_recv(TUTTI_GROUP_WORLD, &received, before, 5, NULL, NULL, NULL, error);
    if (status == TUTTI_OK) {
        get(&to, in, sizeof in);
        check(in[MESSAGE - 1] == (char)(1 + before));
    }
    tutti_error of_send = TUTTI_ERROR_INIT;
    const tutti_status end = tutti_work_wait(work, 0, &of_send);
    tutti_work_release(work);
    if (status != TUTTI_OK || end == TUTTI_OK) return status;
    *error = of_send;
    return end;
}

static tutti_status broadcast(tutti_error* error) {
    static char bytes[BROADCAST_BYTES];
    static place data = {NULL, sizeof bytes};
    const int32_t root = tutti_get_world_size(TUTTI_GROUP_WORLD) - 1;
    memset(bytes, tutti_get_rank(TUTTI_GROUP_WORLD) == root ? 7 : 0, sizeof bytes);
    const tutti_buffer buffer = put(&data, bytes, sizeof bytes, TUTTI_INT8);
    const tutti_status status =
        tutti_broadcast(TUTTI_GROUP_WORLD, &buffer, root, NULL, NULL, error);
    if (status != TUTTI_OK) return status;
    get(&data, bytes, sizeof bytes);
    check(bytes[sizeof bytes - 1] == 7);
    return TUTTI_OK;
}

tutti_status make_checked_call(checked_call which, tutti_error* error) {
    switch (which) {
        case SMALL_SUM:
            return sum(TUTTI_GROUP_WORLD, 1, error);
        case LARGE_SUM:
            return sum(TUTTI_GROUP_WORLD, LARGE, error);
        case SUM_IN_NEW_GROUP:
            return sum_in_new_group(error);
        case MESSAGES: /* no rank sends to itself; over NCCL a send waits for its receive */
            return tutti_get_world_size(TUTTI_GROUP_WORLD) == 1 || checked_data.alloc != NULL
                       ? sum(TUTTI_GROUP_WORLD, 1, error)
                       : pass_round(error);
        case BARRIER:
            return tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, error);
        default:
            return broadcast(error);
    }
}
