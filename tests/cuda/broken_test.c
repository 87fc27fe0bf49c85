/* A device that fails while a call begins, which the double is told to do to one of the ranks: all
 * of them hear of it, and no rank's next call meets another one's present call. The first argument
 * is the backend; a second one makes it a work. */
#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 100 };

static void call_while_one_device_fails(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 1);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const int is_started = me->user != NULL;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* all have their memory */
    tutti_status status = add_up(me, &buffer, NULL, is_started ? &work : NULL);
    if (is_started && status == TUTTI_OK) status = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    RANK_EXPECT(me, status == TUTTI_ERR_OUT_OF_MEMORY || status == TUTTI_ERR_BACKEND);
    RANK_EXPECT(me, me->error.rank >= 0);
    RANK_SAYS(me, "all_reduce #2");
    const int is_lost = status == TUTTI_ERR_BACKEND; /* then nothing works on it any more */
    status = add_up(me, &buffer, NULL, NULL);
    RANK_EXPECT(me, status != TUTTI_OK);
    if (is_lost) return;
    RANK_EXPECT(me, all_are(numbers, COUNT, 1));
    cuda_free(numbers);
}

static void all_ranks_hear_of_it(void** state) {
    (void)state;
    RUN(2, call_while_one_device_fails);
}

static void works_hear_of_it(void** state) {
    int started = 1;
    (void)state;
    RUN_WITH(2, call_while_one_device_fails, &started);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {TEST(all_ranks_hear_of_it)};
    const struct CMUnitTest of_works[] = {TEST(works_hear_of_it)};
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    if (skipped != 0) return skipped;
    return argc > 2 ? cmocka_run_group_tests(of_works, NULL, NULL)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
