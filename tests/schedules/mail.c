/* Random messages, in several ways to send and receive them; see schedule.h. All messages of a step
 * have one length. Where a rank receives from any, the tag is the step's own: else a receive could
 * take what another step's is for. */
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

enum { LONGEST = 4000, OPTIONS_OF_STEP = 1000 };
enum way { BATCH, BATCH_AND_WAIT, RECEIVE_FIRST, SEND_FIRST, WAYS };

/* The contents of message `order` of a step. */
static int64_t element_of(const mail* of, int order, int64_t index) {
    return (int64_t)(of->thread * 1000003 + of->step * 101 + (uint64_t)order * 7) + index;
}

static void plan_pair(const player* one, uint64_t order, int32_t size, int32_t* from, int32_t* to) {
    *from = (int32_t)chance(one, OPTIONS_OF_STEP + 10 * order, (uint64_t)size);
    *to = (int32_t)chance(one, OPTIONS_OF_STEP + 10 * order + 1, (uint64_t)size);
}

static letter* add(player* one, mail* to, int order, int32_t from, int is_receive) {
    letter* const made = &to->letters[to->count++];
    made->work = NULL;
    made->from = from;
    made->order = order;
    made->is_receive = is_receive;
    made->data = (int64_t*)malloc((size_t)(to->elements + 1) * sizeof(int64_t));
    HOLDS(one, made->data != NULL);
    for (int64_t i = 0; i < to->elements; ++i) {
        made->data[i] = is_receive ? -1 : element_of(to, order, i);
    }
    return made;
}

/* The letter of a receive from any rank is the next of the planned ones from where it came. */
static int order_of(const player* one, const mail* of, int32_t source, int already) {
    const int32_t mine = tutti_get_rank(of->group), size = tutti_get_world_size(of->group);
    player then = *one;
    then.step = of->step;
    for (int order = 0; order < MOST_MAIL; ++order) {
        int32_t from, to;
        plan_pair(&then, (uint64_t)order, size, &from, &to);
        if (from == source && to == mine && already-- == 0) return order;
    }
    return -1;
}

static void finish(player* one, mail* of) {
    int seen[MOST_RANKS] = {0};
    for (int i = 0; i < of->count; ++i) {
        letter* const next = &of->letters[i];
        int32_t source = next->from;
        if (next->work != NULL) {
            PLAY(one, tutti_work_wait(next->work, 0, &one->error));
            if (next->is_receive) {
                PLAY(one, tutti_work_source_rank(next->work, &source, &one->error));
                HOLDS(one, next->from == -1 || next->from == source);
            }
            tutti_work_release(next->work);
        }
        int order = next->order;
        if (next->is_receive && next->from == -1) {
            HOLDS(one, source >= 0 && source < MOST_RANKS);
            order = order_of(one, of, source, seen[source]++);
            HOLDS(one, order >= 0);
        }
        for (int64_t k = 0; k < of->elements; ++k) {
            HOLDS(one, next->data[k] == element_of(of, order, k));
        }
        free(next->data);
    }
    of->count = 0;
}

void finish_mails(player* one) {
    for (uint64_t i = 0; i < MOST_PENDING; ++i) finish(one, &one->mails[i]);
}

static tutti_p2p_op as_op(const mail* of, const letter* one, int32_t peer, int32_t tag) {
    const tutti_p2p_op made = TUTTI_P2P_OP_INIT(one->is_receive ? TUTTI_IRECV : TUTTI_ISEND,
                                                one->data, of->elements, TUTTI_INT64, peer, tag);
    return made;
}

static void send_one(player* one, mail* of, letter* next, const tutti_p2p_op* op, int waits) {
    PLAY(one, tutti_send(of->group, &op->buffer, op->group_peer, op->tag, NULL,
                         waits ? NULL : &next->work, &one->error));
}

static void receive_one(player* one, mail* of, letter* next, const tutti_p2p_op* op, int waits) {
    PLAY(one, tutti_recv(of->group, &op->buffer, op->group_peer, op->tag, NULL,
                         waits ? &next->from : NULL, waits ? NULL : &next->work, &one->error));
    if (waits && op->group_peer != -1) HOLDS(one, next->from == op->group_peer);
}

static void post(player* one, mail* of, const tutti_p2p_op* ops, enum way how) {
    tutti_work* works[2 * MOST_MAIL];
    const int32_t mine = tutti_get_rank(of->group);
    if (how == BATCH || how == BATCH_AND_WAIT) {
        PLAY(one, tutti_batch_isend_irecv(of->group, ops, (size_t)of->count, NULL,
                                          how == BATCH ? works : NULL, &one->error));
        for (int i = 0; i < of->count && how == BATCH; ++i) of->letters[i].work = works[i];
        return;
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < of->count; ++i) {
            letter* const next = &of->letters[i];
            if (next->is_receive != (pass == 0 ? how == RECEIVE_FIRST : how == SEND_FIRST)) {
                continue;
            }
            /* The first message has a work; so has one to oneself. */
            const int waits = pass == 1 && ops[i].group_peer != mine && ops[i].group_peer != -1;
            if (next->is_receive) {
                receive_one(one, of, next, &ops[i], waits);
            } else {
                send_one(one, of, next, &ops[i], waits);
            }
        }
    }
}

void send_something(player* one, tutti_group* group) {
    tutti_p2p_op ops[2 * MOST_MAIL];
    mail* const of = &one->mails[one->next_mail++ % MOST_PENDING];
    const int32_t mine = tutti_get_rank(group), size = tutti_get_world_size(group);
    const enum way how = (enum way)chance(one, 20, WAYS);
    const int from_any = how != BATCH_AND_WAIT && chance(one, 21, 3) == 0;
    const int32_t tag = (int32_t)(from_any ? (one->thread + 1) << 24 | one->step : one->thread);
    finish(one, of);
    of->group = group;
    of->thread = one->thread;
    of->step = one->step;
    of->elements = (int64_t)chance(one, 22, chance(one, 23, 2) == 0 ? 5 : LONGEST);
    for (int order = 0; order < MOST_MAIL; ++order) {
        int32_t from, to;
        plan_pair(one, (uint64_t)order, size, &from, &to);
        if (from == mine) {
            const letter* const out = add(one, of, order, mine, 0);
            ops[of->count - 1] = as_op(of, out, to, tag);
        }
        if (to == mine) {
            const int32_t source = from_any && from != to ? -1 : from;
            const letter* const in = add(one, of, order, source, 1);
            ops[of->count - 1] = as_op(of, in, source, tag);
        }
    }
    post(one, of, ops, how);
}
