// SPDX-License-Identifier: BSD-3-Clause
// Computes the line through samples of another clock, and a bound of its error. trace_clock.c adds
// the samples and asks.
#include "trace_line.h"

#include <stdlib.h>

#include "../../other/base/minmax.h"

#define BILLION 1e9

int64_t aq_line_at(const aq_line_t *line, uint64_t time)
{
    const double ns = (double)(int64_t)(time - line->since);
    return line->offset + (int64_t)(ns * (double)line->drift_ppb / BILLION);
}

void aq_samples_add(aq_samples_t *samples, const aq_sample_t *sample)
{
    if (samples->count == AQ_SAMPLES) {
        for (unsigned i = 1; 2 * i < AQ_SAMPLES; i++)
            samples->sample[i] = samples->sample[2 * i];
        samples->count = AQ_SAMPLES / 2;
    }
    samples->sample[samples->count++] = *sample;
}

// ---- the line ----

static const aq_sample_t *best_of(const aq_sample_t *first, const aq_sample_t *end)
{
    const aq_sample_t *best = first;
    for (const aq_sample_t *s = first; s < end; s++)
        if (s->error < best->error)
            best = s;
    return best;
}

aq_line_t aq_samples_line(const aq_samples_t *samples)
{
    const aq_sample_t *first = samples->sample, *end = first + samples->count;
    const aq_sample_t *middle = first + (samples->count + 1) / 2;
    const aq_sample_t *a = best_of(first, middle);
    const aq_sample_t *b = middle < end ? best_of(middle, end) : a;
    const int64_t change = b->offset - a->offset;
    if ((uint64_t)llabs(change) <= a->error + b->error || b->time <= a->time) {
        const aq_sample_t *best = b->error < a->error ? b : a;
        return (aq_line_t){.since = best->time, .offset = best->offset};
    }
    return (aq_line_t){.since = a->time,
                       .offset = a->offset,
                       .drift_ppb =
                           (int64_t)((double)change * BILLION / (double)(b->time - a->time))};
}

// ---- its error ----

// The bound that a sample gives for the error of the line at a time.
static uint64_t bound_by(const aq_sample_t *sample, const aq_line_t *line, uint64_t time)
{
    const uint64_t away = time > sample->time ? time - sample->time : sample->time - time;
    const double rate = AQ_SLEW_PPM / 1e6 + (double)llabs(line->drift_ppb) / BILLION;
    return sample->error + (uint64_t)llabs(sample->offset - aq_line_at(line, sample->time)) +
           (uint64_t)((double)away * rate);
}

// The best bound that one sample gives for all times from `from` until `until`: the bound of a
// sample is largest at one of these two.
static uint64_t bound_between(const aq_samples_t *samples, const aq_line_t *line, uint64_t from,
                              uint64_t until)
{
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < samples->count; i++) {
        const aq_sample_t *s = &samples->sample[i];
        best = aq_min(best, aq_max(bound_by(s, line, from), bound_by(s, line, until)));
    }
    return best;
}

uint64_t aq_samples_error(const aq_samples_t *samples, uint64_t now)
{
    const aq_line_t line = aq_samples_line(samples);
    uint64_t error = 0;
    for (unsigned i = 0; i < samples->count; i++) {
        const uint64_t from = samples->sample[i].time;
        const uint64_t until = i + 1 < samples->count ? samples->sample[i + 1].time : now;
        error = aq_max(error, bound_between(samples, &line, from, aq_max(from, until)));
    }
    return error;
}
