/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat.c - heat spreads over a plate: a Jacobi stencil whose rows are divided over the ranks.
 *
 * Each rank holds two grids in its segment, and step s reads grid s % 2 and writes the other. A
 * grid has one halo row above and one below the rank's own rows:
 *
 *     row 0            halo: the last row of rank - 1, put there by that rank
 *     row 1 .. mine    own rows
 *     row mine + 1     halo: the first row of rank + 1
 *
 * A step computes the first and last own rows, puts them into the neighbours' halos, and computes
 * the rest while they travel. One barrier a step is enough: the puts of a step go into the grid
 * that nobody reads before the next step. The edge of the plate keeps its temperature.
 *
 * Rank 0 then gets all rows, computes the plate alone, and compares bit for bit.
 */
#include "example.h"

static const char help[] =
    "usage: heat [--rows R] [--cols C] [--steps S]\n"
    "Spreads heat over a plate of R x C points, divided over the ranks, and checks every bit.\n"
    "  --rows R   rows of the plate (3 to 1000000, and at least one a rank; default 768)\n"
    "  --cols C   columns of the plate (3 to 1000000; default 1024)\n"
    "  --steps S  time steps (0 to 1000000; default 800)\n";

static struct {
    uint64_t rows, cols, steps;
    uint64_t grid_points; /* of one grid in a segment: the same on every rank */
} plate = {768, 1024, 800, 0};

static uint64_t first_row(gex_Rank_t rank)
{
    return example_share(plate.rows, rank);
}
static uint64_t row_count(gex_Rank_t rank)
{
    return first_row(rank + 1) - first_row(rank);
}

/* Row `row` (halo row 0 included) of grid `which` in the segment that begins at `base`. */
static double *grid_row(double *base, uint64_t which, uint64_t row)
{
    return base + which * plate.grid_points + row * plate.cols;
}

/* The first plate row is hot, the left edge warm, and the inside has an uneven pattern. */
static void set_row(double *row, uint64_t r)
{
    for (uint64_t c = 0; c < plate.cols; c++)
        row[c] = r == 0 ? 100.0 : c == 0 ? 50.0 : (double)((r * 31 + c * 17) % 23) / 7.0;
}

/* Computes plate row r of the next step; rows[-1] and rows[+1] lie beside it. */
static void relax_row(double *to, const double *from, uint64_t r)
{
    const double *up = from - plate.cols, *down = from + plate.cols;
    if (r == 0 || r == plate.rows - 1) {
        memcpy(to, from, plate.cols * sizeof *to);
        return;
    }
    to[0] = from[0];
    for (uint64_t c = 1; c < plate.cols - 1; c++)
        to[c] = 0.25 * ((up[c] + down[c]) + (from[c - 1] + from[c + 1]));
    to[plate.cols - 1] = from[plate.cols - 1];
}

/* What a rank needs to know to put its outer rows into the halos beside it. */
typedef struct {
    double *mine, *above, *below; /* segments; above and below are NULL at the edge of the plate */
    uint64_t first, rows, rows_above;
} strip_t;

static strip_t strip_open(double *segment)
{
    strip_t s = {segment, NULL, NULL, first_row(job.me), row_count(job.me), 0};
    if (job.me > 0) {
        s.above = example_segment_of(job.me - 1);
        s.rows_above = row_count(job.me - 1);
    }
    if (job.me + 1 < job.ranks)
        s.below = example_segment_of(job.me + 1);
    for (uint64_t r = 0; r < s.rows + 2; r++) /* halos too: row first - 1 + r, where it exists */
        if (s.first + r >= 1 && s.first + r <= plate.rows)
            set_row(grid_row(segment, 0, r), s.first + r - 1);
    return s;
}

static void relax_own_row(const strip_t *s, uint64_t step, uint64_t row)
{
    relax_row(grid_row(s->mine, (step + 1) % 2, row), grid_row(s->mine, step % 2, row),
              s->first + row - 1);
}

static void take_step(const strip_t *s, uint64_t step)
{
    const uint64_t next = (step + 1) % 2;
    const size_t bytes = plate.cols * sizeof(double);
    gex_Event_t puts[2] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID};
    relax_own_row(s, step, 1);
    if (s->rows > 1)
        relax_own_row(s, step, s->rows);
    if (s->above)
        puts[0] = gex_RMA_PutNB(job.tm, job.me - 1, grid_row(s->above, next, s->rows_above + 1),
                                grid_row(s->mine, next, 1), bytes, GEX_EVENT_DEFER, 0);
    if (s->below)
        puts[1] = gex_RMA_PutNB(job.tm, job.me + 1, grid_row(s->below, next, 0),
                                grid_row(s->mine, next, s->rows), bytes, GEX_EVENT_DEFER, 0);
    for (uint64_t row = 2; row < s->rows; row++)
        relax_own_row(s, step, row);
    gex_Event_WaitAll(puts, 2, 0);
    example_barrier();
}

/* Collects the whole plate on rank 0. */
static double *gather(void)
{
    double *all = example_alloc(plate.rows * plate.cols, sizeof *all);
    for (gex_Rank_t from = 0; from < job.ranks; from++)
        gex_RMA_GetBlocking(job.tm, all + first_row(from) * plate.cols, from,
                            grid_row(example_segment_of(from), plate.steps % 2, 1),
                            row_count(from) * plate.cols * sizeof *all, 0);
    return all;
}

static double *compute_serial(void)
{
    double *now = example_alloc(plate.rows * plate.cols, sizeof *now);
    double *next = example_alloc(plate.rows * plate.cols, sizeof *next);
    for (uint64_t r = 0; r < plate.rows; r++)
        set_row(now + r * plate.cols, r);
    for (uint64_t step = 0; step < plate.steps; step++) {
        for (uint64_t r = 0; r < plate.rows; r++)
            relax_row(next + r * plate.cols, now + r * plate.cols, r);
        double *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

/* Points whose bits differ; the first is named. */
static uint64_t compare(const double *all, const double *serial)
{
    uint64_t wrong = 0;
    for (uint64_t k = 0; k < plate.rows * plate.cols; k++) {
        if (memcmp(&all[k], &serial[k], sizeof *all) == 0)
            continue;
        if (wrong++ == 0)
            printf("row %" PRIu64 ", column %" PRIu64 " is %.17g and should be %.17g\n",
                   k / plate.cols, k % plate.cols, all[k], serial[k]);
    }
    return wrong;
}

/* FNV-1a over the bytes of all points: the same for any number of ranks. */
static uint64_t checksum(const double *all)
{
    const unsigned char *bytes = (const unsigned char *)all;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t k = 0; k < plate.rows * plate.cols * sizeof *all; k++)
        hash = (hash ^ bytes[k]) * 0x100000001b3u;
    return hash;
}

static uint64_t report(double seconds)
{
    double *all = gather(), *serial = compute_serial();
    double updates = (double)plate.rows * (double)plate.cols * (double)plate.steps;
    printf("%" PRIu64 " x %" PRIu64 " points, %" PRIu64 " steps by %u ranks: %.3f s, "
           "%.1f million points/s\nchecksum: %016" PRIx64 "\n",
           plate.rows, plate.cols, plate.steps, (unsigned)job.ranks, seconds,
           updates / seconds * 1e-6, checksum(all));
    uint64_t wrong = compare(all, serial);
    if (wrong)
        printf("check: %" PRIu64 " points differ from the answer of one process\n", wrong);
    else
        puts("check: ok");
    free(all);
    free(serial);
    return wrong;
}

int main(int argc, char **argv)
{
    const example_option_t options[] = {{"--rows", 3, 1000000, &plate.rows},
                                        {"--cols", 3, 1000000, &plate.cols},
                                        {"--steps", 0, 1000000, &plate.steps}};
    example_start("heat", help, &argc, &argv, NULL, 0);
    example_no_arguments(argc, argv, example_options(argc, argv, options, 3));
    if (plate.rows < job.ranks)
        example_misuse("--rows must be at least the number of ranks, %u, and is %" PRIu64,
                       (unsigned)job.ranks, plate.rows);

    plate.grid_points = (row_count(0) + 2) * plate.cols; /* rank 0 never has fewer rows */
    strip_t strip = strip_open(example_attach(2 * plate.grid_points * sizeof(double)));
    example_barrier();
    double start = example_seconds();
    for (uint64_t step = 0; step < plate.steps; step++)
        take_step(&strip, step);
    double seconds = example_seconds() - start;

    uint64_t wrong = example_sum(job.me == 0 ? report(seconds) : 0);
    example_finish(wrong ? 1 : 0);
}
