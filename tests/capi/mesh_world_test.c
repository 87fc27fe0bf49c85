/* Meshes of the default group, which they make if there is none. */
#include <stdio.h>
#include <stdlib.h>

#include "support/contract.h"
#include "support/held_port.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;

static void the_default_group_is_made_if_there_is_none(void** state) {
    (void)state;
    const int64_t length = 1;
    const held_port held = hold_port();
    char port[16];
    tutti_mesh* mesh = NULL;
    (void)unsetenv("RANK");
    EXPECT_ERROR(
        tutti_init_device_mesh(TUTTI_GROUP_WORLD, &length, 1, NULL, TUTTI_CPU, NULL, &mesh, &error),
        bad, "RANK");
    (void)snprintf(port, sizeof port, "%d", (int)held.number);
    (void)setenv("MASTER_PORT", port, 1);
    (void)setenv("MASTER_ADDR", "127.0.0.1", 1);
    (void)setenv("RANK", "0", 1);
    (void)setenv("WORLD_SIZE", "1", 1);
    EXPECT_OK(tutti_init_device_mesh(TUTTI_GROUP_WORLD, &length, 1, NULL, TUTTI_CPU, NULL, &mesh,
                                     &error));
    assert_int_equal(tutti_is_initialized(), 1);
    /* As tutti_init_process_group chooses: not gloo, which is slower on one host. */
    assert_string_equal(tutti_get_backend(TUTTI_GROUP_WORLD), "shm");
    tutti_mesh_release(mesh);
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    close(held.holder);
}

/* In a process of its own, one of some; `user`: whether by tutti_mesh_create. */
static tutti_status lay_the_world_out(int32_t local_rank, void* user, tutti_error* fault) {
    const int64_t length = 3;
    const int32_t ranks[] = {2, 0, 1};
    tutti_mesh* mesh = NULL;
    tutti_status status = TUTTI_OK;
    int32_t place = -7;
    (void)unsetenv("TUTTI_HOSTS"); /* all are on this host */
    if (user == NULL) {
        status = tutti_init_device_mesh(TUTTI_GROUP_WORLD, &length, 1, NULL, TUTTI_CPU, NULL, &mesh,
                                        fault);
    } else {
        status = tutti_mesh_create(TUTTI_GROUP_WORLD, ranks, 3, &length, 1, NULL, TUTTI_CPU, NULL,
                                   &mesh, fault);
    }
    if (status == TUTTI_OK) status = tutti_mesh_get_local_rank(mesh, -1, &place, fault);
    if (status != TUTTI_OK) return status;
    const int32_t wanted = user == NULL ? local_rank : (local_rank + 1) % 3;
    const char* const chosen = tutti_get_backend(TUTTI_GROUP_WORLD);
    if (place != wanted || chosen == NULL || strcmp(chosen, "shm") != 0) {
        (void)snprintf(fault->message, sizeof fault->message, "place %d, backend %s", (int)place,
                       chosen == NULL ? "none" : chosen);
        return TUTTI_ERR_INTERNAL;
    }
    tutti_mesh_release(mesh);
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, fault);
}

/* As tutti_init_process_group chooses: not gloo, which is slower on one host. */
static void processes_of_one_host_get_the_fastest_default_group(void** state) {
    (void)state;
    int create = 1;
    EXPECT_OK(tutti_spawn(lay_the_world_out, NULL, 3, NULL, NULL, &error));
    EXPECT_OK(tutti_spawn(lay_the_world_out, &create, 3, NULL, NULL, &error));
}

/* Wrong arguments are found before ranks meet. */
static void no_default_group_is_made_for_wrong_arguments(void** state) {
    (void)state;
    const int64_t length = 1;
    const int32_t rank = 0;
    tutti_mesh* mesh = NULL;
    EXPECT_ERROR(
        tutti_init_device_mesh(TUTTI_GROUP_WORLD, NULL, 1, NULL, TUTTI_CPU, NULL, &mesh, &error),
        bad, "shape is NULL");
    EXPECT_ERROR(tutti_init_device_mesh(TUTTI_GROUP_WORLD, &length, 1, NULL, TUTTI_CUDA, NULL,
                                        &mesh, &error),
                 TUTTI_ERR_UNSUPPORTED, "device_type is 1 (cuda)");
    EXPECT_ERROR(tutti_mesh_create(TUTTI_GROUP_WORLD, &rank, 2, &length, 1, NULL, TUTTI_CPU, NULL,
                                   &mesh, &error),
                 bad, "rank_count is 2, and the shape 1 has 1 places");
    assert_int_equal(tutti_is_initialized(), 0);
    assert_null(mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(processes_of_one_host_get_the_fastest_default_group),
        TEST(no_default_group_is_made_for_wrong_arguments),
        TEST(the_default_group_is_made_if_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
