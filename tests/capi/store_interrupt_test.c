/* Waits that another thread ends: on every kind of store, and on prefix stores over each. Whether a
 * thread has begun to wait cannot be seen, so it is interrupted until its call is over. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>

#include "support/stores.h"

enum { GET, MULTI_GET, WAIT, QUEUE_POP, BARRIER, CALLS };

/* A call without a timeout, on a thread of its own. */
typedef struct waiter {
    tutti_store* store;
    int call;
    const char* key;
    pthread_t thread;
    int done;
    tutti_status status;
    tutti_error error;
} waiter;

static void* call_and_wait(void* memory) {
    waiter* me = (waiter*)memory;
    const tutti_store_call_options forever = within_ms(TUTTI_NO_TIMEOUT);
    tutti_bytes* value = NULL;
    tutti_error_init(&me->error, sizeof me->error);
    if (me->call == GET)
        me->status = tutti_store_get(me->store, me->key, &forever, &value, &me->error);
    if (me->call == MULTI_GET)
        me->status = tutti_store_multi_get(me->store, &me->key, 1, &forever, &value, &me->error);
    if (me->call == WAIT)
        me->status = tutti_store_wait(me->store, &me->key, 1, &forever, &me->error);
    if (me->call == QUEUE_POP)
        me->status = tutti_store_queue_pop(me->store, me->key, 1, &forever, &value, &me->error);
    if (me->call == BARRIER)
        me->status = tutti_store_barrier(me->store, me->key, 2, &forever, &me->error);
    tutti_bytes_release(value);
    __atomic_store_n(&me->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void begin(waiter* one, tutti_store* store, int call, const char* key) {
    memset(one, 0, sizeof *one);
    one->store = store;
    one->call = call;
    one->key = key;
    assert_int_equal(pthread_create(&one->thread, NULL, call_and_wait, one), 0);
}

static void interrupt_until_over(tutti_store* store, waiter* one) {
    while (!__atomic_load_n(&one->done, __ATOMIC_ACQUIRE)) {
        EXPECT_OK(tutti_store_interrupt(store, &error));
        sched_yield();
    }
    pthread_join(one->thread, NULL);
    assert_int_equal(one->status, TUTTI_ERR_ABORTED);
    if (strstr(one->error.message, "interrupted") == NULL) fail_msg("%s", one->error.message);
}

static void expect_success(waiter* one) {
    pthread_join(one->thread, NULL);
    if (one->status != TUTTI_OK) fail_msg("%s", one->error.message);
}

static void every_call_that_waits_ends(void** state) {
    (void)state;
    const char* keys[CALLS] = {"get", "multi_get", "wait", "queue_pop", "barrier"};
    const tutti_store_call_options brief = within_ms(1);
    FOR_EACH_STORE(whole) {
        tutti_store* under[2] = {whole, NULL};
        EXPECT_OK(tutti_prefix_store_create(whole, "prefix", &under[1], &error));
        for (int i = 0; i < 2; ++i) {
            waiter one;
            for (int call = 0; call < CALLS; ++call) {
                begin(&one, under[i], call, keys[call]);
                interrupt_until_over(under[i], &one);
                if (strstr(one.error.message, keys[call]) == NULL)
                    fail_msg("%s", one.error.message);
            }
            /* Later calls work as ever. */
            EXPECT_ERROR(tutti_store_wait(under[i], keys, 1, &brief, &error), TUTTI_ERR_TIMEOUT,
                         "get");
            EXPECT_OK(tutti_store_set(under[i], "get", "value", 5, &error));
            expect_stored(under[i], "get", "value");
        }
        tutti_store_release(under[1]);
    }
}

static void all_threads_that_wait_are_interrupted(void** state) {
    (void)state;
    enum { THREADS = 4 };
    FOR_EACH_STORE(store) {
        waiter all[THREADS];
        for (int i = 0; i < THREADS; ++i) begin(&all[i], store, WAIT, "key");
        for (int i = 0; i < THREADS; ++i) interrupt_until_over(store, &all[i]);
    }
}

static void other_handles_of_the_store_go_on_waiting(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        waiter mine, of_clone, of_prefix;
        tutti_store *clone = NULL, *prefix = NULL;
        EXPECT_OK(tutti_store_clone(store, NULL, &clone, &error));
        EXPECT_OK(tutti_prefix_store_create(store, "prefix", &prefix, &error));
        begin(&of_clone, clone, GET, "late");
        begin(&of_prefix, prefix, GET, "late");
        begin(&mine, store, GET, "never");
        interrupt_until_over(store, &mine);
        EXPECT_OK(tutti_store_set(store, "late", "", 0, &error));
        EXPECT_OK(tutti_store_set(store, "prefix/late", "", 0, &error));
        expect_success(&of_clone);
        expect_success(&of_prefix);

        begin(&mine, store, WAIT, "later");
        begin(&of_prefix, prefix, WAIT, "never");
        interrupt_until_over(prefix, &of_prefix);
        EXPECT_OK(tutti_store_set(store, "later", "", 0, &error));
        expect_success(&mine);
        tutti_store_release(prefix);
        tutti_store_release(clone);
    }
}

static void two_handles_of_one_store_interrupt_each_other(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        waiter one;
        tutti_store *prefix = NULL, *same = NULL;
        EXPECT_OK(tutti_prefix_store_create(store, "prefix", &prefix, &error));
        EXPECT_OK(tutti_prefix_store_underlying_store(prefix, &same, &error));
        begin(&one, same, GET, "never");
        interrupt_until_over(store, &one);
        tutti_store_release(same);
        tutti_store_release(prefix);
    }
}

static void an_interruption_without_waits_is_forgotten(void** state) {
    (void)state;
    const char* key = "late";
    FOR_EACH_STORE(store) {
        waiter one;
        for (int i = 0; i < 3; ++i) EXPECT_OK(tutti_store_interrupt(store, &error));
        begin(&one, store, WAIT, key);
        EXPECT_OK(tutti_store_set(store, key, "", 0, &error));
        expect_success(&one);
    }
}

enum { VALUES = 300 };

static void* push_values(void* store) {
    for (int32_t i = 0; i < VALUES; ++i)
        tutti_store_queue_push((tutti_store*)store, "queue", &i, sizeof i, NULL);
    return NULL;
}

typedef struct popper {
    tutti_store* store;
    int done;
    int32_t got; /* values, in order from 0 */
    tutti_status failure;
} popper;

static void* pop_values(void* memory) {
    popper* me = (popper*)memory;
    while (me->got < VALUES && me->failure == TUTTI_OK) {
        tutti_bytes* value = NULL;
        const tutti_status status =
            tutti_store_queue_pop(me->store, "queue", 1, NULL, &value, NULL);
        int32_t number = -1;
        if (status == TUTTI_ERR_ABORTED) continue;
        if (status == TUTTI_OK) memcpy(&number, tutti_bytes_data(value), sizeof number);
        if (number != me->got++) me->failure = TUTTI_ERR_INTERNAL;
        if (status != TUTTI_OK) me->failure = status;
        tutti_bytes_release(value);
    }
    __atomic_store_n(&me->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void a_pop_that_is_interrupted_loses_no_value(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        pthread_t pushes, pops;
        popper one;
        memset(&one, 0, sizeof one);
        one.store = store;
        assert_int_equal(pthread_create(&pops, NULL, pop_values, &one), 0);
        assert_int_equal(pthread_create(&pushes, NULL, push_values, store), 0);
        while (!__atomic_load_n(&one.done, __ATOMIC_ACQUIRE)) {
            EXPECT_OK(tutti_store_interrupt(store, &error));
            sched_yield();
        }
        pthread_join(pushes, NULL);
        pthread_join(pops, NULL);
        assert_int_equal(one.failure, TUTTI_OK);
        assert_int_equal(one.got, VALUES);
    }
}

/* Another process has the file locked and keeps it so. */
static void a_lock_that_others_hold_is_waited_for_no_longer_than_told(void** state) {
    (void)state;
    waiter one;
    tutti_store* store = NULL;
    int64_t timeout_ms = 0;
    tutti_store_options options = TUTTI_STORE_OPTIONS_INIT;
    const int other = open(path, O_RDWR);
    assert_int_equal(flock(other, LOCK_EX), 0);
    options.timeout_ms = 50;
    EXPECT_ERROR(tutti_file_store_create(path, 1, &options, &store, &error), TUTTI_ERR_TIMEOUT,
                 "timed out waiting for its lock (flock), which others hold");
    assert_null(store);
    begin(&one, stores[FILE_], QUEUE_POP, "queue");
    interrupt_until_over(stores[FILE_], &one);
    assert_int_equal(flock(other, LOCK_UN), 0);
    close(other);
    EXPECT_OK(tutti_file_store_create(path, -1, &options, &store, &error));
    EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
    assert_int_equal(timeout_ms, 50);
    tutti_store_release(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(every_call_that_waits_ends),
        STORE_TEST(all_threads_that_wait_are_interrupted),
        STORE_TEST(other_handles_of_the_store_go_on_waiting),
        STORE_TEST(two_handles_of_one_store_interrupt_each_other),
        STORE_TEST(an_interruption_without_waits_is_forgotten),
        STORE_TEST(a_pop_that_is_interrupted_loses_no_value),
        STORE_TEST(a_lock_that_others_hold_is_waited_for_no_longer_than_told),
    };
    RUN_STORE_TESTS(tests);
}
