/* Wrong arguments of tutti_torch_broadcast_coalesced and tutti_torch_replica_create, for
 * replica_peer.c: they are refused before anything is sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/torch/replica.h>

static void need_refusal(tutti_status status, const tutti_error* error, const char* words) {
    if (status == TUTTI_ERR_INVALID_ARGUMENT && strcmp(error->message, words) == 0) return;
    fprintf(stderr, "C rank: %s: \"%s\" instead of \"%s\"\n", tutti_status_name(status),
            error->message, words);
    exit(3);
}

static void check_refusals(tutti_group* group, tutti_error* error) {
    static const struct {
        const char* words;
        tutti_dtype dtype;
        tutti_device_type device_type;
        int64_t count;
        int has_data;
    } wrong[] = {{"tensors[1] has a wrong dtype", TUTTI_BOOL + 1, TUTTI_CPU, 2, 1},
                 {"tensors[1] has a wrong device_type", TUTTI_FLOAT32, TUTTI_CUDA, 2, 1},
                 {"tensors[1] has a wrong count", TUTTI_FLOAT32, TUTTI_CPU, -1, 1},
                 {"tensors[1] has a wrong data", TUTTI_FLOAT32, TUTTI_CPU, 2, 0}};
    float values[2] = {0, 0};
    tutti_buffer two[2];
    const tutti_buffer good = TUTTI_BUFFER_INIT(values, 2, TUTTI_FLOAT32);
    tutti_torch_tensor tensor = {good, NULL, 0, TUTTI_TORCH_PARAMETER};
    tutti_torch_replica* replica = NULL;
    two[0] = two[1] = good;
    need_refusal(tutti_torch_broadcast_coalesced(NULL, two, 2, error), error,
                 "group has no rank here");
    need_refusal(tutti_torch_broadcast_coalesced(group, two, -1, error), error,
                 "count is negative");
    need_refusal(tutti_torch_broadcast_coalesced(group, NULL, 2, error), error, "tensors is NULL");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        two[1].dtype = wrong[i].dtype;
        two[1].device_type = wrong[i].device_type;
        two[1].count = wrong[i].count;
        two[1].data = wrong[i].has_data ? values : NULL;
        need_refusal(tutti_torch_broadcast_coalesced(group, two, 2, error), error, wrong[i].words);
    }
    tensor.values.count = 1;
    tensor.values.dtype = TUTTI_BOOL + 1;
    need_refusal(tutti_torch_replica_create(group, &tensor, 1, NULL, &replica, error), error,
                 "tensors[0] has a wrong values.dtype");
    if (tutti_torch_broadcast_coalesced(group, NULL, 0, error) != TUTTI_OK || replica != NULL) {
        fprintf(stderr, "C rank: no tensors are refused\n");
        exit(3);
    }
}
