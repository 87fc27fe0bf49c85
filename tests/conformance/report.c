/* The results of the cells; see conformance.h. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

enum { MOST_COLLECTIVES = 64 };
static size_t counts[MOST_COLLECTIVES][VERDICTS];
/* For reductions: what became of each dtype and op. */
static size_t pairs[DTYPES][MATRIX_OPS][VERDICTS];

void report_cell(const collective* what, const cell* which, verdict how) {
    counts[what - collectives][how] += 1;
    if (which->op >= 0) pairs[which->dtype][which->op][how] += 1;
}

static int column(int op) {
    const int length = (int)strlen(op_text(op));
    return length < 8 ? 8 : length;
}

static void print_ops(void) {
    printf("\n%-12s", "reductions");
    for (int op = 0; op < MATRIX_OPS; ++op) printf(" %*s", column(op), op_text(op));
    printf("\n");
    for (tutti_dtype dtype = 0; dtype < DTYPES; ++dtype) {
        printf("%-12s", dtype_text(dtype));
        for (int op = 0; op < MATRIX_OPS; ++op) {
            const size_t* const of = pairs[dtype][op];
            if (of[FAILED] + of[NOT_TRIED] > 0) {
                printf(" %*s", column(op), "FAILED");
            } else if (of[PASSED] == 0) {
                printf(" %*s", column(op), "-");
            } else {
                printf(" %*zu", column(op), of[PASSED]);
            }
        }
        printf("\n");
    }
    printf(
        "- : refused before anything moves, INVALID_ARGUMENT that names op and dtype: PRODUCT, "
        "MIN, MAX\n"
        "    of complex, bitwise ops of what is neither integer nor bool, AVG of integers and "
        "bool,\n"
        "    PREMUL_SUM of bool\n"
        "greatest and compose: functions of the caller, one that commutes and one that does not\n");
}

size_t report_all(const char* backend) {
    size_t total[VERDICTS] = {0};
    printf("\n%-26s %8s %8s %8s %8s %9s\n", backend, "cells", "passed", "refused", "failed",
           "not tried");
    for (int i = 0; i < collective_count; ++i) {
        const size_t* const of = counts[i];
        size_t all = 0;
        for (int how = 0; how < VERDICTS; ++how) {
            all += of[how];
            total[how] += of[how];
        }
        if (all == 0) continue;
        printf("%-26s %8zu %8zu %8zu %8zu %9zu\n", collectives[i].name, all, of[PASSED],
               of[REFUSED], of[FAILED], of[NOT_TRIED]);
    }
    printf("%-26s %8zu %8zu %8zu %8zu %9zu\n", "all",
           total[PASSED] + total[REFUSED] + total[FAILED] + total[NOT_TRIED], total[PASSED],
           total[REFUSED], total[FAILED], total[NOT_TRIED]);
    print_ops();
    return total[FAILED] + total[NOT_TRIED];
}
