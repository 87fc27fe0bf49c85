/* Device meshes, ranks as threads, over the backend that the argument names. */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
static const char* const dp_tp[] = {"dp", "tp"};
static const char* const abc[] = {"a", "b", "c"};

static void ranks_lie_row_by_row(rank_context* me) {
    const int64_t shape[] = {2, 3};
    int32_t coordinate[2] = {-7, -7}, ranks[6], place = -7, dim = -7;
    int64_t lengths[2];
    tutti_mesh* mesh = NULL;
    tutti_group *row = NULL, *column = NULL, *groups[2] = {NULL, NULL};
    RANK_OK(me,
            tutti_init_device_mesh(me->group, shape, 2, dp_tp, TUTTI_CPU, NULL, &mesh, &me->error));
    RANK_EXPECT(me, tutti_mesh_ndim(mesh) == 2 && tutti_mesh_get_rank(mesh) == me->rank);
    RANK_EXPECT(me, tutti_mesh_size(mesh, -1) == 6 && tutti_mesh_size(mesh, 0) == 2);
    RANK_EXPECT(me, tutti_mesh_size(mesh, 1) == 3 && tutti_mesh_size(mesh, 2) == -1);
    RANK_EXPECT(me, tutti_mesh_size(mesh, -2) == -1);
    RANK_EXPECT(me, strcmp(tutti_mesh_dim_name(mesh, 1), "tp") == 0);
    RANK_EXPECT(me, tutti_mesh_dim_name(mesh, 2) == NULL && tutti_mesh_dim_name(mesh, -1) == NULL);
    RANK_OK(me, tutti_mesh_shape(mesh, lengths, 2, &me->error));
    RANK_EXPECT(me, lengths[0] == 2 && lengths[1] == 3);
    RANK_OK(me, tutti_mesh_ranks(mesh, ranks, 6, &me->error));
    for (int32_t i = 0; i < 6; ++i) RANK_EXPECT(me, ranks[i] == i);
    RANK_OK(me, tutti_mesh_get_coordinate(mesh, coordinate, 2, &me->error));
    RANK_EXPECT(me, coordinate[0] == me->rank / 3 && coordinate[1] == me->rank % 3);
    RANK_EXPECT(me, tutti_mesh_device_type(mesh) == TUTTI_CPU);
    RANK_OK(me, tutti_mesh_get_group(mesh, 1, &row, &me->error));
    RANK_OK(me, tutti_mesh_find_dim(mesh, "dp", &dim, &me->error));
    RANK_EXPECT(me, dim == 0);
    RANK_OK(me, tutti_mesh_get_group(mesh, dim, &column, &me->error));
    RANK_EXPECT(me, tutti_get_rank(row) == me->rank % 3 && tutti_get_world_size(row) == 3);
    RANK_EXPECT(me, tutti_get_rank(column) == me->rank / 3 && tutti_get_world_size(column) == 2);
    RANK_EXPECT(me, rank_sum(me, row, me->rank) == (me->rank < 3 ? 3 : 12));
    RANK_EXPECT(me, rank_sum(me, column, me->rank) == 2 * (me->rank % 3) + 3);
    RANK_OK(me, tutti_mesh_find_dim(mesh, "tp", &dim, &me->error));
    RANK_OK(me, tutti_mesh_get_local_rank(mesh, dim, &place, &me->error));
    RANK_EXPECT(me, dim == 1 && place == me->rank % 3);
    RANK_OK(me, tutti_mesh_get_local_rank(mesh, 0, &place, &me->error));
    RANK_EXPECT(me, place == me->rank / 3);
    tutti_group_release(row);
    tutti_group_release(column);
    RANK_OK(me, tutti_mesh_get_all_groups(mesh, groups, 2, &me->error));
    tutti_mesh_release(mesh); /* the groups stay */
    RANK_EXPECT(me, rank_sum(me, groups[0], 1) == 2 && rank_sum(me, groups[1], 1) == 3);
    for (int i = 0; i < 2; ++i) tutti_group_release(groups[i]);
}

static void wrong_questions_are_refused(rank_context* me) {
    const int64_t shape[] = {2, 1};
    int32_t numbers[2], dim = -7;
    int64_t lengths[2];
    tutti_mesh *mesh = NULL, *part = NULL;
    tutti_group* group = NULL;
    RANK_OK(me,
            tutti_init_device_mesh(me->group, shape, 2, dp_tp, TUTTI_CPU, NULL, &mesh, &me->error));
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, -1, &group, &me->error), "2 dimensions");
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, 2, &group, &me->error), "dim is 2");
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, -2, &group, &me->error), "dim is -2");
    RANK_REFUSES(me, tutti_mesh_get_local_rank(mesh, 2, numbers, &me->error), "dim is 2");
    RANK_REFUSES(me, tutti_mesh_find_dim(mesh, "pp", &dim, &me->error),
                 "\"pp\"; the mesh has names \"dp\", \"tp\"");
    RANK_REFUSES(me, tutti_mesh_find_dim(mesh, NULL, &dim, &me->error), "name is NULL");
    RANK_REFUSES(me, tutti_mesh_find_dim(mesh, "", &dim, &me->error), "name is \"\"");
    RANK_REFUSES(me, tutti_mesh_find_dim(mesh, "dp", NULL, &me->error), "out_dim is NULL");
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, 0, NULL, &me->error), "out_group is NULL");
    RANK_REFUSES(me, tutti_mesh_shape(mesh, lengths, -1, &me->error), "count is -1");
    RANK_REFUSES(me, tutti_mesh_get_coordinate(mesh, numbers, 1, &me->error), "room for 1");
    RANK_REFUSES(me, tutti_mesh_shape(mesh, NULL, 2, &me->error), "out_shape is NULL");
    RANK_REFUSES(me, tutti_mesh_ranks(mesh, numbers, 1, &me->error), "it receives 2");
    RANK_REFUSES(me, tutti_mesh_get_all_groups(mesh, &group, 1, &me->error), "it receives 2");
    const char* const backwards[] = {"tp", "dp"};
    const char* const twice[] = {"dp", "dp"};
    const char* const unknown[] = {"dp", "pp"};
    RANK_REFUSES(me, tutti_mesh_slice(mesh, backwards, 2, &part, &me->error), "earlier");
    RANK_REFUSES(me, tutti_mesh_slice(mesh, twice, 2, &part, &me->error), "came before");
    RANK_REFUSES(me, tutti_mesh_slice(mesh, unknown, 2, &part, &me->error),
                 "dim_names[1] is \"pp\"");
    RANK_REFUSES(me, tutti_mesh_slice(mesh, dp_tp, 0, &part, &me->error), "count is 0");
    RANK_REFUSES(me, tutti_mesh_slice(mesh, NULL, 1, &part, &me->error), "dim_names is NULL");
    RANK_REFUSES(me, tutti_mesh_flatten(mesh, "tp", NULL, &part, &me->error), "already");
    RANK_REFUSES(me, tutti_mesh_flatten(mesh, "", NULL, &part, &me->error), "dim_name is empty");
    RANK_EXPECT(me, group == NULL && part == NULL);
    tutti_mesh_release(mesh);
}

static void wrong_meshes_are_refused(rank_context* me) {
    const int64_t shape[] = {2, 2}, empty[] = {0, 2}, huge[] = {INT64_MAX};
    const char* const twice[] = {"dp", "dp"};
    const char* const unnamed[] = {"dp", ""};
    tutti_mesh* mesh = NULL;
#define MAKE(device, shape, ndim, names) \
    tutti_init_device_mesh(me->group, shape, ndim, names, device, NULL, &mesh, &me->error)
    RANK_REFUSES(me, MAKE(TUTTI_CPU, shape, 2, NULL),
                 "shape is 2 x 2, which needs more than the 2");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, empty, 2, NULL), "shape[0] is 0");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, shape, 0, NULL), "ndim is 0");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, shape, 65, NULL), "ndim is 65");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, NULL, 1, NULL), "shape is NULL");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, shape, 1, (const char* const*)&mesh), "dim_names[0] is NULL");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, huge, 1, NULL), "shape[0] is 9223372036854775807");
    RANK_REFUSES(me, MAKE(7, shape, 1, NULL), "device_type is 7, no known device type");
    const int64_t small[] = {2, 1};
    RANK_REFUSES(me, MAKE(TUTTI_CPU, small, 2, twice), "dim_names[1] is \"dp\"");
    RANK_REFUSES(me, MAKE(TUTTI_CPU, small, 2, unnamed), "dim_names[1] is empty");
    RANK_STATUS(me, MAKE(TUTTI_CUDA, shape, 1, NULL), TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "device_type is 1 (cuda)");
    RANK_EXPECT(me, mesh == NULL);
    RANK_OK(me, MAKE(TUTTI_CPU, shape, 1, NULL)); /* the ranks are still in step */
    RANK_EXPECT(me, tutti_mesh_dim_name(mesh, 0) == NULL);
    tutti_mesh_release(mesh);
}

static void differences_are_shown_from_both_sides(rank_context* me) {
    const int64_t flat[] = {4, 1}, square[] = {2, 2}, large[] = {5, 1};
    const char* const other[] = {"dp", "pp"};
    tutti_mesh* mesh = NULL;
    RANK_STATUS(me, MAKE(TUTTI_CPU, me->rank == 3 ? flat : square, 2, NULL), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "init_device_mesh with shape 2 x 2");
    RANK_SAYS(me, "init_device_mesh with shape 4 x 1");
    RANK_STATUS(me, MAKE(TUTTI_CPU, square, 2, me->rank == 1 ? other : dp_tp), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "with names \"dp\", \"tp\"");
    RANK_SAYS(me, "with names \"dp\", \"pp\"");
    RANK_STATUS(me, MAKE(TUTTI_CPU, me->rank == 0 ? large : flat, 2, NULL),
                me->rank == 0 ? bad : TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "shape is 5 x 1");
    RANK_OK(me, MAKE(TUTTI_CPU, square, 2, NULL));
    tutti_mesh_release(mesh);
}

static void a_rank_may_have_no_place(rank_context* me) {
    const int64_t shape[] = {2, 1};
    const char* const second[] = {"tp"};
    int32_t coordinate[2] = {-7, -7}, place = -7;
    tutti_mesh *mesh = NULL, *part = NULL;
    tutti_group* group = NULL;
    RANK_OK(me, MAKE(TUTTI_CPU, shape, 2, dp_tp));
    RANK_OK(me, tutti_mesh_get_coordinate(mesh, coordinate, 2, &me->error));
    RANK_OK(me, tutti_mesh_get_group(mesh, 0, &group, &me->error));
    RANK_OK(me, tutti_mesh_get_local_rank(mesh, 0, &place, &me->error));
    RANK_OK(me, tutti_mesh_slice(mesh, second, 1, &part, &me->error));
    RANK_EXPECT(me, tutti_mesh_get_rank(part) == me->rank);
    if (me->rank < 2) {
        RANK_EXPECT(me, coordinate[0] == me->rank && place == me->rank);
        RANK_EXPECT(me, rank_sum(me, group, 1) == 2);
    } else {
        RANK_EXPECT(me, coordinate[0] == -1 && coordinate[1] == -1 && place == -1);
        RANK_EXPECT(me, group == TUTTI_GROUP_NON_MEMBER);
        tutti_mesh* flat = NULL;
        RANK_REFUSES(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error),
                     "not in the mesh");
    }
    tutti_group_release(group);
    tutti_mesh_release(part);
    tutti_mesh_release(mesh);
}

static void slices_see_the_ranks_that_differ_in_their_dimensions(rank_context* me) {
    const int64_t shape[] = {2, 2, 2};
    const char* const ac[] = {"a", "c"};
    const char* const c[] = {"c"};
    int32_t ranks[4], place[2];
    tutti_mesh *mesh = NULL, *part = NULL, *line = NULL;
    tutti_group *whole = NULL, *sliced = NULL;
    RANK_OK(me, MAKE(TUTTI_CPU, shape, 3, abc));
    RANK_OK(me, tutti_mesh_slice(mesh, ac, 2, &part, &me->error));
    RANK_EXPECT(me, tutti_mesh_ndim(part) == 2 && tutti_mesh_size(part, -1) == 4);
    RANK_OK(me, tutti_mesh_ranks(part, ranks, 4, &me->error));
    const int32_t b = me->rank & 2;
    RANK_EXPECT(me, ranks[0] == b && ranks[1] == b + 1 && ranks[2] == b + 4 && ranks[3] == b + 5);
    RANK_OK(me, tutti_mesh_get_coordinate(part, place, 2, &me->error));
    RANK_EXPECT(me, place[0] == me->rank / 4 && place[1] == me->rank % 2);
    RANK_OK(me, tutti_mesh_slice(part, c, 1, &line, &me->error));
    tutti_mesh_release(mesh);
    tutti_mesh_release(part);
    RANK_OK(me, tutti_mesh_get_group(line, -1, &sliced, &me->error));
    RANK_EXPECT(me, rank_sum(me, sliced, me->rank) == 2 * (me->rank & ~1) + 1);
    tutti_group_release(whole);
    tutti_group_release(sliced);
    tutti_mesh_release(line);
}

static void flattened_dimensions_are_known_by_name(rank_context* me) {
    const int64_t shape[] = {2, 2, 2};
    const char* const bc[] = {"b", "c"};
    const char* const both[] = {"b_c"};
    int32_t ranks[4], place = -7, dim = -7;
    tutti_mesh *mesh = NULL, *part = NULL, *flat = NULL, *again = NULL, *all = NULL;
    tutti_group* group = NULL;
    RANK_OK(me, MAKE(TUTTI_CPU, shape, 3, abc));
    RANK_OK(me, tutti_mesh_slice(mesh, bc, 2, &part, &me->error));
    RANK_OK(me, tutti_mesh_flatten(part, NULL, NULL, &flat, &me->error));
    RANK_EXPECT(me, tutti_mesh_ndim(flat) == 1 && tutti_mesh_size(flat, 0) == 4);
    RANK_EXPECT(me, strcmp(tutti_mesh_dim_name(flat, 0), "b_c") == 0);
    RANK_OK(me, tutti_mesh_ranks(flat, ranks, 4, &me->error));
    for (int32_t i = 0; i < 4; ++i) RANK_EXPECT(me, ranks[i] == (me->rank & 4) + i);
    RANK_OK(me, tutti_mesh_find_dim(mesh, "b_c", &dim, &me->error));
    RANK_EXPECT(me, dim == 3 && strcmp(tutti_mesh_dim_name(mesh, 3), "b_c") == 0);
    RANK_EXPECT(me, tutti_mesh_dim_name(mesh, 4) == NULL);
    RANK_OK(me, tutti_mesh_get_group(mesh, dim, &group, &me->error));
    RANK_EXPECT(me, tutti_get_rank(group) == (me->rank & 3) && rank_sum(me, group, 1) == 4);
    RANK_OK(me, tutti_mesh_get_local_rank(mesh, dim, &place, &me->error));
    RANK_EXPECT(me, place == (me->rank & 3));
    RANK_OK(me, tutti_mesh_find_dim(part, "b_c", &dim, &me->error));
    RANK_EXPECT(me, dim == 2);
    RANK_OK(me, tutti_mesh_slice(mesh, both, 1, &again, &me->error));
    RANK_EXPECT(me, tutti_mesh_size(again, -1) == 4);
    tutti_mesh_release(again);
    /* Asked again it needs nobody; another mesh of that name is refused. */
    if (me->rank == 0) RANK_OK(me, tutti_mesh_flatten(part, "b_c", NULL, &again, &me->error));
    if (me->rank == 0) tutti_mesh_release(again);
    RANK_REFUSES(me, tutti_mesh_flatten(mesh, "b_c", NULL, &all, &me->error), "other flattened");
    RANK_STATUS(me, tutti_mesh_flatten(mesh, me->rank == 5 ? "x" : "y", NULL, &all, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "dim_name \"x\"");
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &all, &me->error));
    RANK_EXPECT(me, tutti_mesh_size(all, 0) == 8);
    tutti_group_release(group);
    tutti_mesh_release(all);
    tutti_mesh_release(flat);
    tutti_mesh_release(part);
    tutti_mesh_release(mesh);
}

static void a_mesh_is_made_of_groups_that_are_there(rank_context* me) {
    const int64_t shape[] = {2, 2};
    const int32_t ranks[] = {0, 1, 2, 3}, wrong[] = {0, 2, 1, 3};
    const int64_t large[] = {2, 3}, none[] = {2, 0};
    const int32_t rows[] = {0, 1, 2, 3}, columns[] = {0, 2, 1, 3};
    const int64_t sizes[] = {2, 2};
    tutti_group *groups[2] = {NULL, NULL}, *one = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL;
    RANK_OK(me, tutti_split_group(me->group, columns, 4, sizes, 2, "column", NULL, &groups[0],
                                  &me->error));
    RANK_OK(me,
            tutti_split_group(me->group, rows, 4, sizes, 2, "row", NULL, &groups[1], &me->error));
#define FROM(ranks, shape, ndim) \
    tutti_mesh_from_group(groups, ranks, shape, ndim, NULL, TUTTI_CPU, NULL, &mesh, &me->error)
    RANK_REFUSES(me, FROM(wrong, shape, 2), "groups[0] has ranks");
    RANK_REFUSES(me, FROM(NULL, NULL, 2), "ranks is NULL; a mesh of 2 dimensions needs it");
    RANK_REFUSES(me, FROM(ranks, NULL, 1), "one of ranks and shape is NULL");
    RANK_REFUSES(me, FROM(ranks, large, 2), "shape is 2 x 3, which needs more than the 4 ranks");
    RANK_REFUSES(me, FROM(ranks, none, 2), "shape[1] is 0");
    RANK_OK(me, FROM(ranks, shape, 2));
    RANK_OK(me, tutti_mesh_get_group(mesh, 1, &one, &me->error));
    RANK_EXPECT(me, tutti_get_group_rank(one, me->rank) == me->rank % 2);
    tutti_group_release(one);
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error));
    RANK_EXPECT(me, tutti_mesh_size(flat, 0) == 4);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
    RANK_OK(me, FROM(NULL, NULL, 1)); /* of the columns */
    RANK_EXPECT(me, tutti_mesh_ndim(mesh) == 1 && tutti_mesh_size(mesh, 0) == 2);
    RANK_OK(me, tutti_mesh_get_group(mesh, -1, &one, &me->error));
    RANK_EXPECT(me, rank_sum(me, one, me->rank) == 2 * (me->rank % 2) + 2);
    tutti_group_release(one);
    tutti_mesh_release(mesh);
    for (int i = 0; i < 2; ++i) tutti_group_release(groups[i]);
}

/* One rank's arguments are wrong: the others do not wait for it. */
static void wrong_arguments_of_one_rank_fail_the_call_of_all(rank_context* me) {
    const int64_t shape[] = {2, 1};
    const int32_t ranks[] = {1, 0};
    const char* const no_names[] = {NULL, NULL};
    const int wrong = me->rank == 0;
    tutti_group_options broken = TUTTI_GROUP_OPTIONS_INIT;
    tutti_mesh* mesh = NULL;
    broken.struct_size = 3;
#define ONE_IS_REFUSED(call, fragment)                           \
    do {                                                         \
        RANK_STATUS(me, call, wrong ? bad : TUTTI_ERR_MISMATCH); \
        RANK_SAYS(me, fragment);                                 \
        RANK_SAYS(me, wrong ? "tutti_" : "rank 0");              \
        RANK_EXPECT(me, mesh == NULL);                           \
    } while (0)
#define INIT(shape, ndim, names, options, out_mesh) \
    tutti_init_device_mesh(me->group, shape, ndim, names, TUTTI_CPU, options, out_mesh, &me->error)
    ONE_IS_REFUSED(INIT(wrong ? NULL : shape, 2, NULL, NULL, &mesh), "shape is NULL");
    ONE_IS_REFUSED(INIT(shape, wrong ? 0 : 2, NULL, NULL, &mesh), "ndim is 0");
    ONE_IS_REFUSED(INIT(shape, wrong ? -1 : 2, NULL, NULL, &mesh), "ndim is -1");
    ONE_IS_REFUSED(INIT(shape, 2, wrong ? no_names : dp_tp, NULL, &mesh), "dim_names[0] is NULL");
    ONE_IS_REFUSED(INIT(shape, 2, NULL, wrong ? &broken : NULL, &mesh), "struct_size is 3");
    ONE_IS_REFUSED(INIT(shape, 2, NULL, NULL, wrong ? NULL : &mesh), "out_mesh is NULL");
#define CREATE(ranks, count) \
    tutti_mesh_create(me->group, ranks, count, shape, 2, NULL, TUTTI_CPU, NULL, &mesh, &me->error)
    ONE_IS_REFUSED(CREATE(wrong ? NULL : ranks, 2), "ranks is NULL");
    ONE_IS_REFUSED(CREATE(ranks, wrong ? 1 : 2), "rank_count is 1");
    RANK_OK(me, INIT(shape, 2, NULL, NULL, &mesh)); /* the ranks are still in step */
    tutti_mesh_release(mesh);
}

/* Dimensions that flatten made have the numbers behind the mesh's own, in a slice behind the
 * slice's. */
static void flattened_dimensions_have_numbers(rank_context* me) {
    const int64_t shape[] = {2, 2, 1};
    const char* const ab[] = {"a", "b"};
    int32_t dim = -7, place = -7;
    tutti_mesh *mesh = NULL, *part = NULL, *flat = NULL;
    tutti_group* group = NULL;
    RANK_OK(me, MAKE(TUTTI_CPU, shape, 3, abc));
    RANK_OK(me, tutti_mesh_slice(mesh, ab, 2, &part, &me->error));
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, 3, &group, &me->error),
                 "dim is 3; the mesh has 3 dimensions");
    RANK_OK(me, tutti_mesh_flatten(part, NULL, NULL, &flat, &me->error));
    tutti_mesh_release(flat);
    RANK_OK(me, tutti_mesh_flatten(mesh, "whole", NULL, &flat, &me->error));
    RANK_OK(me, tutti_mesh_find_dim(mesh, "a_b", &dim, &me->error));
    RANK_EXPECT(me, dim == 3 && tutti_mesh_size(mesh, 3) == 4);
    RANK_OK(me, tutti_mesh_find_dim(mesh, "whole", &dim, &me->error));
    RANK_EXPECT(me, dim == 4 && strcmp(tutti_mesh_dim_name(mesh, 4), "whole") == 0);
    RANK_OK(me, tutti_mesh_find_dim(part, "whole", &dim, &me->error));
    RANK_EXPECT(me, dim == 3 && strcmp(tutti_mesh_dim_name(part, 2), "a_b") == 0);
    RANK_OK(me, tutti_mesh_get_local_rank(part, dim, &place, &me->error));
    RANK_EXPECT(me, place == me->rank && tutti_mesh_ndim(part) == 2);
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, 5, &group, &me->error),
                 "dim is 5; the mesh has 3 dimensions, and 2 flattened with the numbers from 3 on");
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, INT32_MAX, &group, &me->error),
                 "dim is 2147483647");
    RANK_REFUSES(me, tutti_mesh_get_group(mesh, INT32_MIN, &group, &me->error),
                 "dim is -2147483648");
    RANK_REFUSES(me, tutti_mesh_find_dim(part, "c", &dim, &me->error),
                 "the mesh has names \"a\", \"b\", \"a_b\", \"whole\"");
    tutti_mesh_release(flat);
    tutti_mesh_release(part);
    tutti_mesh_release(mesh);
}

static void expect_flattened(rank_context* me, tutti_mesh* mesh, const char* name,
                             const tutti_group_options* options, int64_t timeout_ms) {
    tutti_mesh* flat = NULL;
    tutti_group* group = NULL;
    int64_t timeout = 0;
    RANK_OK(me, tutti_mesh_flatten(mesh, name, options, &flat, &me->error));
    RANK_OK(me, tutti_mesh_get_group(flat, 0, &group, &me->error));
    RANK_OK(me, tutti_group_get_timeout(group, &timeout, &me->error));
    RANK_EXPECT(me, timeout == timeout_ms && tutti_group_is_reproducible(group) == 1);
    tutti_group_release(group);
    tutti_mesh_release(flat);
}

static void flatten_takes_the_options_of_the_mesh(rank_context* me) {
    const int64_t shape[] = {2, 1};
    const int32_t ranks[] = {0, 1};
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT, other = TUTTI_GROUP_OPTIONS_INIT;
    tutti_group* groups[2] = {NULL, NULL};
    tutti_mesh *mesh = NULL, *again = NULL;
    options.reproducible = 1;
    options.timeout_ms = 600000;
    other.timeout_ms = 500000;
    RANK_OK(me, tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CPU, &options, &mesh,
                                       &me->error));
    expect_flattened(me, mesh, "as the mesh", NULL, 600000);
    expect_flattened(me, mesh, "other", &other, 500000);
    RANK_OK(me, tutti_mesh_get_all_groups(mesh, groups, 2, &me->error));
    RANK_OK(me, tutti_mesh_from_group(groups, ranks, shape, 2, NULL, TUTTI_CPU, &options, &again,
                                      &me->error));
    expect_flattened(me, again, "as the mesh", NULL, 600000);
    tutti_mesh_release(again);
    again = NULL;
    options.struct_size = 3;
    RANK_REFUSES(me,
                 tutti_mesh_from_group(groups, ranks, shape, 2, NULL, TUTTI_CPU, &options, &again,
                                       &me->error),
                 "options.struct_size is 3");
    RANK_REFUSES(me,
                 tutti_mesh_from_group(groups, ranks, shape, 2, NULL, 7, NULL, &again, &me->error),
                 "device_type is 7, no known device type");
    RANK_STATUS(
        me,
        tutti_mesh_from_group(groups, ranks, shape, 2, NULL, TUTTI_XPU, NULL, &again, &me->error),
        TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "device_type is 12 (xpu): tutti has no backend for these devices");
    RANK_EXPECT(me, again == NULL && tutti_mesh_device_type(NULL) == -1);
    for (int i = 0; i < 2; ++i) tutti_group_release(groups[i]);
    tutti_mesh_release(mesh);
}

RANK_TEST(wrong_arguments_of_one_rank_fail_the_call_of_all, 2)
RANK_TEST(flattened_dimensions_have_numbers, 4)
RANK_TEST(flatten_takes_the_options_of_the_mesh, 2)
RANK_TEST(ranks_lie_row_by_row, 6)
RANK_TEST(wrong_questions_are_refused, 2)
RANK_TEST(wrong_meshes_are_refused, 2)
RANK_TEST(differences_are_shown_from_both_sides, 4)
RANK_TEST(a_rank_may_have_no_place, 3)
RANK_TEST(slices_see_the_ranks_that_differ_in_their_dimensions, 8)
RANK_TEST(flattened_dimensions_are_known_by_name, 8)
RANK_TEST(a_mesh_is_made_of_groups_that_are_there, 4)

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(wrong_arguments_of_one_rank_fail_the_call_of_all_on_ranks),
        TEST(flattened_dimensions_have_numbers_on_ranks),
        TEST(flatten_takes_the_options_of_the_mesh_on_ranks),
        TEST(ranks_lie_row_by_row_on_ranks),
        TEST(wrong_questions_are_refused_on_ranks),
        TEST(wrong_meshes_are_refused_on_ranks),
        TEST(differences_are_shown_from_both_sides_on_ranks),
        TEST(a_rank_may_have_no_place_on_ranks),
        TEST(slices_see_the_ranks_that_differ_in_their_dimensions_on_ranks),
        TEST(flattened_dimensions_are_known_by_name_on_ranks),
        TEST(a_mesh_is_made_of_groups_that_are_there_on_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
