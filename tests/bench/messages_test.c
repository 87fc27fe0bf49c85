/* Do the messages of exchanges meet, and does the check see if one of them is wrong? The ranks are
 * made one after the other in this process: first each tells what it sends, then one receives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "messages.h"

enum { MOST = 6, BYTES = 1600, LARGEST = 2048, NOTHING = -1 };

/* Message `i` of a rank, as it was sent. */
typedef struct letter {
    int to, tag, taken;
    size_t size;
    char data[LARGEST];
} letter;

static letter sent[MOST][MOST_MESSAGES];
static int letters[MOST];
static double changed[MOST];
static int own_rank, rank_count, learning, spoilt;

static void send_all(const cell* of) {
    letters[own_rank] = 0;
    for (int i = 0; i < message_count(); ++i) {
        const message* const one = &messages_of_phase(message_phase())[i];
        letter* const made = &sent[own_rank][letters[own_rank]];
        if (!one->sends) continue;
        *made = (letter){.to = one->other, .tag = one->tag};
        made->size = (size_t)one->count * element_of(of)->size;
        assert_true(made->size <= LARGEST);
        memcpy(made->data, one->data, made->size);
        ++letters[own_rank];
    }
}

static letter* find_letter(int from, int tag) {
    for (int i = 0; i < letters[from]; ++i) {
        letter* const one = &sent[from][i];
        if (one->to == own_rank && one->tag == tag && !one->taken) return one;
    }
    fail_msg("rank %d has no message %d to rank %d", from, tag, own_rank);
    return NULL;
}

static void receive_all(const cell* of) {
    int received = 0;
    for (int i = 0; i < message_count(); ++i) {
        const message* const one = &messages_of_phase(message_phase())[i];
        if (one->sends) continue;
        letter* const found = find_letter(one->other, one->tag);
        found->taken = 1;
        assert_int_equal(found->size, (size_t)one->count * element_of(of)->size);
        memcpy(one->data, found->data, found->size);
        if (received++ == spoilt) memset(one->data, 0x40, element_of(of)->size);
    }
    assert_int_equal(2 * received, message_count());
}

static const cell* started;

static int start(const cell* of) {
    started = of;
    if (learning && has_messages(of)) send_all(of);
    return 1;
}

static int finish(void) {
    if (!learning && has_messages(started)) receive_all(started);
    return 1;
}

static int call(const cell* of) {
    return start(of) && finish();
}

static int barrier(void) {
    return 1;
}

static int only(double* values, int64_t count) {
    (void)values;
    (void)count;
    return 1;
}

static int sum(double* value) {
    changed[own_rank] = *value;
    for (int rank = 0; rank < rank_count; ++rank)
        if (rank != own_rank) *value += changed[rank];
    return 1;
}

static library with_rank(int rank) {
    own_rank = rank;
    return (library){rank, rank_count, call, NULL, NULL, barrier, only, start, finish, sum};
}

static cell cell_of(const char* name) {
    cell made = {NULL, BLOCKING, NULL, 0, FLOAT32, 0, 0, NULL, NULL};
    assert_true(find_operation(name, &made));
    set_bytes(&made, made.op->kind == HALO2D ? BYTES : BYTES / 8, rank_count);
    return made;
}

/* A call of one rank after another. */
static void call_each(const char* name, int learns) {
    learning = learns;
    for (int rank = 0; rank < rank_count; ++rank) {
        cell of = cell_of(name);
        const library with = with_rank(rank);
        assert_true(set_contents(&of, rank, rank_count));
        assert_true(call_cell(&with, &of));
    }
}

/* What the check says of one rank's result. */
static int is_right_on(const char* name, int rank, char* why) {
    cell of = cell_of(name);
    learning = 0;
    const library with = with_rank(rank);
    for (int from = 0; from < rank_count; ++from)
        for (int i = 0; i < letters[from]; ++i) sent[from][i].taken = 0;
    assert_true(set_contents(&of, rank, rank_count));
    spoil_output(&of, rank, rank_count);
    *why = '\0';
    assert_true(call_cell(&with, &of));
    return is_right(&of, rank, rank_count, why);
}

static const char* const names[] = {"exchange",     "exchange:2x1", "exchange:2x8", "exchange:4x1",
                                    "exchange:4x8", "halo2d",       "exchange_call"};
enum { NAMES = sizeof names / sizeof *names };

static void messages_meet_among_any_ranks(void** state) {
    char why[WHY];
    (void)state;
    for (rank_count = 1; rank_count <= MOST; ++rank_count)
        for (int i = 0; i < NAMES; ++i) {
            const cell of = cell_of(names[i]);
            if (!suits(&of, rank_count)) continue;
            call_each(names[i], 1);
            call_each(names[i], 0); /* now each rank's sum is known */
            for (int rank = 0; rank < rank_count; ++rank)
                if (!is_right_on(names[i], rank, why))
                    fail_msg("%s, %d ranks: %s", names[i], rank_count, why);
        }
}

static void each_message_is_checked(void** state) {
    char why[WHY];
    (void)state;
    rank_count = 4;
    for (int i = 0; i < NAMES; ++i) {
        call_each(names[i], 1);
        call_each(names[i], 0);
        const int received = message_count() / 2;
        for (spoilt = 0; spoilt < received; ++spoilt)
            if (is_right_on(names[i], 1, why)) fail_msg("%s, message %d", names[i], spoilt);
        assert_non_null(strstr(why, names[i]));
        spoilt = NOTHING;
    }
}

static void a_wrong_sum_is_seen(void** state) {
    char why[WHY];
    (void)state;
    rank_count = 2;
    call_each("halo2d", 1);
    call_each("halo2d", 0);
    changed[0] += 0.0625;
    assert_false(is_right_on("halo2d", 1, why));
    assert_non_null(strstr(why, "the sum of halo2d"));
}

static void every_message_has_a_tag_and_memory_of_its_own(void** state) {
    (void)state;
    rank_count = 2;
    cell of = cell_of("exchange:4x8");
    assert_true(set_contents(&of, 0, rank_count));
    assert_int_equal(message_count(), MOST_MESSAGES);
    const message* const each = messages_of_phase(0);
    for (int i = 0; i < message_count(); ++i)
        for (int j = 0; j < i; ++j) {
            if (each[i].sends == each[j].sends) assert_int_not_equal(each[i].tag, each[j].tag);
            assert_ptr_not_equal(each[i].data, each[j].data);
        }
}

static void squares_are_the_largest_that_fit(void** state) {
    (void)state;
    rank_count = 2;
    cell of = cell_of("halo2d");
    assert_int_equal(of.piece, 14);
    assert_int_equal(of.bytes, 14 * 14 * 8);
    set_bytes(&of, 4, rank_count);
    assert_int_equal(of.piece, 1);
    assert_int_equal(of.bytes, 8);
}

static void grids_are_as_square_as_possible(void** state) {
    static const int wanted[][3] = {{1, 1, 1}, {2, 1, 2}, {4, 2, 2},  {6, 2, 3},
                                    {7, 1, 7}, {9, 3, 3}, {12, 3, 4}, {64, 8, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        int rows, columns;
        ranks_in_grid(wanted[i][0], &rows, &columns);
        assert_int_equal(rows, wanted[i][1]);
        assert_int_equal(columns, wanted[i][2]);
    }
}

static void exchange_call_is_for_even_ranks(void** state) {
    (void)state;
    rank_count = 2;
    const cell of = cell_of("exchange_call");
    assert_true(suits(&of, 2) && suits(&of, 4));
    assert_false(suits(&of, 1) || suits(&of, 3));
}

/* Half of what was asked for, so that a processor may become faster meanwhile. */
static void computing_takes_its_time(void** state) {
    (void)state;
    rank_count = 2;
    const library with = with_rank(0);
    cell of = cell_of("barrier_overlap");
    assert_true(compute_for(&with, 0.02));
    const double began = seconds_now();
    assert_true(call_cell(&with, &of));
    assert_true(seconds_now() - began >= 0.01);
}

static int begin(void** state) {
    (void)state;
    spoilt = NOTHING;
    return 0;
}

static int end(void** state) {
    (void)state;
    free_contents();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(messages_meet_among_any_ranks),
        TEST(each_message_is_checked),
        TEST(a_wrong_sum_is_seen),
        TEST(every_message_has_a_tag_and_memory_of_its_own),
        TEST(squares_are_the_largest_that_fit),
        TEST(grids_are_as_square_as_possible),
        TEST(exchange_call_is_for_even_ranks),
        TEST(computing_takes_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
