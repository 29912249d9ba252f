#include "trace_line.h"

#include "../other/base/minmax.h"

int64_t aq_line_at(int64_t offset, int64_t drift_ppb, int64_t ns)
{
    return offset + (int64_t)((double)ns * (double)drift_ppb / 1e9);
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

int64_t aq_samples_drift(const aq_samples_t *samples)
{
    const aq_sample_t *first = samples->sample, *last = &samples->sample[samples->count - 1];
    if (last->time <= first->time)
        return 0;
    return (int64_t)((double)(last->offset - first->offset) * 1e9 /
                     (double)(last->time - first->time));
}

static uint64_t distance(int64_t a, int64_t b)
{
    return (uint64_t)(a > b ? a - b : b - a);
}

// Half a gap away from the next sample, a clock has drifted the furthest.
uint64_t aq_samples_error(const aq_samples_t *samples, uint64_t now)
{
    const aq_sample_t *first = samples->sample;
    const int64_t drift = aq_samples_drift(samples);
    uint64_t error = 0, gap = 0;
    for (unsigned i = 0; i < samples->count; i++) {
        const aq_sample_t *s = &first[i];
        const int64_t line = aq_line_at(first->offset, drift, (int64_t)(s->time - first->time));
        error = aq_max(error, distance(s->offset, line) + s->error);
        if (i)
            gap = aq_max(gap, (s->time - s[-1].time) / 2);
    }
    const uint64_t last = first[samples->count - 1].time;
    return error + aq_max(gap, now > last ? now - last : 0) * AQ_SLEW_PPM / 1000000;
}
