/* Calls in each form, and the computing beside a call: sums and products that depend on each other
 * and stay in registers, so that they leave memory and caches to the library. */
#include "messages.h"

enum { CHAINS = 4, TRIES = 5 };
static const double trial_s = 0.005; /* so long a trial of the speed takes at least */

static volatile double sink; /* the compiler cannot leave out what ends here */
static int64_t rounds;       /* beside a call */

static void compute(int64_t count) {
    double chain[CHAINS] = {1, 2, 3, 4};
    for (int64_t i = 0; i < count; ++i)
        for (int j = 0; j < CHAINS; ++j) chain[j] = chain[j] * 0.999 + 0.5;
    sink = chain[0] + chain[1] + chain[2] + chain[3];
}

static double time_of(int64_t count) {
    const double began = seconds_now();
    compute(count);
    return seconds_now() - began;
}

/* Seconds of a round on the slowest rank; all ranks try at the same time. 0: a call failed. */
static double seconds_per_round(const library* with) {
    static double known;
    int64_t count = 1024;
    if (known > 0) return known;
    if (!with->barrier()) return 0;
    while (time_of(count) < trial_s) count *= 2;
    double least = time_of(count);
    for (int i = 1; i < TRIES; ++i) {
        const double took = time_of(count);
        if (took < least) least = took;
    }
    least /= (double)count;
    if (!with->largest(&least, 1)) return 0;
    return known = least;
}

int compute_for(const library* with, double seconds) {
    const double each = seconds_per_round(with);
    if (each > 0) rounds = (int64_t)(seconds / each + 0.5);
    return each > 0;
}

int call_cell(const library* with, const cell* of) {
    if (of->op->kind == HALO2D) return halo_round(with, of);
    if (of->op->kind != EXCHANGE && of->form != ASYNC && of->form != OVERLAP) return with->call(of);
    if (!with->start(of)) return 0;
    if (of->form == OVERLAP) compute(rounds);
    return with->finish();
}
