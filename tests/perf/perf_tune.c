/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_perf --tune FILE: finds limits of the library's collectives (aqueduct_coll.h) that are
 * better than the defaults on this machine, for this conduit and number of ranks.
 *
 *   for each limit:   rounds of   default, candidate 1, candidate 2 ..., default
 *   at the end:       rounds of   all defaults, all that were kept
 *
 * A ratio compares a candidate with the default of the same round, as the mean over the operations
 * and sizes that the limit decides about. A candidate is kept if the median of its
 * ratios is smaller than 1 by GAIN and by twice the noise, which is how far the two measurements of
 * the default in a round differ. Rank 0 decides; the others do what it commands (perf_together.c).
 */
#include "perf.h"

#ifdef GASNETX_COLL_LIMITS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 7,
    CANDIDATES = 6,
    RUNS = 6, /* operations with sizes, of one limit */
    LEAST_ROUNDS = 3,
    BATCHES = 20, /* --time is the time of so many */
    BUDGET = 90   /* seconds of all limits, each of which has rounds for its part of the rest */
};
static const double gain = 0.03;

/* An operation of some size. */
typedef struct run {
    aq_perf_each_t each;
    size_t bytes;
} run_t;

#define B aq_perf_broadcast
#define ONE aq_perf_reduce_one
#define ALL aq_perf_reduce_all
#define GATHER aq_perf_allgather
#define TRADE aq_perf_alltoall

/* Candidates that depend on the job: as many ranks as it has, and one more. */
enum { END = 0, JOB = 1u << 30, ABOVE_JOB, NONE };

/* In what jobs a limit decides: all ranks share memory; they do not; each of several hosts has some
 * that do. */
typedef enum where { SHARED, APART, HOSTS } where_t;

typedef struct knob {
    const char *name; /* of the limit */
    where_t where;
    gex_Rank_t ranks;               /* smaller jobs leave it out */
    uint32_t candidate[CANDIDATES]; /* up to END; NONE: 0 */
    run_t run[RUNS];                /* up to one without an operation */
} knob_t;

static const knob_t knobs[] = {
    {"post-bytes",
     SHARED,
     2,
     {NONE, 256, 640, 2560, 5120, 8192},
     {{B, 512}, {B, 2048}, {ONE, 2048}, {ALL, 512}, {ALL, 2048}, {ALL, 6144}}},
    {"post-ranks", SHARED, 2, {1, JOB}, {{B, 4096}, {ALL, 2048}, {ALL, 8192}, {GATHER, 1024}}},
    {"post-ranks-one", SHARED, 2, {1, JOB}, {{ONE, 2048}, {ONE, 8192}}},
    {"combine-bytes",
     SHARED,
     2,
     {NONE, 8 << 10, 16 << 10, 64 << 10},
     {{ALL, 256}, {ALL, 1024}, {ALL, 2048}, {ALL, 8192}}},
    {"combine-share", SHARED, 24, {16, 256}, {{ALL, 1024}, {ALL, 4096}}},
    {"combine-split",
     SHARED,
     3,
     {2 << 10, 4 << 10, 8 << 10, 32 << 10, 64 << 10},
     {{ONE, 16 << 10}, {ONE, 64 << 10}, {ALL, 16 << 10}, {ALL, 64 << 10}}},
    {"part-bytes",
     APART,
     2,
     {4 << 10, 8 << 10, 32 << 10, 64 << 10},
     {{B, 24 << 10}, {B, 128 << 10}, {ONE, 64 << 10}, {ALL, 24 << 10}, {ALL, 128 << 10}}},
    {"unasked-bytes",
     APART,
     2,
     {8 << 10, 32 << 10, 128 << 10, 256 << 10},
     {{B, 16 << 10}, {B, 96 << 10}, {ONE, 16 << 10}, {ONE, 96 << 10}}},
    {"rounds-ranks", APART, 2, {2, ABOVE_JOB}, {{GATHER, 8}, {GATHER, 256}, {TRADE, 8}}},
    {"rounds-bytes",
     APART,
     2,
     {NONE, 1 << 10, 32 << 10, 128 << 10},
     {{GATHER, 256}, {GATHER, 4096}, {TRADE, 64}, {TRADE, 1024}}},
    {"double-pair",
     APART,
     2,
     {NONE, 4 << 10, 16 << 10, 256 << 10},
     {{ALL, 2048}, {ALL, 12 << 10}, {ALL, 48 << 10}, {ALL, 128 << 10}}},
    {"double-ranks", APART, 3, {2, JOB}, {{ALL, 8}, {ALL, 512}}},
    {"double-bytes", APART, 3, {256, 4 << 10, 16 << 10}, {{ALL, 512}, {ALL, 2048}, {ALL, 8192}}},
    {"share-bytes",
     APART,
     2,
     {1 << 10, 2 << 10, 32 << 10, 128 << 10},
     {{ALL, 16 << 10}, {ALL, 64 << 10}, {ALL, 256 << 10}}},
    {"spread-ranks", APART, 3, {2, JOB}, {{B, 128 << 10}, {B, 256 << 10}}},
    {"spread-bytes", APART, 3, {16 << 10, 32 << 10, 64 << 10}, {{B, 128 << 10}, {B, 256 << 10}}},
    {"split-bytes",
     APART,
     2,
     {8 << 10, 16 << 10, 64 << 10, 256 << 10},
     {{ALL, 12 << 10}, {ALL, 48 << 10}, {ALL, 128 << 10}}},
    {"split-ranks", APART, 3, {1, JOB}, {{ALL, 48 << 10}, {ALL, 256 << 10}}},
    {"split-share", APART, 8, {512, 8 << 10}, {{ALL, 32 << 10}, {ALL, 64 << 10}}},
    {"tree-bytes",
     APART,
     3,
     {NONE, 1024, 16 << 10, 64 << 10},
     {{B, 2048}, {B, 12 << 10}, {ONE, 2048}, {ONE, 12 << 10}}},
    {"tree-small", APART, 3, {2, 3, 8, 16}, {{B, 8}, {ONE, 8}, {ALL, 8}, {ALL, 1024}}},
    {"tree-inside", APART, 4, {4, 8, 128}, {{B, 16 << 10}, {ONE, 16 << 10}, {ALL, 16 << 10}}},
    {"tree-across", APART, 4, {3, 4, 8}, {{B, 16 << 10}, {B, 64 << 10}, {ONE, 16 << 10}}},
    {"tree-halves", APART, 4, {32 << 10, 64 << 10, 512 << 10}, {{B, 48 << 10}, {B, 256 << 10}}},
    {"host-all", HOSTS, 3, {512, 4 << 10, 64 << 20}, {{ALL, 8}, {ALL, 1024}, {ALL, 64 << 10}}},
    {"host-one", HOSTS, 3, {NONE, 4 << 10, 64 << 10}, {{ONE, 8}, {ONE, 8 << 10}, {ONE, 32 << 10}}},
    {"host-spread", HOSTS, 3, {NONE, 12 << 10, 192 << 10}, {{B, 8}, {B, 16 << 10}, {B, 128 << 10}}},
    {"host-ranks", HOSTS, 3, {2, 4}, {{B, 8}, {B, 4 << 10}}},
};
enum { KNOBS = sizeof knobs / sizeof knobs[0] };

static aq_perf_tuned_t tuned[KNOBS]; /* kept so far */
static size_t ntuned;
static double started; /* on rank 0 */

/* ---- what rank 0 commands: a run, or the value of a limit, + 1 because 0 would end the test ----
 */

static run_t run_of(size_t word)
{
    return knobs[word / RUNS].run[word % RUNS];
}

void aq_perf_tune_each(size_t word, unsigned long n)
{
    if (word < KNOBS * RUNS) {
        run_t run = run_of(word);
        run.each(run.bytes, n);
        return;
    }
    int error = gasnetx_Coll_SetLimit((unsigned)(word - KNOBS * RUNS), (uint32_t)(n - 1));
    if (error == GASNET_OK || aq_perf_job.rank != 0)
        return;
    fprintf(stderr,
            "gasnet_perf: --tune cannot set a limit of this job (%s): leave --reserve out\n",
            gasnet_ErrorName(error));
    gasnet_exit(2);
}

static void set_limit(unsigned index, uint32_t value)
{
    aq_perf_together_batch(aq_perf_tune_each, KNOBS * RUNS + index, (unsigned long)value + 1);
}

static double run_batch(size_t knob, size_t run, unsigned long n)
{
    return aq_perf_together_batch(aq_perf_tune_each, knob * RUNS + run, n) / (double)n;
}

/* ---- limits ---- */

/* Returns false if the library has no limit of that name. */
static bool find_limit(const char *name, unsigned *index, gasnetx_coll_limit_t *limit)
{
    for (*index = 0; gasnetx_Coll_QueryLimit(*index, limit) == GASNET_OK; ++*index)
        if (strcmp(limit->name, name) == 0)
            return true;
    return false;
}

static void set_defaults(void)
{
    gasnetx_coll_limit_t limit;

    for (unsigned i = 0; gasnetx_Coll_QueryLimit(i, &limit) == GASNET_OK; i++)
        if (limit.value != limit.fallback)
            set_limit(i, limit.fallback);
}

/* Whether a limit decides anything in this job. */
static bool matters(const knob_t *knob)
{
    gex_Rank_t neighbours;

    gex_System_QueryNbrhdInfo(NULL, &neighbours, NULL);
    if (aq_perf_job.size < knob->ranks ||
        (knob->where == SHARED) != (neighbours == aq_perf_job.size))
        return false;
    return knob->where != HOSTS || neighbours > 1;
}

static uint32_t value_of(uint32_t candidate)
{
    if (candidate == NONE)
        return 0;
    if (candidate == JOB || candidate == ABOVE_JOB)
        return aq_perf_job.size + (candidate == ABOVE_JOB);
    return candidate;
}

/* ---- one limit ---- */

typedef struct trial {
    const knob_t *knob;
    size_t number; /* of the knob */
    unsigned index;
    gasnetx_coll_limit_t limit;
    size_t count, runs;             /* of candidates that the limit can have, of runs */
    uint32_t value[CANDIDATES + 1]; /* the default, then the candidates */
    unsigned long n[RUNS];          /* operations in a batch */
    size_t rounds;
    double ratio[CANDIDATES + 1][ROUNDS];
    double noise;
} trial_t;

static void trial_prepare(trial_t *trial)
{
    const knob_t *knob = trial->knob;

    trial->value[0] = trial->limit.fallback;
    for (size_t c = 0; c < CANDIDATES && knob->candidate[c] != END; c++) {
        uint32_t value = value_of(knob->candidate[c]);
        if (value >= trial->limit.low && value <= trial->limit.high &&
            value != trial->limit.fallback)
            trial->value[++trial->count] = value;
    }
    while (trial->runs < RUNS && knob->run[trial->runs].each)
        trial->runs++;
}

/* Doubles each batch until it is long enough. */
static void trial_fit(trial_t *trial)
{
    double goal = aq_perf_options.seconds / BATCHES;

    for (size_t r = 0; r < trial->runs; r++) {
        unsigned long n = 1;
        while (n < 1 << 20 && (double)n * run_batch(trial->number, r, n) < goal)
            n *= 2;
        trial->n[r] = n;
    }
}

/* The seconds of an operation of each run, with some value. */
static void trial_measure(const trial_t *trial, uint32_t value, double took[RUNS])
{
    set_limit(trial->index, value);
    for (size_t r = 0; r < trial->runs; r++)
        took[r] = run_batch(trial->number, r, trial->n[r]);
}

/* The mean of the ratios of all runs. */
static double mean_ratio(const double *took, const double *base, size_t runs)
{
    double sum = 0;

    for (size_t r = 0; r < runs; r++)
        sum += took[r] / base[r];
    return sum / (double)runs;
}

/* ratio[0] is that of the second measurement of the default to the first one, or its inverse if
 * that is larger. */
static void trial_round(trial_t *trial)
{
    const size_t round = trial->rounds++;
    double first[RUNS], took[CANDIDATES + 1][RUNS], base[RUNS];

    trial_measure(trial, trial->value[0], first);
    for (size_t c = 1; c <= trial->count; c++)
        trial_measure(trial, trial->value[c], took[c]);
    trial_measure(trial, trial->value[0], took[0]);
    for (size_t r = 0; r < trial->runs; r++)
        base[r] = (first[r] + took[0][r]) / 2;
    for (size_t c = 1; c <= trial->count; c++)
        trial->ratio[c][round] = mean_ratio(took[c], base, trial->runs);
    double change = mean_ratio(took[0], first, trial->runs);
    trial->ratio[0][round] = change < 1 ? 1 / change : change;
}

/* Returns the best value, 0 for the default. */
static size_t trial_decide(trial_t *trial, double *ratio)
{
    size_t best = 0;

    trial->noise = aq_perf_median(trial->ratio[0], trial->rounds) - 1;
    *ratio = 1;
    for (size_t c = 1; c <= trial->count; c++) {
        double median = aq_perf_median(trial->ratio[c], trial->rounds);
        if (median < *ratio && median < 1 - gain && median < 1 - 2 * trial->noise) {
            best = c;
            *ratio = median;
        }
    }
    return best;
}

static void trial_run(trial_t *trial, double seconds)
{
    double end = aq_perf_now() + seconds;

    trial_prepare(trial);
    trial_fit(trial);
    while (trial->rounds < LEAST_ROUNDS || (trial->rounds < ROUNDS && aq_perf_now() < end))
        trial_round(trial);
}

static void trial_end(trial_t *trial)
{
    double ratio;
    size_t best = trial_decide(trial, &ratio);

    set_limit(trial->index, trial->value[best]);
    if (best)
        tuned[ntuned++] = (aq_perf_tuned_t){.name = trial->limit.name,
                                            .index = trial->index,
                                            .fallback = trial->value[0],
                                            .value = trial->value[best],
                                            .ratio = ratio,
                                            .noise = trial->noise};
    printf("%-16s %8u %8u %8.3f %8.3f\n", trial->limit.name, trial->value[0], trial->value[best],
           ratio, trial->noise);
    fflush(stdout);
}

/* Returns the number of limits from one on that matter. */
static unsigned count_from(size_t knob)
{
    unsigned count = 0;

    for (; knob < KNOBS; knob++)
        count += matters(&knobs[knob]);
    return count;
}

static void try_all(void)
{
    for (size_t k = 0; k < KNOBS; k++) {
        trial_t trial = {.knob = &knobs[k], .number = k};
        double left = started + BUDGET - aq_perf_now();
        if (!matters(trial.knob) || !find_limit(trial.knob->name, &trial.index, &trial.limit))
            continue;
        if (left > 0) {
            trial_run(&trial, left / count_from(k));
            trial_end(&trial);
        } else {
            printf("%-16s left out: %d seconds are over\n", trial.limit.name, BUDGET);
        }
    }
}

/* ---- all that were kept ---- */

static void set_tuned(bool kept)
{
    for (size_t t = 0; t < ntuned; t++)
        set_limit(tuned[t].index, kept ? tuned[t].value : tuned[t].fallback);
}

/* The seconds of an operation of each run of each limit that matters. Returns the number of runs.
 */
static size_t measure_all(double took[KNOBS * RUNS])
{
    size_t count = 0;

    for (size_t k = 0; k < KNOBS; k++)
        for (size_t r = 0; matters(&knobs[k]) && r < RUNS && knobs[k].run[r].each; r++) {
            double n = aq_perf_options.seconds / BATCHES / 4 / run_batch(k, r, 1);
            took[count++] = run_batch(k, r, n < 1 ? 1 : n > 1e5 ? 100000 : (unsigned long)n);
        }
    return count;
}

/* The time with all limits that were kept, as part of the time with the defaults. */
static double compare_all(void)
{
    double before[KNOBS * RUNS], after[KNOBS * RUNS], ratio[ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        set_tuned(false);
        measure_all(before);
        set_tuned(true);
        ratio[round] = mean_ratio(after, before, measure_all(after));
    }
    return aq_perf_median(ratio, ROUNDS);
}

/* ---- the whole ---- */

size_t aq_perf_tune_room(gex_Rank_t ranks)
{
    size_t largest = 1;

    for (size_t k = 0; k < KNOBS; k++)
        for (size_t r = 0; r < RUNS; r++) {
            bool blocks = knobs[k].run[r].each == GATHER || knobs[k].run[r].each == TRADE;
            size_t room = knobs[k].run[r].bytes * (blocks ? ranks : 1);
            largest = room > largest ? room : largest;
        }
    return largest;
}

int aq_perf_tune_lead(void)
{
    const char *path = aq_perf_options.tune;
    double together = 1, warm_up[KNOBS * RUNS];

    started = aq_perf_now();
    printf("gasnet_perf: tunes collectives over conduit %s, ranks %u; the ratio is the time with "
           "the value that is kept to that with the default\n",
           aq_perf_conduit(), (unsigned)aq_perf_job.size);
    printf("%-16s %8s %8s %8s %8s\n", "limit", "default", "kept", "ratio", "noise");
    set_defaults();
    measure_all(warm_up);
    try_all();
    if (ntuned)
        together = compare_all();
    if (together > 1 - gain / 3 && ntuned) {
        printf("gasnet_perf: together they take %.3f of the time with the defaults: none is kept\n",
               together);
        ntuned = 0;
    }
    set_defaults();
    if (!aq_perf_tune_write(path, tuned, ntuned, together))
        return 1;
    printf("gasnet_perf: [%s ranks %u] in %s (limits changed: %zu) takes %.3f of the time with the "
           "defaults; GASNET_COLL_TUNING_FILE=%s makes jobs use it (%.0f s)\n",
           aq_perf_conduit(), (unsigned)aq_perf_job.size, path, ntuned, together, path,
           aq_perf_now() - started);
    return 0;
}
#endif
