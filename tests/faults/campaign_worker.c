/* A rank of the campaign: works in the default group, and goes on after deaths until it is told to
 * end, or that the others have gone on without it.
 *   tutti_campaign_worker WHAT BACKEND SEED [FATE]   the environment of env://; FATE as in fate.h;
 *                        WHAT: "agree": only agreements, in the first group; "all": everything
 *   tutti_campaign_worker serve                      serves a store, until its input ends
 * Its input ends when it is to end. Lines of its output begin with its first rank; then, with
 * NANOSECONDS of CLOCK_MONOTONIC:
 *   ready                                 the group is made
 *   round                                 calls, and an agreement on how they went
 *   failed BEGAN NANOSECONDS STATUS RANK MESSAGE     a call; RANK is the first one's
 *   agreed VALUE
 *   shrinks NANOSECONDS                   shrink_group is called
 *   members RANK...                       the group that it made
 *   whole NANOSECONDS                     an all_reduce in the new group is right
 *   refused MESSAGE                       shrink_group found nothing to do
 *   out MESSAGE                           the others have gone on without this rank
 *   end RANK...                           it has ended well, among these
 * Whatever does not belong to this is told as "bad ...", and ends the rank with 1. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checked_calls.h"
#include "fate.h"
#include "support/cuda.h"
#include "support/draw.h"

/* Flags of an agreement; from DRAWN_BITS on they are drawn. */
enum { ALL_IS_WELL = 1, IS_TO_END = 2, BITS_OF_RANKS = 8, DRAWN_BITS = 16 };
enum { CALLS = 5 };

static const char* const kinds[] = {"sum", "sum", "new_group", "message", "barrier", "broadcast"};

static uint64_t seed;
static int32_t own_rank; /* the first one */
static tutti_error error = TUTTI_ERROR_INIT;

static void give_up(const char* what) {
    tell("bad %s: %s, rank %d: %s", what, tutti_status_name(error.status), (int)error.rank,
         error.message);
    exit(1);
}

static void list_members(const char* what) {
    int32_t ranks[MOST_MEMBERS] = {0};
    char text[64] = "";
    tutti_get_process_group_ranks(TUTTI_GROUP_WORLD, ranks, MOST_MEMBERS, NULL);
    for (int32_t rank = 0; rank < tutti_get_world_size(TUTTI_GROUP_WORLD); ++rank) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", (int)ranks[rank]);
    }
    tell("%s%s", what, text);
}

static int is_told_to_end(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

static void tell_failure(int64_t began) {
    int32_t ranks[MOST_MEMBERS] = {0};
    const int64_t now = now_ns();
    int32_t rank = error.rank;
    tutti_get_process_group_ranks(TUTTI_GROUP_WORLD, ranks, MOST_MEMBERS, NULL);
    if (rank >= 0 && rank < tutti_get_world_size(TUTTI_GROUP_WORLD)) rank = ranks[rank];
    tell("failed %lld %lld %s %d %s", (long long)began, (long long)now,
         tutti_status_name(error.status), (int)rank, error.message);
    /* The others learn of a death as this rank has; of anything else maybe not. */
    if (error.status != TUTTI_ERR_PEER_LOST) tutti_group_revoke(TUTTI_GROUP_WORLD, NULL, NULL);
}

/* The same calls on all ranks of the group, until one fails. */
static int work(uint64_t round) {
    const uint64_t members = members_number();
    for (uint64_t call = 0; call < CALLS; ++call) {
        const uint64_t which = draw_at(seed, members, round, call) % CHECKED_CALLS;
        const int64_t began = now_ns();
        fate_pass(kinds[which]);
        if (make_checked_call((checked_call)which, &error) == TUTTI_OK) continue;
        tell_failure(began);
        return 0;
    }
    return 1;
}

/* Whether this rank has been ruled out. */
static int is_out(void) {
    if (error.status != TUTTI_ERR_ABORTED || strstr(error.message, "without") == NULL) return 0;
    tell("out %s", error.message);
    return 1;
}

static uint64_t drawn_bits(int32_t rank, uint64_t turn) {
    return draw_at(seed, (uint64_t)rank, turn, 3) | draw_at(seed, (uint64_t)rank, turn, 4);
}

/* The ranks that have agreed are known by their bits, which they left out. */
static void check_drawn_bits(uint64_t agreed, uint64_t turn) {
    uint64_t all = ~(uint64_t)0;
    check((agreed >> BITS_OF_RANKS & (uint64_t)1 << own_rank) == 0);
    for (int32_t rank = 0; rank < MOST_MEMBERS; ++rank) {
        if ((agreed >> BITS_OF_RANKS & (uint64_t)1 << rank) == 0) all &= drawn_bits(rank, turn);
    }
    check(agreed >> DRAWN_BITS == all >> DRAWN_BITS);
}

/* The flags that all have. */
static uint64_t agree(uint64_t flags, int* out) {
    static uint64_t turn;
    const uint64_t drawn = drawn_bits(own_rank, ++turn) >> DRAWN_BITS << DRAWN_BITS;
    const uint64_t others = 0xff & ~((uint64_t)1 << own_rank);
    flags |= drawn | others << BITS_OF_RANKS;
    fate_pass("agree");
    if (tutti_group_agree(TUTTI_GROUP_WORLD, &flags, 0, &error) != TUTTI_OK) {
        *out = is_out();
        if (!*out) give_up("agree");
        return 0;
    }
    tell("agreed %llx", (unsigned long long)flags);
    check_drawn_bits(flags, turn);
    return flags;
}

/* Whether the new group works; it may fail at once, as the next victim dies. */
static int try_new_group(void) {
    const int64_t began = now_ns();
    fate_pass("whole");
    if (make_checked_call(SMALL_SUM, &error) != TUTTI_OK) {
        tell_failure(began);
        return 0;
    }
    tell("whole %lld", (long long)now_ns());
    if (compare_members(members_number(), &error) == TUTTI_OK) return 1;
    tell_failure(began);
    return 0;
}

typedef enum shrunk { OUT, REFUSED, WORKS, FAILED } shrunk;

static shrunk shrink(void) {
    const uint32_t flags =
        draw_at(seed, members_number(), 1, 77) % 2 == 0 ? TUTTI_SHRINK_DEFAULT : TUTTI_SHRINK_ABORT;
    tell("shrinks %lld", (long long)now_ns());
    fate_pass("shrink");
    const tutti_status status =
        tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, flags, NULL, NULL, NULL, &error);
    if (status == TUTTI_ERR_INVALID_ARGUMENT) {
        tell("refused %s", error.message);
        return REFUSED;
    }
    if (status != TUTTI_OK) {
        if (is_out()) return OUT;
        give_up("shrink");
    }
    list_members("members");
    return try_new_group() ? WORKS : FAILED;
}

/* Every rank that lives passes the same agreements; a new group begins with one, too, if it fails
 * at once. False: this rank is out. */
static int live(void) {
    int works = 1, out = 0;
    for (uint64_t round = 0;; ++round) {
        if (works) works = work(round);
        const int ends = is_told_to_end();
        const uint64_t agreed =
            agree((works ? ALL_IS_WELL : 0u) | (ends ? (uint64_t)IS_TO_END : 0u), &out);
        if (out) return 0;
        const shrunk how = (agreed & ALL_IS_WELL) != 0 ? REFUSED : shrink();
        if (how == OUT) return 0;
        works = how != FAILED;
        if (how != FAILED && (agreed & IS_TO_END) != 0) return 1;
        if (how == REFUSED) {
            tell("round");
        } else {
            round = UINT64_MAX; /* the next is the first of the group */
        }
    }
}

/* False: this rank is out. */
static int only_agree(void) {
    for (int out = 0;;) {
        const uint64_t agreed = agree(is_told_to_end() ? IS_TO_END : 0u, &out);
        if (out) return 0;
        if ((agreed & IS_TO_END) != 0) return 1;
        tell("round");
    }
}

static void use_device(void) {
    char why[300];
    if (cuda_devices(why, sizeof why) <= own_rank) {
        tell("bad device: %s", why);
        exit(1);
    }
    cuda_use(own_rank);
    const data_place device = {cuda_alloc, cuda_copy_in, cuda_copy_out, TUTTI_CUDA, own_rank};
    checked_data = device;
}

static int serve(void) {
    tutti_store* store = NULL;
    int32_t port = 0;
    char byte;
    if (tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &store, &error) != TUTTI_OK ||
        tutti_tcp_store_port(store, &port, &error) != TUTTI_OK) {
        fprintf(stderr, "the store: %s\n", error.message);
        return 1;
    }
    printf("%d\n", (int)port);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    tutti_store_release(store);
    return 0;
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve();
    if (argc < 4 || argc > 5 || getenv("RANK") == NULL) return 2;
    const int agrees = strcmp(argv[1], "agree") == 0;
    const char* const backend = argv[2];
    own_rank = atoi(getenv("RANK"));
    seed = strtoull(argv[3], NULL, 10);
    if (argc == 5 && !fate_read(argv[4])) return 2;
    if (tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error) != TUTTI_OK)
        give_up("init");
    if (strstr(backend, "nccl") != NULL) use_device();
    tell("ready");
    if (agrees ? only_agree() : live()) list_members("end");
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error) != TUTTI_OK)
        give_up("destroy");
    return 0;
}
