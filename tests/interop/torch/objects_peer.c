/* Objects and bytes between a rank of C's and one of PyTorch's: the calls of objects.py, from the
 * other side. Public headers only.
 *   tutti_torch_objects_peer PORT RANK SIZE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "interop/torch/peer.h"

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "C rank: line %d: not %s\n", __LINE__, #what); \
            exit(3);                                                       \
        }                                                                  \
    } while (0)

/* The value that sample() of objects.py makes. */
static tutti_object* sample(void) {
    const double field[6] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[2] = {2, 3};
    tutti_object* made = NULL;
    MUST(tutti_object_create(&made, &error));
    tutti_object_begin_map(made, NULL);
    tutti_object_add_key(made, "step", NULL);
    tutti_object_add_int64(made, 7, NULL);
    tutti_object_add_key(made, "name", NULL);
    tutti_object_add_string(made, "w\xc3\xa4rme", TUTTI_NUL_TERMINATED, NULL);
    tutti_object_add_key(made, "field", NULL);
    tutti_object_add_array(made, field, TUTTI_FLOAT64, shape, 2, 0, NULL);
    tutti_object_add_key(made, "list", NULL);
    tutti_object_begin_list(made, NULL);
    tutti_object_add_nil(made, NULL);
    tutti_object_add_bool(made, 1, NULL);
    tutti_object_add_int64(made, -2, NULL);
    tutti_object_add_float64(made, 2.5, NULL);
    tutti_object_add_int64(made, (int64_t)1 << 40, NULL);
    tutti_object_end(made, NULL);
    tutti_object_add_key(made, "data", NULL);
    tutti_object_add_bytes(made, "\0\1\2", 3, 0, NULL);
    tutti_object_add_key(made, "when", NULL);
    tutti_object_add_timestamp(made, 1700000000, 500000000, NULL);
    MUST(tutti_object_end(made, &error));
    return made;
}

static void check_same(tutti_object* got, tutti_object* wanted) {
    int32_t is_same = 0;
    MUST(tutti_object_equal(got, 0, wanted, 0, &is_same, &error));
    CHECK(is_same);
    tutti_object_release(got);
}

static void check_bytes(tutti_bytes* got, const char* wanted) {
    CHECK(tutti_bytes_size(got) == strlen(wanted));
    CHECK(memcmp(tutti_bytes_data(got), wanted, strlen(wanted)) == 0);
    tutti_bytes_release(got);
}

static void objects(tutti_group* group, int32_t me) {
    const int32_t other = 1 - me;
    tutti_object* const own = sample();
    tutti_object* const both[2] = {own, own};
    tutti_object* got[2] = {NULL, NULL};
    int32_t source = -1;
    MUST(tutti_broadcast_object_list(group, both, 2, me, NULL, NULL, NULL, NULL, &error));
    MUST(tutti_broadcast_object_list(group, NULL, 2, other, NULL, NULL, got, NULL, &error));
    for (int i = 0; i < 2; ++i) check_same(got[i], own);
    MUST(tutti_all_gather_object(group, own, NULL, NULL, got, 2, NULL, &error));
    for (int i = 0; i < 2; ++i) check_same(got[i], own);
    MUST(tutti_gather_object(group, own, me, NULL, NULL, got, 2, NULL, &error));
    for (int i = 0; i < 2; ++i) check_same(got[i], own);
    MUST(tutti_gather_object(group, own, other, NULL, NULL, NULL, 0, NULL, &error));
    MUST(tutti_scatter_object_list(group, both, 2, me, NULL, NULL, got, NULL, &error));
    check_same(got[0], own);
    MUST(tutti_scatter_object_list(group, NULL, 0, other, NULL, NULL, got, NULL, &error));
    check_same(got[0], own);
    MUST(tutti_recv_object_list(group, other, 3, NULL, NULL, got, 2, &source, NULL, &error));
    for (int i = 0; i < 2; ++i) check_same(got[i], own);
    CHECK(source == other);
    MUST(tutti_send_object_list(group, both, 2, other, 4, NULL, NULL, NULL, &error));
    tutti_object_release(own);
}

static void byte_strings(tutti_group* group, int32_t me) {
    const int32_t other = 1 - me;
    tutti_bytes* got[2] = {NULL, NULL};
    MUST(tutti_broadcast_bytes(group, "of C", 4, me, 0, NULL, NULL, NULL, &error));
    MUST(tutti_broadcast_bytes(group, NULL, 0, other, 0, NULL, got, NULL, &error));
    check_bytes(got[0], "of PyTorch");
    MUST(tutti_all_gather_bytes(group, "of C", 4, 0, NULL, got, 2, NULL, &error));
    check_bytes(got[me], "of C");
    check_bytes(got[other], "of PyTorch");
    MUST(tutti_recv_bytes(group, other, 5, 0, NULL, got, NULL, NULL, &error));
    check_bytes(got[0], "of PyTorch");
    MUST(tutti_send_bytes(group, "of C", 4, other, 6, NULL, NULL, &error));
}

/* A pickle that comes as bytes is no object; PyTorch's own call for objects is another call. */
static void pickles(tutti_group* group, int32_t me) {
    tutti_bytes* pickle = NULL;
    tutti_object *got = NULL, *all[2] = {NULL, NULL};
    tutti_object* const own = sample();
    MUST(tutti_recv_bytes(group, 1 - me, 7, 0, NULL, &pickle, NULL, NULL, &error));
    CHECK(tutti_object_decode(tutti_bytes_data(pickle), tutti_bytes_size(pickle), NULL, &got,
                              &error) == TUTTI_ERR_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "pickle of Python's") != NULL);
    tutti_bytes_release(pickle);
    CHECK(tutti_all_gather_object(group, own, NULL, NULL, all, 2, NULL, &error) ==
          TUTTI_ERR_MISMATCH);
    CHECK(strstr(error.message, "all_gather_object") != NULL);
    tutti_object_release(own);
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    tutti_error_init(&error, sizeof error);
    const int rank = atoi(argv[2]);
    tutti_group* const group = meet(atoi(argv[1]), rank, atoi(argv[3]));
    objects(group, rank);
    byte_strings(group, rank);
    pickles(group, rank);
    MUST(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    return 0;
}
