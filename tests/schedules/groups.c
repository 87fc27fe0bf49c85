/* Groups that share ranks, by every function that makes some; see schedule.h. */
#include <stdlib.h>

#include "schedule.h"

/* Before there are players. */
static void must(rank_life* life, tutti_status status, const char* what) {
    player one;
    if (status == TUTTI_OK) return;
    one.life = life;
    one.thread = one.step = 0;
    fail_schedule(&one, __FILE__, __LINE__, what, life->me->error.message);
}

static void keep(rank_life* life, tutti_group* group) {
    if (life->group_count == MOST_GROUPS) abort();
    life->groups[life->group_count++] = group;
}

/* Groups of random ranks, called by all or by the members alone. */
static void make_some(rank_life* life, uint64_t which) {
    int32_t ranks[MOST_RANKS];
    size_t count = 0;
    int is_member = 0;
    const uint64_t bits = draw(life->of, 0, which, 1);
    tutti_group* made = TUTTI_GROUP_NON_MEMBER;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    for (int32_t rank = life->of->ranks - 1; rank >= 0; --rank) {
        if ((bits >> rank & 1) == 0 && (rank > 0 || count > 0)) continue;
        ranks[count++] = rank;
        is_member |= rank == life->me->rank;
    }
    options.use_local_synchronization = bits >> 20 & 1;
    if (is_member || !options.use_local_synchronization) {
        must(life,
             tutti_new_group(life->me->group, ranks, count, NULL, NULL, &options, &made,
                             &life->me->error),
             "new_group");
    }
    keep(life, made);
}

/* Two groups of ranks in random order. */
static void make_split(rank_life* life, uint64_t which) {
    int32_t ranks[MOST_RANKS];
    int64_t sizes[2];
    const int32_t all = life->of->ranks;
    tutti_group* made = NULL;
    for (int32_t i = 0; i < all; ++i) ranks[i] = i;
    for (int32_t i = all - 1; i > 0; --i) {
        const int32_t other = (int32_t)(draw(life->of, 1, which, (uint64_t)i) % (uint64_t)(i + 1));
        const int32_t moved = ranks[i];
        ranks[i] = ranks[other];
        ranks[other] = moved;
    }
    sizes[0] = all < 2 ? 1 : 1 + (int32_t)(draw(life->of, 1, which, 99) % (uint64_t)(all - 1));
    sizes[1] = all - sizes[0];
    must(life,
         tutti_split_group(life->me->group, ranks, all, sizes, sizes[1] > 0 ? 2 : 1, NULL, NULL,
                           &made, &life->me->error),
         "split_group");
    keep(life, made);
}

/* Rows, columns and the whole of a mesh; with five ranks one is not in it. */
static void make_mesh(rank_life* life) {
    const int64_t shape[2] = {life->of->ranks >= 4 ? 2 : 1, life->of->ranks >= 2 ? 2 : 1};
    const char* const names[2] = {"row", "column"};
    tutti_group* groups[2] = {NULL, NULL};
    tutti_mesh *mesh = NULL, *flat = NULL;
    must(life,
         tutti_init_device_mesh(life->me->group, shape, 2, names, TUTTI_CPU, NULL, &mesh,
                                &life->me->error),
         "init_device_mesh");
    must(life, tutti_mesh_get_all_groups(mesh, groups, 2, &life->me->error), "get_all_groups");
    keep(life, groups[0]);
    keep(life, groups[1]);
    tutti_group* all = TUTTI_GROUP_NON_MEMBER;
    if (groups[0] != TUTTI_GROUP_NON_MEMBER) {
        must(life, tutti_mesh_flatten(mesh, NULL, NULL, &flat, &life->me->error), "flatten");
        must(life, tutti_mesh_get_group(flat, 0, &all, &life->me->error), "get_group");
    }
    keep(life, all);
    tutti_mesh_release(flat);
    tutti_mesh_release(mesh);
}

void make_groups(rank_life* life) {
    life->group_count = 0;
    keep(life, life->me->group);
    for (uint64_t which = 0; which < 5; ++which) make_some(life, which);
    for (uint64_t which = 0; which < 3; ++which) make_split(life, which);
    make_mesh(life);
}

void release_groups(rank_life* life) {
    for (int i = 1; i < life->group_count; ++i) tutti_group_release(life->groups[i]);
}
