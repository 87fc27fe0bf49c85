/* Meshes of any layout against what their ranks, row by row, say: each shape over 1 to 8 ranks, in
 * any order, of all ranks or some. The ranks are threads, over the backend that the argument names.
 */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "support/seed.h"

enum { MOST = 8, DIMS = 3 };
static const char* const names[DIMS] = {"a", "b", "c"};

typedef struct layout {
    int32_t ndim;
    int64_t shape[DIMS];
    int32_t count;
    int32_t ranks[MOST];
} layout;

static uint32_t seed;
static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static layout draw_layout(int32_t size) {
    layout drawn;
    int32_t ranks[MOST];
    memset(&drawn, 0, sizeof drawn);
    do {
        drawn.ndim = 1 + (int32_t)draw(DIMS);
        drawn.count = 1;
        for (int32_t dim = 0; dim < drawn.ndim; ++dim) {
            drawn.shape[dim] = 1 + (int64_t)draw((uint32_t)size);
            drawn.count *= (int32_t)drawn.shape[dim];
        }
    } while (drawn.count > size);
    for (int32_t i = 0; i < size; ++i) ranks[i] = i;
    for (int32_t i = 0; i < drawn.count; ++i) {
        const int32_t other = i + (int32_t)draw((uint32_t)(size - i));
        drawn.ranks[i] = ranks[other];
        ranks[other] = ranks[i];
    }
    return drawn;
}

/* For the place in the rows, along each dimension. */
static void place_to_coordinate(const layout* mesh, int32_t place, int32_t* coordinate) {
    for (int32_t dim = mesh->ndim; dim-- > 0;) {
        coordinate[dim] = place % (int32_t)mesh->shape[dim];
        place /= (int32_t)mesh->shape[dim];
    }
}

/* The ranks that differ from `here` in the dimensions of `set` alone, a bit for each. */
static int32_t along(const layout* mesh, int32_t here, unsigned set, int32_t* ranks) {
    int32_t mine[DIMS] = {0}, theirs[DIMS] = {0}, count = 0;
    place_to_coordinate(mesh, here, mine);
    for (int32_t place = 0; place < mesh->count; ++place) {
        int same = 1;
        place_to_coordinate(mesh, place, theirs);
        for (int32_t dim = 0; dim < mesh->ndim; ++dim) {
            if ((set >> dim & 1) == 0 && theirs[dim] != mine[dim]) same = 0;
        }
        if (same) ranks[count++] = mesh->ranks[place];
    }
    return count;
}

/* The group is of these ranks, in this order, and moves data in it. */
static void expect_group(rank_context* me, tutti_group* group, const int32_t* ranks,
                         int32_t count) {
    int32_t of_group[MOST], gathered[MOST];
    const tutti_buffer mine = TUTTI_BUFFER_INIT(&me->rank, 1, TUTTI_INT32);
    const tutti_buffer all = TUTTI_BUFFER_INIT(gathered, count, TUTTI_INT32);
    RANK_EXPECT(me, tutti_get_world_size(group) == count);
    RANK_OK(me, tutti_get_process_group_ranks(group, of_group, MOST, &me->error));
    RANK_OK(me, tutti_all_gather_into_tensor(group, &mine, &all, NULL, NULL, &me->error));
    for (int32_t i = 0; i < count; ++i) {
        RANK_EXPECT(me, of_group[i] == ranks[i] && gathered[i] == ranks[i]);
        RANK_EXPECT(me, ranks[i] != me->rank || tutti_get_rank(group) == i);
    }
    /* From the last to the first. */
    int32_t word = me->rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&word, 1, TUTTI_INT32);
    if (count > 1 && tutti_get_rank(group) == count - 1) {
        RANK_OK(me, tutti_send(group, &buffer, 0, 0, NULL, NULL, &me->error));
    } else if (count > 1 && tutti_get_rank(group) == 0) {
        RANK_OK(me, tutti_recv(group, &buffer, count - 1, 0, NULL, NULL, NULL, &me->error));
        RANK_EXPECT(me, word == ranks[count - 1]);
    }
}

static void expect_dims(rank_context* me, tutti_mesh* mesh, const layout* wanted, int32_t here) {
    int32_t coordinate[DIMS], place = -7, ranks[MOST];
    tutti_group* group = NULL;
    RANK_OK(me, tutti_mesh_get_coordinate(mesh, coordinate, DIMS, &me->error));
    int32_t mine[DIMS] = {-1, -1, -1};
    if (here >= 0) place_to_coordinate(wanted, here, mine);
    for (int32_t dim = 0; dim < wanted->ndim; ++dim) {
        RANK_EXPECT(me, coordinate[dim] == mine[dim]);
        RANK_EXPECT(me, tutti_mesh_size(mesh, dim) == wanted->shape[dim]);
        RANK_OK(me, tutti_mesh_get_local_rank(mesh, dim, &place, &me->error));
        RANK_EXPECT(me, place == mine[dim]);
        RANK_OK(me, tutti_mesh_get_group(mesh, dim, &group, &me->error));
        if (here < 0) {
            RANK_EXPECT(me, group == TUTTI_GROUP_NON_MEMBER);
            continue;
        }
        const int32_t count = along(wanted, here, 1u << dim, ranks);
        expect_group(me, group, ranks, count);
        tutti_group_release(group);
    }
}

static void expect_ranks(rank_context* me, tutti_mesh* mesh, const int32_t* ranks, int32_t count) {
    int32_t of_mesh[MOST];
    RANK_EXPECT(me, tutti_mesh_size(mesh, -1) == count);
    RANK_OK(me, tutti_mesh_ranks(mesh, of_mesh, MOST, &me->error));
    for (int32_t i = 0; i < count; ++i) RANK_EXPECT(me, of_mesh[i] == ranks[i]);
}

/* Each slice, flattened: the number that it has in the mesh, its length, its group. */
static void expect_parts(rank_context* me, tutti_mesh* mesh, const layout* wanted, int32_t here) {
    int32_t ranks[MOST], next = wanted->ndim;
    for (unsigned set = 1; set < 1u << wanted->ndim; ++set) {
        const char* chosen[DIMS];
        int64_t chosen_count = 0;
        char name[2 * DIMS] = "";
        tutti_mesh *part = NULL, *flat = NULL;
        tutti_group* group = NULL;
        int32_t number = -7;
        for (int32_t dim = 0; dim < wanted->ndim; ++dim) {
            if ((set >> dim & 1) == 0) continue;
            chosen[chosen_count++] = names[dim];
            (void)strcat(strcat(name, name[0] == '\0' ? "" : "_"), names[dim]);
        }
        RANK_OK(me, tutti_mesh_slice(mesh, chosen, chosen_count, &part, &me->error));
        const int32_t count = along(wanted, here < 0 ? 0 : here, set, ranks);
        expect_ranks(me, part, ranks, count);
        RANK_EXPECT(me, tutti_mesh_ndim(part) == chosen_count);
        RANK_EXPECT(me, tutti_mesh_device_type(part) == TUTTI_CPU);
        if (here >= 0 && chosen_count > 1) {
            RANK_OK(me, tutti_mesh_flatten(part, NULL, NULL, &flat, &me->error));
            expect_ranks(me, flat, ranks, count);
            RANK_OK(me, tutti_mesh_find_dim(mesh, name, &number, &me->error));
            RANK_EXPECT(me, number == next && tutti_mesh_size(mesh, number) == count);
            RANK_EXPECT(me, strcmp(tutti_mesh_dim_name(mesh, number), name) == 0);
            RANK_OK(me, tutti_mesh_get_group(mesh, number, &group, &me->error));
            expect_group(me, group, ranks, count);
            tutti_group_release(group);
            RANK_OK(me, tutti_mesh_find_dim(part, name, &number, &me->error));
            RANK_EXPECT(me, number == next - wanted->ndim + (int32_t)chosen_count);
            RANK_OK(me, tutti_mesh_find_dim(flat, name, &number, &me->error));
            RANK_EXPECT(me, number == 0);
            ++next;
        }
        tutti_mesh_release(flat);
        tutti_mesh_release(part);
    }
    RANK_EXPECT(me, tutti_mesh_size(mesh, next) == -1 && tutti_mesh_dim_name(mesh, next) == NULL);
}

static void lay_out(rank_context* me) {
    const layout* wanted = (const layout*)me->user;
    tutti_mesh *mesh = NULL, *again = NULL;
    tutti_group* groups[DIMS];
    int32_t here = -1;
    for (int32_t i = 0; i < wanted->count; ++i) here = wanted->ranks[i] == me->rank ? i : here;
    RANK_OK(me, tutti_mesh_create(me->group, wanted->ranks, wanted->count, wanted->shape,
                                  wanted->ndim, names, TUTTI_CPU, NULL, &mesh, &me->error));
    expect_ranks(me, mesh, wanted->ranks, wanted->count);
    expect_dims(me, mesh, wanted, here);
    expect_parts(me, mesh, wanted, here);
    if (here >= 0) { /* its groups make the same mesh */
        RANK_OK(me, tutti_mesh_get_all_groups(mesh, groups, DIMS, &me->error));
        RANK_OK(me, tutti_mesh_from_group(groups, wanted->ranks, wanted->shape, wanted->ndim, names,
                                          TUTTI_CPU, NULL, &again, &me->error));
        expect_ranks(me, again, wanted->ranks, wanted->count);
        expect_dims(me, again, wanted, here);
        expect_parts(me, again, wanted, here);
        for (int32_t dim = 0; dim < wanted->ndim; ++dim) tutti_group_release(groups[dim]);
    }
    tutti_mesh_release(again);
    tutti_mesh_release(mesh);
}

static void every_layout_is_what_its_ranks_say(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST; ++size) {
        for (int round = 0; round < 4; ++round) {
            layout wanted = draw_layout(size);
            RUN_WITH(size, lay_out, &wanted);
        }
    }
}

static void three_dimensions_in_any_order(void** state) {
    (void)state;
    layout all = {3, {2, 2, 2}, 8, {5, 2, 7, 0, 3, 6, 1, 4}};
    layout some = {3, {3, 1, 2}, 6, {7, 0, 6, 1, 4, 3}};
    RUN_WITH(8, lay_out, &all);
    RUN_WITH(8, lay_out, &some);
}

/* The ranks are those of the group, which are others among all. */
static void ranks_of_a_part_are_laid_out(rank_context* me) {
    const int32_t odd[] = {1, 3, 5, 7}, order[] = {3, 0, 2, 1}, global[] = {7, 1, 5, 3};
    const int32_t column[2][2] = {{7, 5}, {1, 3}};
    const int64_t shape[] = {2, 2};
    tutti_group *part = NULL, *along_first = NULL;
    tutti_mesh *mesh = NULL, *flat = NULL;
    RANK_OK(me, tutti_new_group(me->group, odd, 4, NULL, NULL, NULL, &part, &me->error));
    if (part == TUTTI_GROUP_NON_MEMBER) {
        RANK_STATUS(
            me,
            tutti_mesh_create(part, order, 4, shape, 2, NULL, TUTTI_CPU, NULL, &mesh, &me->error),
            TUTTI_ERR_INVALID_HANDLE);
        return;
    }
    RANK_OK(me,
            tutti_mesh_create(part, order, 4, shape, 2, NULL, TUTTI_CPU, NULL, &mesh, &me->error));
    expect_ranks(me, mesh, global, 4);
    RANK_EXPECT(me, tutti_mesh_get_rank(mesh) == me->rank);
    RANK_OK(me, tutti_mesh_get_group(mesh, 0, &along_first, &me->error));
    expect_group(me, along_first, column[me->rank == 1 || me->rank == 3], 2);
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error));
    expect_ranks(me, flat, global, 4);
    tutti_group_release(along_first);
    tutti_group_release(part);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
}
RANK_TEST(ranks_of_a_part_are_laid_out, 8)

/* A group numbers its ranks in ascending order, the mesh has them in another: their local ranks
 * would not be their coordinates. */
static void groups_in_another_order_than_the_mesh_are_refused(rank_context* me) {
    const int32_t ranks[] = {1, 0};
    const int64_t shape[] = {2};
    tutti_group* group = NULL;
    tutti_mesh* mesh = NULL;
    RANK_OK(me, tutti_new_group(me->group, ranks, 2, NULL, NULL, NULL, &group, &me->error));
    RANK_REFUSES(
        me,
        tutti_mesh_from_group(&group, ranks, shape, 1, NULL, TUTTI_CPU, NULL, &mesh, &me->error),
        "groups[0] has ranks 0, 1, and along that dimension the mesh has 1, 0");
    tutti_group_release(group);
}
RANK_TEST(groups_in_another_order_than_the_mesh_are_refused, 2)

/* Ranks in any order, and not all of them: coordinates, groups and local ranks follow the mesh. */
static void any_layout_is_a_mesh(rank_context* me) {
    const int64_t shape[] = {2, 3};
    const int32_t order[] = {6, 1, 4, 0, 5, 2}; /* without 3 and 7 */
    int32_t coordinate[2] = {-7, -7}, ranks[6], place = -7, at = -1;
    tutti_mesh *mesh = NULL, *flat = NULL;
    tutti_group *row = NULL, *column = NULL;
    for (int32_t i = 0; i < 6; ++i) at = order[i] == me->rank ? i : at;
    RANK_OK(me, tutti_mesh_create(me->group, order, 6, shape, 2, names, TUTTI_CPU, NULL, &mesh,
                                  &me->error));
    RANK_OK(me, tutti_mesh_ranks(mesh, ranks, 6, &me->error));
    for (int32_t i = 0; i < 6; ++i) RANK_EXPECT(me, ranks[i] == order[i]);
    RANK_OK(me, tutti_mesh_get_coordinate(mesh, coordinate, 2, &me->error));
    RANK_OK(me, tutti_mesh_get_group(mesh, 0, &column, &me->error));
    RANK_OK(me, tutti_mesh_get_group(mesh, 1, &row, &me->error));
    if (at < 0) {
        RANK_EXPECT(me, coordinate[0] == -1 && row == TUTTI_GROUP_NON_MEMBER);
        tutti_mesh_release(mesh);
        return;
    }
    RANK_EXPECT(me, coordinate[0] == at / 3 && coordinate[1] == at % 3);
    RANK_EXPECT(me, tutti_get_rank(column) == at / 3 && tutti_get_rank(row) == at % 3);
    for (int32_t dim = 0; dim < 2; ++dim) {
        RANK_OK(me, tutti_mesh_get_local_rank(mesh, dim, &place, &me->error));
        RANK_EXPECT(me, place == coordinate[dim]);
    }
    RANK_EXPECT(me, tutti_get_global_rank(row, 0) == (at < 3 ? 6 : 0));
    RANK_EXPECT(me, rank_sum(me, row, me->rank) == (at < 3 ? 11 : 7));
    RANK_EXPECT(me, rank_sum(me, column, me->rank) == order[at % 3] + order[at % 3 + 3]);
    /* Data go where the mesh says: from the first of the row. */
    int32_t from = me->rank;
    const tutti_buffer told = TUTTI_BUFFER_INIT(&from, 1, TUTTI_INT32);
    RANK_OK(me, tutti_broadcast(row, &told, 0, NULL, NULL, &me->error));
    RANK_EXPECT(me, from == order[at - at % 3]);
    RANK_OK(me, tutti_mesh_flatten(mesh, "all", NULL, &flat, &me->error));
    RANK_OK(me, tutti_mesh_get_local_rank(flat, -1, &place, &me->error));
    RANK_EXPECT(me, place == at);
    tutti_group_release(row);
    tutti_group_release(column);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
}

static void layouts_that_are_wrong_are_refused(rank_context* me) {
    const int64_t shape[] = {2, 1};
    const int32_t ranks[] = {1, 0}, twice[] = {0, 0}, foreign[] = {0, 3}, other[] = {0, 1};
    tutti_mesh* mesh = NULL;
#define LAY_OUT(ranks, count) \
    tutti_mesh_create(me->group, ranks, count, shape, 2, NULL, TUTTI_CPU, NULL, &mesh, &me->error)
    RANK_REFUSES(me, LAY_OUT(NULL, 2), "ranks is NULL");
    RANK_REFUSES(me, LAY_OUT(ranks, 0), "rank_count is 0");
    RANK_REFUSES(me, LAY_OUT(ranks, -1), "rank_count is -1");
    RANK_REFUSES(me, LAY_OUT(ranks, 3), "rank_count is 3");
    RANK_REFUSES(me, LAY_OUT(ranks, 1), "rank_count is 1, and the shape 2 x 1 has 2 places");
    RANK_REFUSES(me, LAY_OUT(twice, 2), "ranks[1] is 0");
    RANK_REFUSES(me, LAY_OUT(foreign, 2), "ranks[1] is 3");
    RANK_STATUS(me, LAY_OUT(me->rank == 0 ? ranks : other, 2), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "mesh_create with ranks ");
    RANK_OK(me, LAY_OUT(ranks, 2));
    tutti_mesh_release(mesh);
}

RANK_TEST(any_layout_is_a_mesh, 8)
RANK_TEST(layouts_that_are_wrong_are_refused, 2)

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    seed = count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : test_seed();
    print_message("seed %u\n", (unsigned)seed);
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(every_layout_is_what_its_ranks_say),
        TEST(three_dimensions_in_any_order),
        TEST(any_layout_is_a_mesh_on_ranks),
        TEST(layouts_that_are_wrong_are_refused_on_ranks),
        TEST(ranks_of_a_part_are_laid_out_on_ranks),
        TEST(groups_in_another_order_than_the_mesh_are_refused_on_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
