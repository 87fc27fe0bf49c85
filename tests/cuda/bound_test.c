/* A group that is bound to a device: what it says of it, what it refuses, and what is made from it.
 * The first argument is the backend. */
#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 64 };

/* The group of the test's ranks, bound to each one's device; NULL marks the rank as failed. */
static tutti_group* bind_group(rank_context* me, int32_t device) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    const tutti_status status =
        tutti_new_group(me->group, NULL, 0, NULL, "bound", &options, &group, &me->error);
    if (status != TUTTI_OK) rank_failed(me, __FILE__, __LINE__, me->error.message, status);
    return group;
}

static int is_bound(tutti_group* group, tutti_device_type type, int32_t device) {
    tutti_device_type its_type = -1;
    int32_t its_device = -1;
    tutti_error why = TUTTI_ERROR_INIT;
    return tutti_group_get_bound_device(group, &its_type, &its_device, &why) == TUTTI_OK &&
           its_type == type && its_device == device;
}

static void expect_sums(rank_context* me, tutti_group* group, int32_t device) {
    int32_t* const numbers = numbers_of(COUNT, 3);
    int32_t here[COUNT] = {0};
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, COUNT, TUTTI_INT32);
    const int32_t ranks = tutti_get_world_size(group);
    here[7] = 3;
    RANK_OK(me, tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_OK(me, tutti_all_reduce(group, NULL, &on_cpu, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_EXPECT(me, all_are(numbers, COUNT, 3 * ranks));
    RANK_EXPECT(me, here[7] == 3 * ranks && here[0] == 0);
    cuda_free(numbers);
}

static void a_group_says_what_it_is_bound_to(rank_context* me) {
    const int32_t device = use_device(me);
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_device_type type = -1;
    int32_t index = -1;
    RANK_EXPECT(me, is_bound(me->group, TUTTI_CPU, 0));
    options.device_type = TUTTI_CUDA;
    options.device_index = device_count();
    RANK_OK(me, tutti_prefix_store_create(me->store, "bound", &store, &me->error));
    RANK_REFUSES(
        me,
        tutti_group_create(backend, store, NULL, me->rank, me->size, &options, &group, &me->error),
        "options.device_index is");
    options.device_index = device;
    RANK_OK(me, tutti_group_create(backend, store, NULL, me->rank, me->size, &options, &group,
                                   &me->error));
    RANK_EXPECT(me, is_bound(group, TUTTI_CUDA, device));
    RANK_REFUSES(me, tutti_group_get_bound_device(group, NULL, &index, &me->error),
                 "out_device_type is NULL");
    RANK_REFUSES(me, tutti_group_get_bound_device(group, &type, NULL, &me->error),
                 "out_device_index is NULL");
    RANK_STATUS(me, tutti_group_get_bound_device(NULL, &type, &index, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    expect_sums(me, group, device);
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
    tutti_store_release(store);
}

RANK_TEST(a_group_says_what_it_is_bound_to, 2)

static void another_device_is_refused(rank_context* me) {
    const int32_t device = use_device(me);
    if (device_count() < 2) return;
    tutti_group* const group = bind_group(me, device);
    if (group == NULL) return;
    cuda_use(1 - device);
    int32_t* const numbers = numbers_of(COUNT, 3);
    const tutti_buffer buffer = on_cuda(1 - device, numbers, COUNT, TUTTI_INT32);
    tutti_coalescing_options coalesced = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_memory_options memory = TUTTI_MEMORY_OPTIONS_INIT;
    const int32_t peer = 1 - me->rank;
    tutti_group* coalescing = NULL;
    tutti_work* work = NULL;
    void* allocated = NULL;
    char bound[100];
    snprintf(bound, sizeof bound,
             "on cuda:%d, and group \"bound\" (rank %d of 2) is bound to cuda:%d",
             (int)(1 - device), (int)me->rank, (int)device);
    RANK_REFUSES(me, tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
                 bound);
    RANK_REFUSES(me, tutti_broadcast(group, &buffer, 0, NULL, &work, &me->error), bound);
    RANK_REFUSES(me, tutti_send(group, &buffer, peer, 0, NULL, NULL, &me->error), bound);
    RANK_REFUSES(me, tutti_recv(group, &buffer, peer, 0, NULL, NULL, &work, &me->error), bound);
    RANK_EXPECT(me, work == NULL);
    snprintf(bound, sizeof bound, "device_index name cuda:%d, and group \"bound\"",
             (int)(1 - device));
    coalesced.device_type = memory.device_type = TUTTI_CUDA;
    coalesced.device_index = memory.device_index = 1 - device;
    RANK_REFUSES(me, tutti_coalescing_begin(group, &coalesced, &coalescing, &me->error), bound);
    RANK_REFUSES(me, tutti_memory_alloc(group, 100, &memory, &allocated, &me->error), bound);
    RANK_EXPECT(me, coalescing == NULL && allocated == NULL);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_EXPECT(me, all_are(numbers, COUNT, 6)); /* the group that is bound to none takes it */
    cuda_free(numbers);
    cuda_use(device);
    expect_sums(me, group, device);
    tutti_group_release(group);
}

RANK_TEST(another_device_is_refused, 2)

static void groups_inherit_it(rank_context* me) {
    const int32_t device = use_device(me);
    const int64_t shape[] = {2, 2}, halves[] = {2, 2};
    const int32_t order[] = {0, 2, 1, 3};
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* const group = bind_group(me, device);
    tutti_group *half = NULL, *all = NULL, *row = NULL, *whole = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL;
    if (group == NULL) return;
    RANK_OK(me, tutti_split_group(group, order, 4, halves, 2, NULL, NULL, &half, &me->error));
    RANK_EXPECT(me, is_bound(half, TUTTI_CUDA, device));
    expect_sums(me, half, device);
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    RANK_OK(me, tutti_new_group(group, NULL, 0, NULL, NULL, &options, &all, &me->error));
    RANK_EXPECT(me, is_bound(all, TUTTI_CUDA, device));
    RANK_OK(me, tutti_init_device_mesh(group, shape, 2, NULL, TUTTI_CUDA, NULL, &mesh, &me->error));
    RANK_OK(me, tutti_mesh_get_group(mesh, 1, &row, &me->error));
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error));
    RANK_OK(me, tutti_mesh_get_group(flat, -1, &whole, &me->error));
    RANK_EXPECT(me, is_bound(row, TUTTI_CUDA, device) && is_bound(whole, TUTTI_CUDA, device));
    expect_sums(me, row, device);
    expect_sums(me, whole, device);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
    tutti_group_release(whole);
    tutti_group_release(row);
    tutti_group_release(all);
    tutti_group_release(half);
    tutti_group_release(group);
}

RANK_TEST(groups_inherit_it, 4)

static void a_mesh_binds_its_groups(rank_context* me) {
    const int32_t device = use_device(me);
    const int64_t shape[] = {2, 1};
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_group* groups[2] = {NULL, NULL};
    tutti_group* whole = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL, *of_groups = NULL;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    RANK_OK(me, tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CUDA, &options, &mesh,
                                       &me->error));
    RANK_OK(me, tutti_mesh_get_all_groups(mesh, groups, 2, &me->error));
    RANK_EXPECT(me, is_bound(groups[0], TUTTI_CUDA, device));
    RANK_EXPECT(me, is_bound(groups[1], TUTTI_CUDA, device));
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error)); /* as the mesh */
    RANK_OK(me, tutti_mesh_get_group(flat, -1, &whole, &me->error));
    RANK_EXPECT(me, is_bound(whole, TUTTI_CUDA, device));
    tutti_mesh_release(flat);
    RANK_OK(me, tutti_mesh_from_group(groups, NULL, NULL, 1, NULL, TUTTI_CUDA, &options, &of_groups,
                                      &me->error));
    tutti_mesh_release(of_groups);
    tutti_mesh_release(mesh);
    tutti_group_release(whole);
    tutti_group_release(groups[0]);
    tutti_group_release(groups[1]);
}

RANK_TEST(a_mesh_binds_its_groups, 2)

/* The parent is bound, so rank 1 may not make a group for another device. Others do not wait. */
static void a_fault_of_one_ends_the_call_of_all(rank_context* me) {
    const int32_t device = use_device(me);
    const int64_t shape[] = {2};
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group_options of_mesh = TUTTI_GROUP_OPTIONS_INIT;
    tutti_group* made = NULL;
    tutti_mesh* mesh = NULL;
    char fragment[100];
    if (device_count() < 2) return;
    tutti_group* const group = bind_group(me, device);
    if (group == NULL) return;
    if (me->rank == 1) {
        options.device_type = of_mesh.device_type = TUTTI_CUDA;
        options.device_index = of_mesh.device_index = 1 - device;
        snprintf(fragment, sizeof fragment, "device_index name cuda:%d, and group \"bound\"",
                 (int)(1 - device));
        RANK_REFUSES(me, tutti_new_group(group, NULL, 0, NULL, NULL, &options, &made, &me->error),
                     fragment);
        RANK_REFUSES(
            me,
            tutti_init_device_mesh(group, shape, 1, NULL, TUTTI_CUDA, &of_mesh, &mesh, &me->error),
            fragment);
    } else {
        RANK_STATUS(me, tutti_new_group(group, NULL, 0, NULL, NULL, &options, &made, &me->error),
                    TUTTI_ERR_MISMATCH);
        RANK_SAYS(me, "device_index name cuda:");
        RANK_STATUS(
            me,
            tutti_init_device_mesh(group, shape, 1, NULL, TUTTI_CUDA, &of_mesh, &mesh, &me->error),
            TUTTI_ERR_MISMATCH);
        RANK_SAYS(me, "device_index name cuda:");
    }
    RANK_EXPECT(me, made == NULL && mesh == NULL);
    expect_sums(me, group, device);
    tutti_group_release(group);
}

RANK_TEST(a_fault_of_one_ends_the_call_of_all, 2)

/* The same for the calls of members alone, for flattening a mesh, and for memory; and what comes
 * next is not taken for what has failed. */
static void a_fault_of_one_does_no_harm(rank_context* me) {
    const int32_t device = use_device(me), nowhere = device_count();
    const int32_t members[] = {0, 1};
    const int64_t shape[] = {1, 2};
    const int is_wrong = me->rank == 1;
    const tutti_status refused = is_wrong ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH;
    tutti_new_group_options local = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group_options of_mesh = TUTTI_GROUP_OPTIONS_INIT;
    tutti_memory_options of_memory = TUTTI_MEMORY_OPTIONS_INIT;
    tutti_group* made = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL;
    void* memory = NULL;
    local.use_local_synchronization = 1;
    local.device_type = of_mesh.device_type = of_memory.device_type = TUTTI_CUDA;
    local.device_index = of_mesh.device_index = of_memory.device_index =
        is_wrong ? nowhere : device;
#define MAKE_LOCAL() tutti_new_group(me->group, members, 2, NULL, NULL, &local, &made, &me->error)
    RANK_STATUS(me, MAKE_LOCAL(), refused);
    local.device_index = device;
    RANK_OK(me, MAKE_LOCAL());
    RANK_EXPECT(me, is_bound(made, TUTTI_CUDA, device));
    tutti_group_release(made);
    RANK_OK(me,
            tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CUDA, NULL, &mesh, &me->error));
    RANK_STATUS(me, tutti_mesh_flatten(mesh, "all", &of_mesh, &flat, &me->error), refused);
    of_mesh.device_index = device;
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", &of_mesh, &flat, &me->error));
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
    RANK_STATUS(me, tutti_memory_alloc(me->group, 100, &of_memory, &memory, &me->error),
                is_wrong ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_OUT_OF_MEMORY);
    of_memory.device_index = device;
    RANK_OK(me, tutti_memory_alloc(me->group, 100, &of_memory, &memory, &me->error));
    tutti_memory_release(memory);
    expect_sums(me, me->group, device);
}

RANK_TEST(a_fault_of_one_does_no_harm, 2)

static void a_mesh_of_groups_is_bound_as_they_are(rank_context* me) {
    const int32_t device = use_device(me);
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_group *const group = bind_group(me, device), *whole = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL;
    if (group == NULL) return;
    RANK_OK(me, tutti_mesh_from_group(&group, NULL, NULL, 1, NULL, TUTTI_CUDA, NULL, &mesh,
                                      &me->error));
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error));
    RANK_OK(me, tutti_mesh_get_group(flat, -1, &whole, &me->error));
    RANK_EXPECT(me, is_bound(whole, TUTTI_CUDA, device));
    tutti_group_release(whole);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
    if (device_count() > 1) {
        options.device_type = TUTTI_CUDA;
        options.device_index = 1 - device;
        RANK_REFUSES(me,
                     tutti_mesh_from_group(&group, NULL, NULL, 1, NULL, TUTTI_CUDA, &options, &mesh,
                                           &me->error),
                     "device_index name cuda:");
    }
    tutti_group_release(group);
}

RANK_TEST(a_mesh_of_groups_is_bound_as_they_are, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_group_says_what_it_is_bound_to_on_ranks),
        TEST(another_device_is_refused_on_ranks),
        TEST(groups_inherit_it_on_ranks),
        TEST(a_mesh_binds_its_groups_on_ranks),
        TEST(a_fault_of_one_ends_the_call_of_all_on_ranks),
        TEST(a_fault_of_one_does_no_harm_on_ranks),
        TEST(a_mesh_of_groups_is_bound_as_they_are_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
