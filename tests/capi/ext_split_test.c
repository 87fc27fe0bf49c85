/* Backends from outside that make those of new groups by a split (tutti/ext.h): the mailbox of the
 * examples, whose functions this program counts, and makes fail. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <tutti/ext.h>

#include "support/contract.h"
#include "support/ranks.h"

enum { RANKS = 4 };

/* How the backend splits, on all ranks but where another word says on which. */
typedef enum {
    SPLITS,
    SPLITS_AFTER_GATHERING, /* of a group of all RANKS */
    NOT_NOW,
    NOT_NOW_ON_ONE, /* rank 1 of a new group */
    FAILS_ON_ONE,   /* likewise */
    FAILS_OUTSIDE,  /* on a rank in no new group */
    GATHERS_ON_ONE, /* rank 1 of a new group, where others have come to their end */
    WAITS_FOR_ABORT
} split_mood;
static split_mood mood;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    int opened, split, split_outside, made, aborted, closed;
} seen; /* with the mutex */

static void count(int* number) {
    pthread_mutex_lock(&mutex);
    ++*number;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void await(const int* number, int least) {
    pthread_mutex_lock(&mutex);
    while (*number < least) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* ---- The backend ---- */

static const tutti_backend_table* mailbox_table(void) {
    static const tutti_backend_table* table;
    if (table == NULL) {
        const tutti_module* (*get)(uint32_t) = NULL;
        void* const library = dlopen("libtutti-mailbox.so", RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) *(void**)&get = dlsym(library, TUTTI_MODULE_SYMBOL);
        assert_non_null(get);
        table = get(TUTTI_EXT_VERSION)->backend;
    }
    return table;
}

static tutti_status open_it(void* user, const tutti_backend_place* place, void** out_backend,
                            tutti_error* failure) {
    count(&seen.opened);
    return mailbox_table()->open(user, place, out_backend, failure);
}

static void close_it(void* backend) {
    count(&seen.closed);
    mailbox_table()->close(backend);
}

static void abort_it(void* backend, tutti_status status, const char* why) {
    count(&seen.aborted);
    mailbox_table()->abort(backend, status, why);
}

static tutti_status refuse(tutti_status status, const char* why, tutti_error* failure) {
    (void)snprintf(failure->message, sizeof failure->message, "%s", why);
    return status;
}

/* Colours and ranks are those of groups, in which the ranks keep their order. */
static tutti_status gather(const tutti_backend_place* place, int32_t color, tutti_error* failure) {
    const int32_t mine[3] = {color, place->rank, place->size};
    int32_t all[RANKS][3], next[RANKS] = {0};
    const tutti_status status = place->host->all_gather(place, mine, sizeof mine, all, failure);
    if (status != TUTTI_OK) return status;
    for (int rank = 0; rank < RANKS; ++rank) {
        const int32_t its = all[rank][0];
        if (its == -1 && all[rank][1] == -1 && all[rank][2] == 0) continue; /* in none */
        if (its < 0 || its >= RANKS || all[rank][1] != next[its]++) {
            return refuse(TUTTI_ERR_INTERNAL, "the ranks of a colour are in disorder", failure);
        }
    }
    if (color >= 0 && next[color] != place->size) {
        return refuse(TUTTI_ERR_INTERNAL, "a colour is no whole group", failure);
    }
    return TUTTI_OK;
}

static tutti_status split_it(void* backend, const tutti_backend_place* place, int32_t color,
                             void** out_backend, tutti_error* failure) {
    const int is_one = place->rank == 1;
    tutti_status status = TUTTI_OK;
    count(&seen.split);
    if (color < 0) count(&seen.split_outside);
    if ((color < 0) != (out_backend == NULL) || (color < 0) != (place->store == NULL)) {
        return refuse(TUTTI_ERR_INTERNAL, "a rank is in a group, and is not", failure);
    }
    if (mood == NOT_NOW || (mood == NOT_NOW_ON_ONE && is_one)) return TUTTI_ERR_UNSUPPORTED;
    if ((mood == FAILS_ON_ONE && is_one) || (mood == FAILS_OUTSIDE && color < 0)) {
        return refuse(TUTTI_ERR_NETWORK, "there is no wire", failure);
    }
    if (mood == WAITS_FOR_ABORT) {
        await(&seen.aborted, 1);
        return refuse(TUTTI_ERR_ABORTED, "it was aborted", failure);
    }
    if (mood == SPLITS_AFTER_GATHERING) status = gather(place, color, failure);
    if (mood == GATHERS_ON_ONE && is_one) {
        status = place->host->all_gather(place, NULL, 0, NULL, failure);
    }
    if (status == TUTTI_OK) {
        status = mailbox_table()->split(backend, place, color, out_backend, failure);
    }
    if (status == TUTTI_OK && color >= 0) count(&seen.made);
    return status;
}

/* Under a name of its own, of which a backend is registered once. */
static void register_it(const char* name, size_t size) {
    tutti_backend_table table = *mailbox_table();
    table.struct_size = (uint32_t)size;
    table.name = name;
    table.open = open_it;
    table.close = close_it;
    table.abort = abort_it;
    table.split = split_it;
    EXPECT_OK(tutti_backend_register(&table, &error));
}

/* Ranks of a group over the backend, which splits like that; none may fail. */
static void run(const char* name, split_mood its_mood, rank_function function) {
    memset(&seen, 0, sizeof seen);
    mood = its_mood;
    assert_int_equal(run_ranks(name, RANKS, function, NULL), 0);
    assert_int_equal(seen.opened + seen.made, seen.closed);
}

static void release(rank_context* me, tutti_group* group) {
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
}

static tutti_status split_into(rank_context* me, tutti_group* group, const int32_t* ranks,
                               int64_t first, int64_t second, tutti_group** out_group) {
    const int64_t sizes[] = {first, second};
    tutti_error_init(&me->error, sizeof me->error);
    return tutti_split_group(group, ranks, first + second, sizes, second > 0 ? 2 : 1, NULL, NULL,
                             out_group, &me->error);
}

/* ---- What is right ---- */

static void split_the_group(rank_context* me) {
    const int32_t ranks[] = {2, 0, 3};
    tutti_group* group = NULL;
    RANK_OK(me, split_into(me, me->group, ranks, 2, 1, &group));
    if (me->rank == 1) {
        RANK_EXPECT(me, group == TUTTI_GROUP_NON_MEMBER);
    } else {
        RANK_EXPECT(me, strcmp(tutti_get_backend(group), "splits") == 0);
        RANK_EXPECT(me, rank_sum(me, group, 10 + me->rank) == (me->rank == 3 ? 13 : 22));
        release(me, group);
    }
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == RANKS);
}

static void a_split_makes_the_backends_of_new_groups(void** state) {
    (void)state;
    run("splits", SPLITS_AFTER_GATHERING, split_the_group);
    assert_int_equal(seen.opened, RANKS);
    assert_int_equal(seen.split, RANKS);
    assert_int_equal(seen.split_outside, 1);
    assert_int_equal(seen.made, RANKS - 1);
}

static void make_a_group_and_a_mesh(rank_context* me) {
    const int32_t ranks[] = {0, 1, 3};
    const int64_t shape[] = {2, 2};
    tutti_group *group = NULL, *row = NULL;
    tutti_mesh* mesh = NULL;
    RANK_OK(me, tutti_new_group(me->group, ranks, 3, NULL, NULL, NULL, &group, &me->error));
    if (me->rank != 2) {
        RANK_EXPECT(me, rank_sum(me, group, me->rank) == 4);
        release(me, group);
    }
    RANK_OK(me,
            tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CPU, NULL, &mesh, &me->error));
    RANK_OK(me, tutti_mesh_get_group(mesh, 1, &row, &me->error));
    RANK_EXPECT(me, rank_sum(me, row, me->rank) == (me->rank < 2 ? 1 : 5));
    tutti_group_release(row);
    tutti_mesh_release(mesh);
}

static void so_do_new_group_and_a_mesh(void** state) {
    (void)state;
    run("splits", SPLITS_AFTER_GATHERING, make_a_group_and_a_mesh);
    assert_int_equal(seen.opened, RANKS);
    assert_int_equal(seen.split, 3 * RANKS); /* the group, and the groups along two dimensions */
    assert_int_equal(seen.made, 3 + 2 * RANKS);
}

/* Calls of the group that is split are under way. */
static void split_in_the_midst(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2, 3};
    int32_t number = 1, brought = -1;
    const tutti_buffer sum = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT32);
    const tutti_buffer in = TUTTI_BUFFER_INIT(&brought, 1, TUTTI_INT32);
    tutti_work *reducing = NULL, *receiving = NULL;
    tutti_group* group = NULL;
    RANK_OK(me, tutti_recv(me->group, &in, (me->rank + 1) % RANKS, 7, NULL, NULL, &receiving,
                           &me->error));
    if (me->rank != 0) {
        RANK_OK(me,
                tutti_all_reduce(me->group, NULL, &sum, TUTTI_SUM, NULL, &reducing, &me->error));
    }
    RANK_OK(me, split_into(me, me->group, ranks, 2, 2, &group));
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == (me->rank < 2 ? 1 : 5));
    if (me->rank == 0) {
        RANK_OK(me,
                tutti_all_reduce(me->group, NULL, &sum, TUTTI_SUM, NULL, &reducing, &me->error));
    }
    const tutti_buffer out = TUTTI_BUFFER_INIT(&me->rank, 1, TUTTI_INT32);
    RANK_OK(me,
            tutti_send(me->group, &out, (me->rank + RANKS - 1) % RANKS, 7, NULL, NULL, &me->error));
    RANK_OK(me, tutti_work_wait(reducing, 0, &me->error));
    RANK_OK(me, tutti_work_wait(receiving, 0, &me->error));
    RANK_EXPECT(me, number == RANKS && brought == (me->rank + 1) % RANKS);
    tutti_work_release(reducing);
    tutti_work_release(receiving);
    release(me, group);
}

static void calls_of_the_parent_go_on(void** state) {
    (void)state;
    run("splits", SPLITS_AFTER_GATHERING, split_in_the_midst);
    assert_int_equal(seen.made, RANKS);
}

static void end_the_one_in_between(rank_context* me) {
    const int32_t all[] = {0, 1, 2, 3}, some[] = {2, 0};
    tutti_group *parent = NULL, *child = NULL;
    RANK_OK(me, split_into(me, me->group, all, 4, 0, &parent));
    RANK_OK(me, split_into(me, parent, some, 2, 0, &child));
    release(me, parent);
    if (me->rank % 2 != 0) return;
    for (int turn = 0; turn < 3; ++turn) RANK_EXPECT(me, rank_sum(me, child, me->rank) == 2);
    release(me, child);
}

static void a_parent_may_end_before_its_children(void** state) {
    (void)state;
    run("splits", SPLITS, end_the_one_in_between);
    assert_int_equal(seen.made, RANKS + 2);
}

/* ---- What is opened ---- */

static void make_groups_that_open(rank_context* me) {
    const int32_t some[] = {1, 3};
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.use_local_synchronization = 1;
    if (me->rank % 2 == 1) {
        RANK_OK(me, tutti_new_group(me->group, some, 2, NULL, NULL, &options, &group, &me->error));
        RANK_EXPECT(me, rank_sum(me, group, me->rank) == 4);
        release(me, group);
    }
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, "gloo", NULL, NULL, &group, &me->error));
    RANK_EXPECT(me, rank_sum(me, group, 1) == RANKS);
    release(me, group);
}

static void groups_of_few_callers_and_of_another_backend_open(void** state) {
    (void)state;
    run("splits", SPLITS, make_groups_that_open);
    assert_int_equal(seen.opened, RANKS + 2);
    assert_int_equal(seen.split, 0);
}

static void split_whatever_comes(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2};
    tutti_group* group = NULL;
    RANK_OK(me, split_into(me, me->group, ranks, 3, 0, &group));
    if (me->rank == 3) return;
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == 3);
    release(me, group);
}

static void a_backend_that_cannot_split_now_is_opened(void** state) {
    (void)state;
    run("splits", NOT_NOW, split_whatever_comes);
    assert_int_equal(seen.split, RANKS);
    assert_int_equal(seen.opened, RANKS + 3);
}

/* What is beyond the size of a table is not there, though it may look so. */
static void a_table_that_ends_before_split_is_opened(void** state) {
    (void)state;
    register_it("earlier", offsetof(tutti_backend_table, split));
    run("earlier", FAILS_ON_ONE, split_whatever_comes);
    assert_int_equal(seen.split, 0);
    assert_int_equal(seen.opened, RANKS + 3);
}

/* ---- What fails ---- */

/* On all ranks, the others with what the one says; the group stays as it was. */
static void fail_to_split(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2};
    tutti_group* group = NULL;
    const tutti_status status = split_into(me, me->group, ranks, 3, 0, &group);
    const tutti_status wanted = mood == NOT_NOW_ON_ONE   ? TUTTI_ERR_BACKEND
                                : mood == GATHERS_ON_ONE ? TUTTI_ERR_MISMATCH
                                                         : TUTTI_ERR_NETWORK;
    const int32_t at_fault = mood == FAILS_OUTSIDE ? 3 : 1;
    RANK_STATUS(me, status, wanted);
    RANK_EXPECT(me, group == NULL);
    RANK_SAYS(me, "split_group on group");
    RANK_SAYS(me, "splitting backend \"splits\": ");
    if (wanted == TUTTI_ERR_NETWORK) {
        RANK_SAYS(me, "there is no wire");
        if (me->rank != at_fault) RANK_EXPECT(me, me->error.rank == at_fault);
        if (me->rank != at_fault) RANK_SAYS(me, at_fault == 3 ? "rank 3 gave up" : "rank 1 gave");
    } else if (wanted == TUTTI_ERR_BACKEND) {
        RANK_SAYS(me, "rank 1 says \"not now\", and rank 0 says \"split\"");
    } else {
        RANK_SAYS(me, me->rank == 1 ? "rank 0 has come to its end, and rank 1 does not"
                                    : "rank 1 gathers on");
    }
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == RANKS);
}

static void a_split_that_fails_on_one_rank_fails_on_all(void** state) {
    (void)state;
    run("splits", FAILS_ON_ONE, fail_to_split);
    assert_int_equal(seen.made, 2);
    run("splits", FAILS_OUTSIDE, fail_to_split);
    assert_int_equal(seen.made, 3);
    assert_int_equal(seen.aborted, 3 + RANKS); /* what was made, and the group at its end */
}

static void ranks_that_split_differently_are_told(void** state) {
    (void)state;
    run("splits", NOT_NOW_ON_ONE, fail_to_split);
    run("splits", GATHERS_ON_ONE, fail_to_split);
}

static void* destroy_when_all_split(void* group) {
    await(&seen.split, RANKS);
    tutti_error_init(&error, sizeof error);
    tutti_destroy_process_group((tutti_group*)group, NULL, &error);
    return NULL;
}

/* Rank 0 ends its group in the midst. */
static void be_aborted(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2};
    tutti_group* group = NULL;
    pthread_t other;
    const int ends = me->rank == 0;
    if (ends) RANK_EXPECT(me, pthread_create(&other, NULL, destroy_when_all_split, me->group) == 0);
    const tutti_status status = split_into(me, me->group, ranks, 3, 0, &group);
    if (ends) pthread_join(other, NULL);
    RANK_EXPECT(me, status == TUTTI_ERR_ABORTED || status == TUTTI_ERR_PEER_LOST);
    if (ends) {
        tutti_group_release(me->group);
        me->group = NULL;
    }
}

static void the_end_of_the_parent_ends_a_split(void** state) {
    (void)state;
    run("splits", WAITS_FOR_ABORT, be_aborted);
    assert_int_equal(seen.made, 0);
}

static int register_the_backend(void** state) {
    (void)state;
    register_it("splits", sizeof(tutti_backend_table));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_split_makes_the_backends_of_new_groups),
        TEST(so_do_new_group_and_a_mesh),
        TEST(calls_of_the_parent_go_on),
        TEST(a_parent_may_end_before_its_children),
        TEST(groups_of_few_callers_and_of_another_backend_open),
        TEST(a_backend_that_cannot_split_now_is_opened),
        TEST(a_table_that_ends_before_split_is_opened),
        TEST(a_split_that_fails_on_one_rank_fails_on_all),
        TEST(ranks_that_split_differently_are_told),
        TEST(the_end_of_the_parent_ends_a_split),
    };
    return cmocka_run_group_tests(tests, register_the_backend, NULL);
}
