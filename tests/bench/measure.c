/* The method: a barrier, then the operation, timed on every rank; an iteration took what the
 * slowest rank took; the median and the least of the iterations. The `_loop` forms are called back
 * to back, and give the mean. Before the `_overlap` forms some blocking calls are measured in the
 * same way; beside each overlapped call, the ranks compute for as long as such a call took. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cells.h"

static const double budget_s = 0.3; /* of the iterations of a cell */
enum { FEWEST = 30, MOST_BY_TIME = 2000, MIDDLE = 1 << 20 };

double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_size(const void* one, const void* other) {
    const double a = *(const double*)one, b = *(const double*)other;
    return (a > b) - (a < b);
}

/* Once, with the result looked at. */
static int check(const library* with, const cell* of, char* why) {
    if (uses_tensor(of)) spoil_output(of, with->rank, with->ranks);
    if (!with->barrier() || !call_cell(with, of)) return 0;
    const int right = uses_tensor(of)       ? is_right(of, with->rank, with->ranks, why)
                      : with->check == NULL ? 1
                                            : with->check(of, why);
    if (with->after != NULL) with->after(of);
    return right && with->barrier();
}

static int time_once(const library* with, const cell* of, const method* how, double* took) {
    if (how->rewrite && uses_tensor(of)) rewrite_input(of, with->rank, with->ranks);
    if (!with->barrier()) return 0;
    const double began = seconds_now();
    const int ok = call_cell(with, of);
    *took = seconds_now() - began;
    if (with->after != NULL) with->after(of);
    return ok;
}

static int fewest_iterations(const cell* of) {
    return of->bytes <= LARGE ? FEWEST : of->bytes <= MIDDLE ? 15 : 7;
}

/* Warms up, and tells by it how many iterations there are to be; 0 after a failure. */
static int64_t iterations_of(const library* with, const cell* of, const method* how) {
    const int warm_ups = of->bytes <= LARGE ? 10 : 2;
    const double fewest = fewest_iterations(of);
    double ignored, took;
    const double began = seconds_now();
    for (int i = 0; i < warm_ups; ++i)
        if (!time_once(with, of, how, &ignored)) return 0;
    took = (seconds_now() - began) / warm_ups;
    if (!with->largest(&took, 1)) return 0;
    const double fit = budget_s / took;
    if (how->iterations > 0) return how->iterations;
    return (int64_t)(fit < fewest ? fewest : fit > MOST_BY_TIME ? MOST_BY_TIME : fit);
}

static int measure_loop(const library* with, const cell* of, result* out) {
    if (!with->barrier()) return 0;
    const double began = seconds_now();
    for (int64_t i = 0; i < out->iterations; ++i)
        if (!call_cell(with, of)) return 0;
    if (!with->barrier()) return 0;
    double took = (seconds_now() - began) / (double)out->iterations * 1e6;
    if (!with->largest(&took, 1)) return 0;
    out->median_us = out->min_us = took;
    return 1;
}

static int measure_each(const library* with, const cell* of, const method* how, double* took,
                        result* out) {
    const int64_t count = out->iterations;
    for (int64_t i = 0; i < count; ++i)
        if (!time_once(with, of, how, &took[i])) return 0;
    if (!with->largest(took, count)) return 0;
    qsort(took, (size_t)count, sizeof *took, by_size);
    const double one_way = of->op->kind == PING_PONG ? 0.5 : 1;
    out->median_us = (took[(count - 1) / 2] + took[count / 2]) / 2 * one_way * 1e6;
    out->min_us = took[0] * one_way * 1e6;
    return 1;
}

/* Measures a few blocking calls, and has the ranks compute for as long. 0: a call failed. */
static int prepare_overlap(const library* with, const cell* of, const method* how, result* out) {
    cell plain = *of;
    double took[FEWEST];
    result blocking = {0, 0, 0, fewest_iterations(of)};
    plain.form = BLOCKING;
    if (iterations_of(with, &plain, how) == 0 || !measure_each(with, &plain, how, took, &blocking))
        return 0;
    out->blocking_us = blocking.median_us;
    return compute_for(with, out->blocking_us * 1e-6);
}

int measure(const library* with, const cell* of, const method* how, result* out, char* why) {
    *why = '\0';
    out->blocking_us = 0;
    if (!check(with, of, why)) return 0;
    if (of->form == OVERLAP && !prepare_overlap(with, of, how, out)) return 0;
    out->iterations = iterations_of(with, of, how);
    if (out->iterations == 0) return 0;
    if (of->form == LOOP) return measure_loop(with, of, out);
    double* const took = (double*)malloc((size_t)out->iterations * sizeof *took);
    if (took == NULL) {
        snprintf(why, WHY, "there is no memory for %lld times", (long long)out->iterations);
        return 0;
    }
    const int ok = measure_each(with, of, how, took, out);
    free(took);
    return ok;
}

double bandwidth(const cell* of, const result* measured) {
    const int moves = of->op->of == OF_SIZE || of->op->of == ON_OBJECTS || uses_tensor(of) ||
                      (of->op->of == ON_STORE && of->bytes > 64);
    return moves && measured->median_us > 0 ? (double)of->bytes / measured->median_us * 1e-3 : 0;
}

void print_columns(FILE* to, int ways) {
    fprintf(to, "peer,op,ranks,bytes,median_us,min_us,algbw_GBps%s\n", ways ? ",way" : "");
}

void print_row(FILE* to, const char* peer, const cell* of, int ranks, const result* measured,
               const char* way) {
    char label[64];
    cell_label(of, label, sizeof label);
    fprintf(to, "%s,%s,%d,%lld,%.3f,%.3f,%.4f%s%s\n", peer, label, ranks, (long long)of->bytes,
            measured->median_us, measured->min_us, bandwidth(of, measured), way == NULL ? "" : ",",
            way == NULL ? "" : way);
    fflush(to);
}
