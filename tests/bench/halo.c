/* The halo exchange: each rank has a square of a plane that is closed in both directions. A call
 * makes each cell the mean of its four neighbours, and sums the squares of the changes over all
 * ranks, as solvers do that iterate. */
#include <math.h>

#include "messages.h"
#include "numbers.h"

static double changes; /* the sum of the last call */

/* There are two squares: calls read one and write the other in turns. Each has a frame of one cell
 * for what comes from the neighbours. Behind them are four columns: two to send, two received. */
static double* square(const cell* of, int phase) {
    const int64_t pitch = of->piece + 2;
    return (double*)of->input + phase * pitch * pitch;
}

static double* edge_column(const cell* of, int direction, int is_theirs) {
    return square(of, 2) + (2 * is_theirs + direction - LEFT) * of->piece;
}

size_t halo_size(const cell* of) {
    const int64_t pitch = of->piece + 2;
    return (size_t)(2 * pitch * pitch + 4 * of->piece) * sizeof(double);
}

double* halo_edge(const cell* of, int phase, int direction, int is_theirs) {
    const int64_t row = direction == UP ? !is_theirs : of->piece + is_theirs;
    if (direction == LEFT || direction == RIGHT) return edge_column(of, direction, is_theirs);
    return square(of, phase) + row * (of->piece + 2) + 1;
}

void ranks_in_grid(int ranks, int* rows, int* columns) {
    *rows = 1;
    for (int i = 1; i * i <= ranks; ++i)
        if (ranks % i == 0) *rows = i;
    *columns = ranks / *rows;
}

/* The whole plane, as it is before the first call. */
typedef struct plane {
    int64_t rows, columns;
} plane;

static plane plane_of(const cell* of, int ranks) {
    int rows, columns;
    ranks_in_grid(ranks, &rows, &columns);
    return (plane){rows * of->piece, columns * of->piece};
}

static double value_at(const plane* all, int64_t row, int64_t column) {
    row += row < 0 ? all->rows : row >= all->rows ? -all->rows : 0;
    column += column < 0 ? all->columns : column >= all->columns ? -all->columns : 0;
    return number_of(FLOAT64, (int)row, column);
}

static double mean_at(const plane* all, int64_t row, int64_t column) {
    return 0.25 * (value_at(all, row - 1, column) + value_at(all, row + 1, column) +
                   value_at(all, row, column - 1) + value_at(all, row, column + 1));
}

/* The place of a rank's first cell. */
static void first_cell(const cell* of, int rank, int ranks, int64_t* row, int64_t* column) {
    int rows, columns;
    ranks_in_grid(ranks, &rows, &columns);
    *row = rank / columns * of->piece;
    *column = rank % columns * of->piece;
}

void halo_fill(const cell* of, int rank, int ranks) {
    const plane all = plane_of(of, ranks);
    const int64_t pitch = of->piece + 2, values = (int64_t)(halo_size(of) / sizeof(double));
    int64_t top, left;
    first_cell(of, rank, ranks, &top, &left);
    for (int64_t i = 0; i < values; ++i) ((double*)of->input)[i] = NAN; /* shows what is missing */
    for (int64_t i = 0; i < of->piece; ++i)
        for (int64_t j = 0; j < of->piece; ++j)
            square(of, 0)[(i + 1) * pitch + j + 1] = value_at(&all, top + i, left + j);
}

/* Columns of the square to the memory that is sent, or what came to the frame. */
static void move_columns(const cell* of, int is_theirs) {
    const int64_t side = of->piece, pitch = side + 2;
    double* const left = square(of, message_phase()) + pitch + !is_theirs;
    double* const right = left + (is_theirs ? side + 1 : side - 1);
    double* const to_left = edge_column(of, LEFT, is_theirs);
    double* const to_right = edge_column(of, RIGHT, is_theirs);
    for (int64_t i = 0; i < side; ++i) {
        double* const from[] = {left + i * pitch, right + i * pitch};
        if (is_theirs) {
            *from[0] = to_left[i];
            *from[1] = to_right[i];
        } else {
            to_left[i] = *from[0];
            to_right[i] = *from[1];
        }
    }
}

/* Cells of a row, counted from 1. */
static double update(const cell* of, int64_t row, int64_t first, int64_t last) {
    const int64_t pitch = of->piece + 2;
    const double* const from = square(of, message_phase()) + row * pitch;
    double* const to = square(of, 1 - message_phase()) + row * pitch;
    double sum = 0;
    for (int64_t i = first; i <= last; ++i) {
        const double mean = 0.25 * (from[i - pitch] + from[i + pitch] + from[i - 1] + from[i + 1]);
        const double change = mean - from[i];
        to[i] = mean;
        sum += change * change;
    }
    return sum;
}

static double update_inside(const cell* of) {
    double sum = 0;
    for (int64_t row = 2; row < of->piece; ++row) sum += update(of, row, 2, of->piece - 1);
    return sum;
}

static double update_rim(const cell* of) {
    const int64_t side = of->piece;
    double sum = update(of, 1, 1, side);
    for (int64_t row = 2; row < side; ++row)
        sum += update(of, row, 1, 1) + update(of, row, side, side);
    return side > 1 ? sum + update(of, side, 1, side) : sum;
}

int halo_round(const library* with, const cell* of) {
    move_columns(of, 0);
    if (!with->start(of)) return 0;
    changes = update_inside(of);
    if (!with->finish()) return 0;
    move_columns(of, 1);
    changes += update_rim(of);
    next_phase();
    return with->sum(&changes);
}

/* Whole numbers at first, so that means, changes and their sum are exact in any order. */
int halo_is_right(const cell* of, int rank, int ranks, char* why) {
    const plane all = plane_of(of, ranks);
    const int64_t side = of->piece, pitch = side + 2;
    int64_t top, left;
    double sum = 0;
    first_cell(of, rank, ranks, &top, &left);
    for (int64_t i = 0; i < all.rows; ++i)
        for (int64_t j = 0; j < all.columns; ++j) {
            const double mean = mean_at(&all, i, j), change = mean - value_at(&all, i, j);
            const int64_t row = i - top, column_here = j - left;
            sum += change * change;
            if (row < 0 || row >= side || column_here < 0 || column_here >= side) continue;
            const double got = square(of, message_phase())[(row + 1) * pitch + column_here + 1];
            if (fabs(got - mean) <= 0) continue; /* not if it is NAN */
            snprintf(why, WHY,
                     "the result of %s of %lld bytes is wrong on rank %d of %d: row %lld, column "
                     "%lld",
                     of->op->name, (long long)of->bytes, rank, ranks, (long long)row,
                     (long long)column_here);
            return 0;
        }
    if (fabs(changes - sum) <= 0) return 1;
    snprintf(why, WHY, "the sum of %s of %lld bytes is wrong on rank %d of %d: %g, not %g",
             of->op->name, (long long)of->bytes, rank, ranks, changes, sum);
    return 0;
}
