// The line through samples of another clock.
#ifndef AQ_TRACE_LINE_H
#define AQ_TRACE_LINE_H

#include <stdint.h>

enum { AQ_SAMPLES = 64, AQ_SLEW_PPM = 500 };

typedef struct aq_sample {
    uint64_t time;  // own, in the middle of the round trip
    int64_t offset; // of the other clock, in nanoseconds
    uint64_t error; // half of the round trip
} aq_sample_t;

typedef struct aq_samples {
    aq_sample_t sample[AQ_SAMPLES]; // by time
    unsigned count;
} aq_samples_t;

// Keeps a sample; if there is no room, forgets each second one, but the first and the last.
void aq_samples_add(aq_samples_t *samples, const aq_sample_t *sample);

// The drift between the first and the last sample, in parts of 10^9; 0 with one sample.
int64_t aq_samples_drift(const aq_samples_t *samples);

// The bound of the error of that line at a later time, in nanoseconds. There is a sample.
uint64_t aq_samples_error(const aq_samples_t *samples, uint64_t now);

// offset + drift * ns, where ns may be negative.
int64_t aq_line_at(int64_t offset, int64_t drift_ppb, int64_t ns);

#endif
